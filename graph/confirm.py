"""The user's answer to a question of a turn: shall memory be changed as a tool call wanted (``graph.tool.ask``)?

The write comes first, then the record: after a crash between them the question is still open, and the same write twice
changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from errors import QuestionAnswered, QuestionUnknown, SessionDeleted
from graph.engine import Engine
from graph.tool.ask import Ask, Forget, asked
from store import Session, Turn

CLOSED = frozenset({"done", "stopped"})
"""Turns whose questions can be answered: another one runs again, and asks anew."""


def confirm(
    engine: Engine,
    session_id: str,
    number: int,
    call: str,
    yes: bool,
    *,
    branch: int | None = None,
    lines: Sequence[str] | None = None,
) -> Ask:
    """Changes memory as the question of ``call`` in turn ``number`` says, or leaves it; keeps the answer with the turn.

    ``branch``: the version of the turn that was shown, None for whichever is on the session's path. ``lines``: which of
    the lines to forget, None for all of them. Returns the question with its answer. Raises ``QuestionUnknown`` (for a
    version that was replaced, too), ``QuestionAnswered``, ``SessionBusy`` while the session answers,
    ``SessionUnknown``, ``SessionDeleted``.
    """
    with engine.lock.hold(session_id):
        session = engine.store.session(session_id)
        if session.deleted is not None:
            raise SessionDeleted(session=session_id)
        question = _open(engine.store.turn(session_id, number), session_id, number, call, branch)
        answered = question.copy()
        answered["answer"] = yes
        if yes and answered["tool"] == "forget":
            answered["chosen"] = _chosen(answered, lines)
        if yes and not _written(engine, session, number, answered):
            answered["waits"] = True
        engine.store.change_steps(session_id, number, lambda steps: _with(steps, call, answered))
    return answered


def open_asks(turn: Turn) -> list[tuple[str, Ask]]:
    """The questions of a turn that can be answered now, each with its call."""
    found = [(str(step["call"]), asked(step.get("artifact"))) for step in turn.steps if turn.status in CLOSED]
    return [(call, ask) for call, ask in found if ask is not None and ask["answer"] is None]


def _open(turn: Turn | None, session_id: str, number: int, call: str, branch: int | None) -> Ask:
    """The open question of this call. Raises ``QuestionUnknown``, ``QuestionAnswered``."""
    here = turn is not None and turn.status in CLOSED and branch in (None, turn.branch)
    found = [ask for step in (turn.steps if here and turn else []) if (ask := _of(step, call)) is not None]
    if not found:
        raise QuestionUnknown(session=session_id, turn=number)
    waiting = [ask for ask in found if ask["answer"] is None]
    if not waiting:
        raise QuestionAnswered(session=session_id, turn=number)
    return waiting[0]


def _of(step: dict[str, Any], call: str) -> Ask | None:
    return asked(step.get("artifact")) if step.get("call") == call else None


def _chosen(question: Forget, lines: Sequence[str] | None) -> list[str]:
    """The lines that the user meant; no others than were asked about."""
    return [each for each in question["arguments"]["lines"] if lines is None or each in lines]


def _written(engine: Engine, session: Session, number: int, answered: Ask) -> bool:
    """Does it; False when it waits for Redis. Raises ``QuestionUnknown`` where memory is turned off by now."""
    if engine.memory is None:
        raise QuestionUnknown(session=session.id, turn=number)
    if answered["tool"] == "remember":
        key, value = answered["arguments"]["key"], answered["arguments"]["value"]
        return engine.memory.remember(engine.tenant, session.id, key, value, turn=number, user=engine.user)
    lines, newest = answered["chosen"], session.turn_count  # no turn so far brings them back
    return engine.memory.drop(engine.tenant, session.id, lines, turn=newest, user=engine.user) is not None


def _with(steps: list[dict[str, Any]], call: str, answered: Ask) -> list[dict[str, Any]]:
    """The steps with the first open question of this call answered."""
    at = next(at for at, step in enumerate(steps) if (ask := _of(step, call)) is not None and ask["answer"] is None)
    return [*steps[:at], {**steps[at], "artifact": {"ask": answered}}, *steps[at + 1 :]]
