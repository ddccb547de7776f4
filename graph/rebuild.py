"""Making a session's state anew from the record (design §3): after a fork, an edit, an import, or a lost checkpoint."""

from __future__ import annotations

from typing import cast

from langchain_core.messages import AnyMessage, messages_from_dict

from graph.context import over_budget
from graph.engine import Engine, config
from graph.state import ChatState, SummaryRecord
from graph.turns import covered, no_answer, question
from model import token
from store import Session, Summary, Turn
from text.clean import clean


def fits(state: ChatState, session: Session, turn_count: int) -> bool:
    """Whether the state is that of the record after turn ``turn_count``."""
    return state.get("turn_count", 0) == turn_count and state.get("revision", session.revision) == session.revision


def rebuild(engine: Engine, session: Session, turn_count: int) -> ChatState:
    """The state after turn ``turn_count`` of the session's path, written in place of whatever state there was."""
    engine.checkpoints.saver.delete_thread(session.id)
    if turn_count:
        values = made(engine, session, turn_count)
        _note(engine, session, values)
        engine.graph.update_state(config(session.id), dict(values), as_node="llm_node")
    return engine.state(session.id)


def made(engine: Engine, session: Session, turn_count: int) -> ChatState:
    """The state as plain values, from the summaries and the raw turns that follow them; nothing is written."""
    records = _records(engine, session, turn_count)
    # the last turn that a summary covers stays: it is short-term memory (``graph.context``)
    raw = engine.store.turns_between(session.id, max(1, covered(records)), turn_count)
    return ChatState(
        messages=[message for turn in raw for message in messages_of(turn)],
        session_id=session.id,
        summary_history=records,
        turn_count=turn_count,
        compression_rate=session.compression_rate,
        language=session.language,
        revision=session.revision,
    )


def messages_of(turn: Turn) -> list[AnyMessage]:
    """The raw messages of a recorded turn; a turn without an answer is closed."""
    if turn.messages and turn.status in ("done", "stopped"):
        return cast("list[AnyMessage]", messages_from_dict(turn.messages))
    return [question(clean(turn.question), turn.number, turn.session_id), no_answer(turn.number)]


def _records(engine: Engine, session: Session, turn_count: int) -> list[SummaryRecord]:
    """The summaries in the context: without gaps up to the last, the oldest left out over budget."""
    kept = _without_gaps(engine.store.ledger.on_path(session.id, turn_count))
    records = [cast(SummaryRecord, each.record) for each in kept]
    return records[len(over_budget(records, engine.settings.budget_summaries, token.estimate)) :]


def _note(engine: Engine, session: Session, state: ChatState) -> None:
    """Says in the ledger which summaries are in the context now."""
    kept = _without_gaps(engine.store.ledger.on_path(session.id, state["turn_count"]))
    leaving = len(kept) - len(state["summary_history"])
    engine.store.ledger.set_status([each.id for each in kept[:leaving]], "retired")
    engine.store.ledger.set_status([each.id for each in kept[leaving:]], "active")


def _without_gaps(summaries: list[Summary]) -> list[Summary]:
    """From the first turn on, up to where a chunk has no summary."""
    kept: list[Summary] = []
    for each in summaries:
        if each.turns[0] != (kept[-1].turns[-1] + 1 if kept else 1):
            break
        kept.append(each)
    return kept
