"""A session whose last run was cut off: found, completed or closed before a new message is taken (design §3)."""

from __future__ import annotations

from typing import Any, cast

from langchain_core.messages import AnyMessage, messages_from_dict

from errors import Interrupted
from graph.engine import Engine
from graph.finish import finished, plain_error
from graph.runtime import Notes
from graph.state import ChatState, SummaryRecord
from graph.turns import closing, covered, is_answer, no_answer, question, split, unanswered
from store import Finished, Session, Turn
from text.clean import clean


def complete(engine: Engine, session: Session) -> Turn | None:
    """The last turn, after its answer was copied from the state if only its row was missing it."""
    last = engine.store.turn(session.id, session.turn_count)
    if last is None or last.status not in ("running", "failed"):
        return last
    state = engine.state(session.id)
    if not _answered(state, last.number):
        return last
    engine.store.finish_turn(session.id, last.number, finished(state["messages"], last.number, Notes()))
    return engine.store.turn(session.id, last.number)


def close(engine: Engine, session: Session) -> None:
    """Settles the last turn before a new one: an answer that is missing from its row, or a run that was cut off."""
    last = complete(engine, session)
    if last is not None and last.status == "running":
        error = plain_error(Interrupted(turn=last.number))
        engine.store.finish_turn(session.id, last.number, Finished("failed", error=error))


def entry(engine: Engine, session: Session, number: int, text: str) -> dict[str, Any]:
    """The graph's input for a new turn: what closes the turns before it, then the question.

    Where the state is behind the record (a power cut, a lost file), the record fills it up.
    """
    state = engine.state(session.id)
    records = state["summary_history"] if state else _records(engine, session)
    counted = min(state["turn_count"], number - 1) if state else covered(records)
    missing = engine.store.turns_between(session.id, counted + 1, number - 1) if counted < number - 1 else []
    told = [message for turn in missing for message in _told(turn)]
    return {
        "messages": [*_closed(state, number, counted), *told, question(clean(text), number, session.id)],
        "session_id": session.id,
        "turn_count": number,
        "compression_rate": session.compression_rate,
        "language": session.language,
        **({} if state else {"summary_history": records}),
    }


def reentry(engine: Engine, session: Session, last: Turn) -> dict[str, Any] | None:
    """For the same turn again: None resumes at the node where it ended, an input starts what never reached a node."""
    snapshot = engine.snapshot(session.id)
    if snapshot.next and snapshot.values.get("turn_count") == last.number:
        return None
    return entry(engine, session, last.number, last.question)


def _records(engine: Engine, session: Session) -> list[SummaryRecord]:
    """The summaries that are in the context, by the ledger."""
    rows = engine.store.ledger.summaries(session.id)
    return [cast(SummaryRecord, row.record) for row in rows if row.status == "active" and row.record]


def _told(turn: Turn) -> list[AnyMessage]:
    """A turn as its row tells it; one without an answer is closed."""
    if turn.messages:
        return cast(list[AnyMessage], messages_from_dict(turn.messages))
    return [question(clean(turn.question), turn.number, turn.session_id), no_answer(turn.number)]


def _closed(state: ChatState, number: int, counted: int) -> list[AnyMessage]:
    """What closes the last turn of the state before turn ``number``."""
    turns = split(state.get("messages", []), state.get("turn_count", 0))
    return closing([message for turn in turns if turn.number < number for message in turn.messages], counted)


def _answered(state: ChatState, number: int) -> bool:
    messages = state.get("messages", [])
    return (
        state.get("turn_count") == number
        and bool(messages)
        and is_answer(messages[-1])
        and not unanswered(messages[-1])
    )
