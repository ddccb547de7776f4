"""Makes a session's state anew from the record: after a fork, an edit, an import or a lost checkpoint (design 3.5)."""

from __future__ import annotations

from typing import cast

from langchain_core.messages import AnyMessage, messages_from_dict

from errors import GieokError
from graph.context.prompt import over_budget
from graph.context.turns import CHUNK, find_last_covered_turn, make_question_message, mark_pinned, no_answer
from graph.state import ChatState, SummaryRecord
from graph.turn.process.engine import TurnEngine, build_graph_config
from model.call import token
from store import Session, SummaryRow, TurnRow
from store.turn.image import list_image_keys
from text.clean import clean_text

KEPT = 4 * CHUNK
"""How many summarised turns a new state for a bare prompt holds raw: whole chunks."""


def is_state_current(state: ChatState, session: Session, turn_count: int) -> bool:
    """Returns whether the state belongs to the record after turn ``turn_count``."""
    return state.get("turn_count", 0) == turn_count and state.get("revision", session.revision) == session.revision


def rebuild_session_state(engine: TurnEngine, session: Session, turn_count: int) -> ChatState:
    """Writes the state after turn ``turn_count`` of the session's path, in place of any older state; returns it."""
    engine.checkpoints.saver.delete_thread(session.id)
    if turn_count:
        values = build_session_state(engine, session, turn_count)
        _mark_context_summaries(engine, session, values)
        engine.graph.update_state(build_graph_config(session.id), dict(values), as_node="llm_node")
    return engine.state(session.id)


def build_session_state(engine: TurnEngine, session: Session, turn_count: int) -> ChatState:
    """Returns the state as plain values: the summaries and the raw turns that follow them. Writes nothing."""
    records = _load_context_records(engine, session, turn_count)
    return ChatState(
        messages=raw_messages(
            engine, session, _load_raw_turns(engine, session, find_last_covered_turn(records), turn_count), turn_count
        ),
        session_id=session.id,
        summary_history=records,
        turn_count=turn_count,
        compression_rate=session.compression_rate,
        language=session.language,
        revision=session.revision,
    )


def raw_messages(engine: TurnEngine, session: Session, raw: list[TurnRow], turn_count: int) -> list[AnyMessage]:
    """Returns the messages of the turns up to ``turn_count`` that stand raw in a prompt: of ``raw``, which are the last
    ones, and before them of those that the user pinned."""
    pinned = [turn for turn in engine.store.pinned_turns(session.id) if turn.number <= turn_count]
    numbers = {turn.number for turn in pinned}
    first = raw[0].number if raw else turn_count + 1
    turns = [*(turn for turn in pinned if turn.number < first), *raw]
    return [
        message
        for turn in turns
        for message in (mark_pinned(messages_of(turn)) if turn.number in numbers else messages_of(turn))
    ]


def _load_raw_turns(engine: TurnEngine, session: Session, last: int, turn_count: int) -> list[TurnRow]:
    """Returns the turns that the state holds raw: the turns after ``last``, which is the last summarised turn, and that
    turn.

    For a bare prompt they include the newest summarised chunks; the prompt takes as many turns of these as have room
    (``graph.context.prompt.short_term``).
    """
    summarised = KEPT if _is_prompt_bare(engine) else 1
    return engine.store.turns_between(session.id, max(1, last - summarised + 1), turn_count)


def _is_prompt_bare(engine: TurnEngine) -> bool:
    try:
        return engine.models().profile.prompt == "bare"
    except GieokError:  # no model yet: the next prompt then gets fewer earlier turns
        return False


def messages_of(turn: TurnRow) -> list[AnyMessage]:
    """Returns the raw messages of a recorded turn; a turn without an answer gets a marked empty answer."""
    if turn.messages and turn.status in ("done", "stopped"):
        return cast("list[AnyMessage]", messages_from_dict(turn.messages))
    images = len(list_image_keys(turn.files))
    question = make_question_message(clean_text(turn.question), turn.number, turn.session_id, images)
    return [question, no_answer(turn.number)]


def _load_context_records(engine: TurnEngine, session: Session, turn_count: int) -> list[SummaryRecord]:
    """Returns the summaries in the context: no gaps from the first turn on, without the oldest over budget."""
    summaries = _without_gaps(engine.store.ledger.on_path(session.id, turn_count))
    records = [cast(SummaryRecord, summary.record) for summary in summaries]
    return records[len(over_budget(records, engine.settings.budget_summaries, token.estimate_tokens)) :]


def _mark_context_summaries(engine: TurnEngine, session: Session, state: ChatState) -> None:
    """Marks in the ledger which summaries are in the context now."""
    summaries = _without_gaps(engine.store.ledger.on_path(session.id, state["turn_count"]))
    leaving = len(summaries) - len(state["summary_history"])
    engine.store.ledger.set_status([summary.id for summary in summaries[:leaving]], "retired")
    engine.store.ledger.set_status([summary.id for summary in summaries[leaving:]], "active")


def _without_gaps(summaries: list[SummaryRow]) -> list[SummaryRow]:
    """Returns the summaries from the first turn on, up to the first chunk that has no summary."""
    unbroken: list[SummaryRow] = []
    for summary in summaries:
        if summary.turns[0] != (unbroken[-1].turns[-1] + 1 if unbroken else 1):
            break
        unbroken.append(summary)
    return unbroken
