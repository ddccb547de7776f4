"""Repairs a session whose last run was cut off, before the session takes a new message (design 3.5)."""

from __future__ import annotations

from typing import Any, cast

from errors import Interrupted
from graph.context.prompt import raw_tokens
from graph.context.turns import closing, is_answer, question, unanswered
from graph.state import ChatState
from graph.turn.engine import Engine
from graph.turn.finish import finished, plain_error, turn_messages
from graph.turn.rebuild import fits, rebuild
from graph.turn.runtime import Notes
from model.call import token
from store import Finished, Session, Turn
from text.clean import clean


def complete(engine: Engine, session: Session) -> Turn | None:
    """Returns the last turn; first copies its answer from the state if only the turn's row lacks the answer.

    If the turn was cut off in mid-answer, its row gets the text that had arrived.
    """
    last = engine.store.turn(session.id, session.turn_count)
    if last is None or last.status not in ("running", "failed"):
        return last
    state = engine.state(session.id)
    if not fits(state, session, last.number) or not _answered(state):
        engine.store.partials.settle(session.id, last.number)
        return engine.store.turn(session.id, last.number)
    engine.store.finish_turn(
        session.id, last.number, finished(state["messages"], last.number, Notes(), tokens=_tokens(state, last.number))
    )
    return engine.store.turn(session.id, last.number)


def close(engine: Engine, session: Session) -> None:
    """Settles the last turn before a new one: writes an answer that its row lacks, or marks the turn as failed."""
    if engine.store.status(session) not in ("running", "failed"):
        return
    last = complete(engine, session)
    if last is not None and last.status == "running":
        error = plain_error(Interrupted(turn=last.number))
        engine.store.finish_turn(session.id, last.number, Finished("failed", answer=last.answer, error=error))


def entry(engine: Engine, session: Session, number: int, text: str, images: int = 0) -> dict[str, Any]:
    """Returns the graph's input for a new turn: messages that close the turn before it, then the question. ``images``:
    how many images go with the question.

    A state that does not belong to the record (a power cut, a lost file, another branch) is made anew first.
    """
    state = engine.state(session.id)
    if not fits(state, session, number - 1):
        state = rebuild(engine, session, number - 1)
    return {
        "messages": [
            *closing(state.get("messages", []), number - 1),
            question(clean(text), number, session.id, images),
        ],
        "session_id": session.id,
        "turn_count": number,
        "compression_rate": session.compression_rate,
        "language": session.language,
        "revision": session.revision,
        **({} if state else {"summary_history": []}),
    }


def reentry(engine: Engine, session: Session, last: Turn, images: int = 0) -> dict[str, Any] | None:
    """Returns the graph's input to run the last turn again: None resumes at the node where the turn ended; a turn that
    never reached a node starts with an input."""
    snapshot = engine.snapshot(session.id)
    if snapshot.next and fits(cast(ChatState, snapshot.values), session, last.number):
        return None
    return entry(engine, session, last.number, last.question, images)


def _tokens(state: ChatState, number: int) -> int:
    """Returns an estimate of the turn's raw tokens: the models may not be ready when a session is opened."""
    return raw_tokens(turn_messages(state["messages"], number), token.estimate)


def _answered(state: ChatState) -> bool:
    messages = state.get("messages", [])
    return bool(messages) and is_answer(messages[-1]) and not unanswered(messages[-1])
