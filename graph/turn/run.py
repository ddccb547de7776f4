"""Starts turns; no other module does (design 2.4).

``run`` writes the question's row, runs the graph, then writes the answer's row and removes old checkpoints. A turn that
fails keeps its question and can be retried; a turn that was cut off is closed before the next turn begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from errors import Empty, NothingToRetry, SessionBusy, SessionDeleted, TooLong, TurnUnknown
from graph.answer import documents
from graph.answer.casual import is_casual
from graph.summary import ahead
from graph.turn import repair
from graph.turn.channel import Channel
from graph.turn.engine import Engine
from graph.turn.event import Done, Event
from graph.turn.request import Request
from graph.turn.running import Ended, RunningTurn
from store import Session, Turn
from text.clean import clean
from text.language import detect

Emit = Callable[[Event], None]
MESSAGE_LIMIT = 200_000
"""Characters of the longest message."""


def run(engine: Engine, request: Request, stop: threading.Event, emit: Emit) -> Ended:
    """Runs the requested turn in the caller's thread; returns how the turn ended, once the session is free.

    ``emit`` gets all events except the last one as they happen. Raises, before the first event, ``CallerError`` (empty
    or too long text; busy, deleted or unknown session; ``TurnUnknown``; ``NothingToRetry``), and ``OperatorError`` when
    the question cannot be written.
    """
    if request.kind == "new":
        _check(request.text, MESSAGE_LIMIT)
    with _held(engine, request) as session:
        begin = {"new": _new, "retry": _retry, "again": _again, "edited": _again}[request.kind]
        begun = begin(engine, session, request)
        if not isinstance(begun, _Begun):
            return begun
        keep = partial(engine.store.partials.keep, session.id, begun.number)
        return RunningTurn(engine, begun.session, begun.number, Channel(stop, emit, keep)).drive(begun.question)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A turn that has its row. ``question`` is None when the graph goes on from the node where the turn ended."""

    session: Session
    number: int
    question: str | None


def _new(engine: Engine, session: Session, request: Request) -> _Begun:
    repair.close(engine, session)
    number = engine.store.accept_turn(session.id, request.text, engine.now().timestamp())
    return _Begun(_speaking(engine, session, number, request.text), number, request.text)


def _again(engine: Engine, session: Session, request: Request) -> _Begun:
    repair.close(engine, session)
    number, before = request.number, engine.store.turn(session.id, request.number)
    if before is None:
        raise TurnUnknown(session=session.id, turn=number)
    question = request.text if request.kind == "edited" else before.question
    _check(question, MESSAGE_LIMIT)
    engine.store.tree.begin(session.id, number, question)
    session = engine.store.session(session.id)
    if is_casual(before.question):  # else the language is decided already and stays
        session = _speaking(engine, session, number, question)
    return _Begun(session, number, question)


def _retry(engine: Engine, session: Session, request: Request) -> _Begun | Ended:
    last = engine.store.turn(session.id, session.turn_count)
    if last is None or last.status not in ("failed", "running"):
        raise NothingToRetry(session=session.id)
    ended = _known(repair.complete(engine, session))
    if ended is not None:
        return ended
    engine.store.restart_turn(session.id, last.number, engine.now().timestamp())
    return _Begun(session, last.number, None)


def reconcile(engine: Engine, session_id: str) -> bool:
    """Completes a turn whose answer is in the state but not in its row, when the user opens the session.

    Returns False while the session is answering, in this process or another one: then no turn was cut off.
    """
    try:
        with engine.lock.hold(session_id):
            repair.complete(engine, engine.store.session(session_id))
    except SessionBusy:
        return False
    return True


def _known(turn: Turn | None) -> Ended | None:
    """Returns the end of a turn that already has its answer, else None."""
    if turn is None or turn.status not in ("done", "stopped"):
        return None
    return Done(turn.number, turn.answer or "", turn.status == "stopped")


def _check(text: str, limit: int) -> None:
    if not clean(text).strip():
        raise Empty(what="message")
    if len(text) > limit:
        raise TooLong(what="message", size=len(text), limit=limit)


@contextmanager
def _held(engine: Engine, request: Request) -> Iterator[Session]:
    """Holds the session; side work pauses meanwhile, except work that this turn needs. Raises ``SessionDeleted``."""
    with engine.lock.hold(request.session):
        session = engine.store.session(request.session)
        if session.deleted is not None:
            raise SessionDeleted(session=session.id)
        needed = ahead.needed(session, request.number or session.turn_count + 1)
        with engine.background.turn(needed, engine.yields), documents.quiet(engine):
            yield session


def _speaking(engine: Engine, session: Session, number: int, text: str) -> Session:
    """Returns the session, with its language set if this is its first message that is more than a greeting.

    That message decides the language of the session's prompts; the language then stays, so that the prompts' prefix
    stays, too. One Latin word («ok», «Python») decides nothing: it is said in either language.
    """
    earlier = (engine.store.turn(session.id, each) for each in range(1, number))
    if is_casual(text) or any(each and not is_casual(each.question) for each in earlier):
        return session
    if len(text.split()) == 1 and text.isascii():
        return session
    engine.store.set_language(session.id, detect(text, session.language))
    return engine.store.session(session.id)
