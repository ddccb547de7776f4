"""Starts turns; no other module does (design 2.4).

``run`` writes the question's row, runs the graph, then writes the answer's row and removes old checkpoints. A turn that
fails keeps its question and can be retried; a turn that was cut off is closed before the next turn begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from errors import (
    Empty,
    ImagesUnsupported,
    NothingToAnswer,
    NothingToRetry,
    SessionBusy,
    SessionDeleted,
    TooLong,
    TurnUnknown,
)
from graph.answer import documents
from graph.answer.casual import is_casual
from graph.summary import ahead, backlog
from graph.turn import given, repair
from graph.turn.channel import Channel
from graph.turn.engine import Engine
from graph.turn.event import Done, Ended, Event, reason
from graph.turn.request import MESSAGE_LIMIT, Request, checked_given, checked_images, checked_system, choose_earlier
from graph.turn.running import RunningTurn
from store import Session, Turn
from store.opening import Opening, TurnPlace
from text.clean import clean
from text.fence import find_words
from text.language import detect

Emit = Callable[[Event], None]


def run(engine: Engine, request: Request, stop: threading.Event, emit: Emit) -> Ended:
    """Runs the requested turn in the caller's thread; returns how the turn ended, once the session is free.

    ``emit`` gets all events except the last one as they happen. Raises, before the first event, ``CallerError`` (empty
    or too long text; limits out of range; ``BadImage``, ``ImagesUnsupported``; busy, deleted or unknown session;
    ``TurnUnknown``; ``NothingToRetry``, ``NothingToAnswer``), and ``OperatorError`` when the question cannot be
    written. With images or given turns it also raises the errors of resolving the models.
    """
    request = _checked(engine, request)
    with _held(engine, request) as opening:
        opening = _with_system(engine, opening, request.system)
        begin = {"new": _new, "retry": _retry, "again": _again, "edited": _again, "resume": _resume}[request.kind]
        begun = begin(engine, opening, request)
        if not isinstance(begun, _Begun):
            return begun
        session, place = begun.session, begun.place
        keep = partial(engine.store.partials.keep, session.id, place.number)
        channel = Channel(stop, emit, keep)
        turn = RunningTurn(engine, session, place, opening.options, channel, request, waited=begun.waited)
        with engine.stop_watch.watching(session.id, stop):
            return turn.drive(begun.question)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A turn that has its row. ``question`` is None when the graph goes on from the node where the turn ended.
    ``waited``: the row of the turn while it waited for the user, if it did."""

    session: Session
    place: TurnPlace
    question: str | None
    waited: Turn | None = None


def _new(engine: Engine, opening: Opening, request: Request) -> _Begun:
    session = opening.session
    if not request.given and 0 < request.number <= session.turn_count:  # a branch there, without told turns
        return _again(engine, opening, replace(request, kind="edited"))
    repair.close(engine, session, opening.status)
    first, text = session.turn_count + 1, request.text
    if request.given:
        first = request.number or first
        session = given.give(engine, session, first, request.given)
        told = (find_words(request.given[-1].question), find_words(text))
        text = "\n".join(part for part in told if not is_casual(part)) or text
    place = engine.store.begin_turn(session.id, request.text, engine.now().timestamp(), opening.last)
    return _Begun(_speaking(engine, session, first, text, opening.first), place, request.text)


def _again(engine: Engine, opening: Opening, request: Request) -> _Begun:
    session = opening.session
    repair.close(engine, session, opening.status)
    number, before = request.number, engine.store.turn(session.id, request.number)
    if before is None:
        raise TurnUnknown(session=session.id, turn=number)
    question = request.text if request.kind == "edited" else before.question
    _check(question, request)
    engine.store.tree.begin(session.id, number, question)
    session = engine.store.session(session.id)
    if is_casual(find_words(before.question)):  # else the language is decided already and stays
        session = _speaking(engine, session, number, question, opening.first)
    return _Begun(session, _find_place(engine, session, number), question)


def _find_place(engine: Engine, session: Session, number: int) -> TurnPlace:
    """Returns where the row of a turn lies, which is there."""
    place = engine.store.find_place(session.id, number)
    if place is None:
        raise TurnUnknown(session=session.id, turn=number)
    return place


def _retry(engine: Engine, opening: Opening, request: Request) -> _Begun | Ended:
    session = opening.session
    last = engine.store.turn(session.id, session.turn_count)
    if last is None or last.status not in ("failed", "running"):
        raise NothingToRetry(session=session.id)
    ended = _known(repair.complete(engine, session))
    if ended is not None:
        return ended
    engine.store.restart_turn(session.id, last.number, engine.now().timestamp())
    return _Begun(session, _find_place(engine, session, last.number), None)


