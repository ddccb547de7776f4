"""Carries out the user's answer to a turn's question: may memory change as a tool call asked
(``graph.tool.question.ask``)?

Memory changes first, then the turn's row. After a crash between the two writes the question is still open, and the same
change made twice has the effect of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from errors import QuestionAnswered, QuestionUnknown, SessionDeleted
from graph.tool.question.ask import Ask, Forget, read_memory_ask
from graph.turn.process.engine import TurnEngine
from store import Session, TurnRow

CLOSED = frozenset({"done", "stopped"})
"""The statuses of turns whose questions can be answered: a turn with another status runs again and asks anew."""


def confirm_memory_question(
    engine: TurnEngine,
    session_id: str,
    number: int,
    call: str,
    yes: bool,
    *,
    branch: int | None = None,
    lines: Sequence[str] | None = None,
) -> Ask:
    """Changes memory as the question of ``call`` proposes, if ``yes``; stores the answer with turn ``number``.

    ``branch``: the version of the turn that was shown; None: the version on the session's path. ``lines``: the lines to
    forget; None: all lines of the question. Returns the question with its answer. Raises ``QuestionUnknown`` (also for
    a version that was replaced), ``QuestionAnswered``, ``SessionBusy`` while the session answers, ``SessionUnknown``,
    ``SessionDeleted``.
    """
    with engine.hold(session_id) as session:
        if session.deleted is not None:
            raise SessionDeleted(session=session_id)
        question = _find_open_ask(engine.store.turn(session_id, number), session_id, number, call, branch)
        answered = question.copy()
        answered["answer"] = yes
        if yes and answered["tool"] == "forget":
            answered["chosen"] = _choose_forget_lines(answered, lines)
        if yes:
            _write_memory(engine, session, number, answered)
        engine.store.change_steps(session_id, number, lambda steps: _replace_open_ask(steps, call, answered))
    return answered


def open_asks(turn: TurnRow) -> list[tuple[str, Ask]]:
    """Returns the questions of a turn that can be answered now, as pairs of call and question."""
    asks = [(str(step["call"]), read_memory_ask(step.get("artifact"))) for step in turn.steps if turn.status in CLOSED]
    return [(call, ask) for call, ask in asks if ask is not None and ask["answer"] is None]


def _find_open_ask(turn: TurnRow | None, session_id: str, number: int, call: str, branch: int | None) -> Ask:
    """Returns the open question of this call. Raises ``QuestionUnknown``, ``QuestionAnswered``."""
    shown = turn is not None and turn.status in CLOSED and branch in (None, turn.branch)
    asks = [ask for step in (turn.steps if shown and turn else []) if (ask := _read_call_ask(step, call)) is not None]
    if not asks:
        raise QuestionUnknown(session=session_id, turn=number)
    unanswered = [ask for ask in asks if ask["answer"] is None]
    if not unanswered:
        raise QuestionAnswered(session=session_id, turn=number)
    return unanswered[0]


def _read_call_ask(step: dict[str, Any], call: str) -> Ask | None:
    return read_memory_ask(step.get("artifact")) if step.get("call") == call else None


def _choose_forget_lines(question: Forget, lines: Sequence[str] | None) -> list[str]:
    """Returns the lines that the user chose among the lines of the question."""
    return [line for line in question["arguments"]["lines"] if lines is None or line in lines]


def _write_memory(engine: TurnEngine, session: Session, number: int, answered: Ask) -> None:
    """Changes memory as the answered question proposes. Raises ``QuestionUnknown`` where memory is turned off by
    now."""
    if engine.memory is None:
        raise QuestionUnknown(session=session.id, turn=number)
    if answered["tool"] == "remember":
        key, value = answered["arguments"]["key"], answered["arguments"]["value"]
        engine.memory.writer.remember(engine.tenant, session.id, key, value, turn=number, user=engine.user)
        return
    lines, newest = answered["chosen"], session.turn_count  # no turn up to the newest brings the lines back
    engine.memory.eraser.forget_lines(engine.tenant, session.id, lines, turn=newest, user=engine.user)


def _replace_open_ask(steps: list[dict[str, Any]], call: str, answered: Ask) -> list[dict[str, Any]]:
    """Returns the steps with the first open question of this call answered."""
    at = next(
        at for at, step in enumerate(steps) if (ask := _read_call_ask(step, call)) is not None and ask["answer"] is None
    )
    return [*steps[:at], {**steps[at], "artifact": {"ask": answered}}, *steps[at + 1 :]]
