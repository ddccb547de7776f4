"""A session whose last run was cut off: found, completed or closed before a new message is taken (design §3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage

from errors import Interrupted
from graph.engine import Engine
from graph.finish import finished, plain_error
from graph.runtime import Notes
from graph.state import ChatState
from graph.turns import closing, is_answer, no_answer, question, split, unanswered
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
    """The graph's input for a new turn: what closes the turns before it, then the question."""
    state = engine.state(session.id)
    return _input(session, number, text, [*_closed(engine, session, number, state)], fresh=not state)


def reentry(engine: Engine, session: Session, last: Turn) -> dict[str, Any] | None:
    """For the same turn again: None resumes at the node where it ended, an input starts what never reached a node."""
    snapshot = engine.snapshot(session.id)
    if snapshot.next and snapshot.values.get("turn_count") == last.number:
        return None
    return entry(engine, session, last.number, last.question)


def _input(session: Session, number: int, text: str, opened: Sequence[AnyMessage], *, fresh: bool) -> dict[str, Any]:
    return {
        "messages": [*opened, question(clean(text), number, session.id)],
        "session_id": session.id,
        "turn_count": number,
        "compression_rate": session.compression_rate,
        "language": session.language,
        **({"summary_history": []} if fresh else {}),
    }


def _closed(engine: Engine, session: Session, number: int, state: ChatState) -> list[AnyMessage]:
    """Closes the state's last turn, and adds the turns that never reached the state."""
    counted = min(state.get("turn_count", 0), number - 1)
    messages = [
        message
        for turn in split(state.get("messages", []), state.get("turn_count", 0))
        if turn.number < number
        for message in turn.messages
    ]
    missing = engine.store.turns_between(session.id, counted + 1, number - 1) if counted < number - 1 else []
    added: list[AnyMessage] = []
    for turn in missing:
        added += [question(clean(turn.question), turn.number, session.id), no_answer(turn.number)]
    return [*closing(messages, counted), *added]


def _answered(state: ChatState, number: int) -> bool:
    messages = state.get("messages", [])
    return (
        state.get("turn_count") == number
        and bool(messages)
        and is_answer(messages[-1])
        and not unanswered(messages[-1])
    )