def _resume(engine: Engine, opening: Opening, request: Request) -> _Begun:
    session = opening.session
    last = repair.complete(engine, session)
    if last is None or last.status != "waiting":
        raise NothingToAnswer(session=session.id)
    engine.store.restart_turn(session.id, last.number, engine.now().timestamp())
    return _Begun(session, _find_place(engine, session, last.number), None, last)


def dismiss(engine: Engine, session_id: str) -> None:
    """Ends a turn that waits for the user, as if the user had stopped it; does nothing when no turn waits.

    Raises ``SessionBusy`` while the session answers.
    """
    with engine.open_turn(session_id) as opening:
        if opening.status == "waiting":
            repair.close(engine, opening.session, opening.status)


def reconcile(engine: Engine, session_id: str) -> bool:
    """Completes a turn whose answer is in the state but not in its row, when the user opens the session, and extracts
    summaries where many are missing.

    Returns False while the session is answering, in this process or another one: then no turn was cut off.
    """
    try:
        with engine.hold(session_id) as session:
            repair.complete(engine, session)
            if backlog.fill_gaps(engine, session, session.turn_count, backlog.BEHIND):
                engine.store.revise(session_id)
    except SessionBusy:
        return False
    return True


def _known(turn: Turn | None) -> Ended | None:
    """Returns the end of a turn that already has its answer, else None."""
    if turn is None or turn.status not in ("done", "stopped"):
        return None
    stopped, cut_at = turn.status == "stopped", int((turn.usage or {}).get("cut_at") or 0)
    return Done(turn.number, turn.answer or "", stopped, finish_reason=reason(cut_at, stopped))


def _checked(engine: Engine, request: Request) -> Request:
    """Returns the request with its parts checked and cleaned."""
    if request.kind == "new":
        _check(request.text, request)
    checked_given(request.given)
    system = None if request.system is None else checked_system(request.system)
    images = checked_images(request.images)
    if images and not (models := engine.models()).profile.images:
        raise ImagesUnsupported(model=models.name)
    earlier = choose_earlier(request.earlier_images, len(images)) if request.earlier_images else ()
    if earlier and not engine.models().profile.images:
        earlier = ()
    checked = replace(request, system=system, limits=request.limits.checked())
    return replace(checked, images=images, earlier_images=earlier)


def _check(text: str, request: Request) -> None:
    """Raises ``Empty`` for a message without text and images, ``TooLong``."""
    if not clean(text).strip() and not request.images:
        raise Empty(what="message")
    if len(text) > MESSAGE_LIMIT:
        raise TooLong(what="message", size=len(text), limit=MESSAGE_LIMIT)


def _with_system(engine: Engine, opening: Opening, system: str | None) -> Opening:
    """Returns the session with the client's system text, which it keeps; None leaves the stored one."""
    if system is None or system == opening.session.client_system:
        return opening
    engine.store.set_client_system(opening.session.id, system)
    return replace(opening, session=replace(opening.session, client_system=system))


@contextmanager
def _held(engine: Engine, request: Request) -> Iterator[Opening]:
    """Holds the session; side work pauses meanwhile, except work that this turn needs. Raises ``SessionDeleted``."""
    with engine.open_turn(request.session) as opening:
        session = opening.session
        if session.deleted is not None:
            raise SessionDeleted(session=session.id)
        needed = ahead.needed(session, request.number or session.turn_count + 1)
        with engine.background.turn(needed, engine.yields), documents.quiet(engine):
            yield opening


def _speaking(engine: Engine, session: Session, number: int, text: str, first: TurnPlace | None) -> Session:
    """Returns the session, with its language set if this is its first message that is more than a greeting.
    ``number``: of the first new turn; turns that a client told decide together with the message that follows them.
    ``first``: the first turn, which has nearly always decided already.

    That message decides the language of the session's prompts; the language then stays, so that the prompts' prefix
    stays, too. One Latin word («ok», «Python») decides nothing: it is said in either language.
    """
    if first is not None and number > 1 and not is_casual(find_words(first.question)):
        return session
    earlier = (engine.store.turn(session.id, each) for each in range(1, number))
    text = find_words(text)
    if is_casual(text) or any(each and not is_casual(find_words(each.question)) for each in earlier):
        return session
    if len(text.split()) == 1 and text.isascii():
        return session
    language = detect(text, session.language)
    engine.store.set_language(session.id, language)
    return replace(session, language=language)
