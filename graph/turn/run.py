"""Starts turns; no other module does (design 2.4).

``run_turn`` writes the question's row, runs the graph, then writes the answer's row and removes old checkpoints. A turn
that fails keeps its question and can be retried; a turn that was cut off is closed before the next turn begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from errors import (
    ImagesUnsupported,
    NothingToAnswer,
    NothingToRetry,
    SessionBusy,
    SessionDeleted,
    TurnUnknown,
)
from graph.answer import documents
from graph.answer.casual import is_casual
from graph.summary import ahead, backlog
from graph.turn import story
from graph.turn.channel import Channel
from graph.turn.event import Done, Ended, Event, find_finish_reason
from graph.turn.image import refuse_unseen_images
from graph.turn.process.engine import TurnEngine
from graph.turn.request import Request, check_message, checked_given, checked_images, checked_system, choose_earlier
from graph.turn.running import RunningTurn
from graph.turn.session import given, repair
from store import Session, TurnRow
from store.session.opening import Opening, TurnPlace
from store.turn.image import list_image_keys
from text.fence import find_words
from text.language import detect_language

Emit = Callable[[Event], None]


def run_turn(engine: TurnEngine, request: Request, stop: threading.Event, emit: Emit) -> Ended:
    """Runs the requested turn in the caller's thread; returns how the turn ended, once the session is free.

    ``emit`` gets all events except the last one as they happen. Raises, before the first event, ``CallerError`` (empty
    or too long text; limits out of range; ``BadImage``, ``ImagesUnsupported``; deleted or unknown session, one that is
    busy, or is no more what the request was planned from;
    ``TurnUnknown``; ``NothingToRetry``, ``NothingToAnswer``), and ``OperatorError`` when the question cannot be
    written. With images or given turns it also raises the errors of resolving the models.
    """
    request = _check_request(engine, request)
    with _hold_request_session(engine, request) as opening:
        if opening.session.world:
            return story.play_turn(engine, opening, request, stop, emit)
        opening = _with_system(engine, opening, request.system)
        begin = {
            "new": _begin_new_turn,
            "retry": _begin_retry,
            "again": _begin_branch_turn,
            "edited": _begin_branch_turn,
            "resume": _begin_resume,
        }[request.kind]
        begun = begin(engine, opening, request)
        if not isinstance(begun, _Begun):
            return begun
        session, place = begun.session, begun.place
        keep = partial(engine.store.partials.keep, session.id, place.number)
        channel = Channel(stop, emit, keep)
        turn = RunningTurn(
            *(engine, session, place, opening.options, channel, request),
            waited=begun.waited,
            with_images=opening.has_images or place.with_images,
        )
        with engine.stop_watch.watching(session.id, stop):
            return turn.drive(begun.question)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A turn that has its row. ``question`` is None when the graph goes on from the node where the turn ended.
    ``waited``: the row of the turn while it waited for the user, if it did."""

    session: Session
    place: TurnPlace
    question: str | None
    waited: TurnRow | None = None


def _begin_new_turn(engine: TurnEngine, opening: Opening, request: Request) -> _Begun:
    session = opening.session
    if not request.given and 0 < request.number <= session.turn_count:  # a branch there, without told turns
        return _begin_branch_turn(engine, opening, replace(request, kind="edited"))
    repair.settle_last_turn(engine, session, opening.status)
    first, text = session.turn_count + 1, request.text
    if request.given:
        first = request.number or first
        session = given.write_given_turns(engine, session, first, request.given)
        told = (find_words(request.given[-1].question), find_words(text))
        text = "\n".join(part for part in told if not is_casual(part)) or text
    place = engine.store.begin_turn(session.id, request.text, engine.now().timestamp(), opening.last)
    return _Begun(_set_session_language(engine, session, first, text, opening.first), place, request.text)


def _begin_branch_turn(engine: TurnEngine, opening: Opening, request: Request) -> _Begun:
    session = opening.session
    repair.settle_last_turn(engine, session, opening.status)
    number, before = request.number, engine.store.turn(session.id, request.number)
    if before is None:
        raise TurnUnknown(session=session.id, turn=number)
    question = request.text if request.kind == "edited" else before.question
    check_message(question, with_images=bool(request.images))
    if list_image_keys(before.files):
        refuse_unseen_images(engine)  # before the turns that follow leave the path
    engine.store.tree.begin(session.id, number, question)
    session = engine.store.session(session.id)
    if is_casual(find_words(before.question)):  # else the language is decided already and stays
        session = _set_session_language(engine, session, number, question, opening.first)
    return _Begun(session, _find_place(engine, session, number), question)


def _find_place(engine: TurnEngine, session: Session, number: int) -> TurnPlace:
    """Returns where the row of a turn lies, which is there."""
    place = engine.store.find_place(session.id, number)
    if place is None:
        raise TurnUnknown(session=session.id, turn=number)
    return place


def _begin_retry(engine: TurnEngine, opening: Opening, request: Request) -> _Begun | Ended:
    session = opening.session
    last = engine.store.turn(session.id, session.turn_count)
    if last is None or last.status not in ("failed", "running"):
        raise NothingToRetry(session=session.id)
    ended = _read_turn_end(repair.complete_last_turn(engine, session))
    if ended is not None:
        return ended
    engine.store.restart_turn(session.id, last.number, engine.now().timestamp())
    return _Begun(session, _find_place(engine, session, last.number), None)


def _begin_resume(engine: TurnEngine, opening: Opening, request: Request) -> _Begun:
    session = opening.session
    last = repair.complete_last_turn(engine, session)
    if last is None or last.status != "waiting":
        raise NothingToAnswer(session=session.id)
    engine.store.restart_turn(session.id, last.number, engine.now().timestamp())
    return _Begun(session, _find_place(engine, session, last.number), None, last)


def end_user_wait(engine: TurnEngine, session_id: str) -> None:
    """Ends a turn that waits for the user, as if the user had stopped it; does nothing when no turn waits.

    Raises ``SessionBusy`` while the session answers.
    """
    with engine.open_turn(session_id) as opening:
        if opening.status == "waiting":
            repair.settle_last_turn(engine, opening.session, opening.status)


def reconcile_session(engine: TurnEngine, session_id: str) -> bool:
    """Completes a turn whose answer is in the state but not in its row, when the user opens the session, and extracts
    summaries where many are missing.

    Returns False while the session is answering, in this process or another one: then no turn was cut off.
    """
    try:
        with engine.hold(session_id) as session:
            repair.complete_last_turn(engine, session)
            if session.world:  # no summaries are made of stories
                return True
            if backlog.fill_gaps(engine, session, session.turn_count, backlog.BEHIND):
                engine.store.mark_state_outdated(session_id)
    except SessionBusy:
        return False
    return True


def _read_turn_end(turn: TurnRow | None) -> Ended | None:
    """Returns the end of a turn that already has its answer, else None."""
    if turn is None or turn.status not in ("done", "stopped"):
        return None
    stopped, cut_at = turn.status == "stopped", int((turn.usage or {}).get("cut_at") or 0)
    return Done(turn.number, turn.answer or "", stopped, finish_reason=find_finish_reason(cut_at, stopped))


def _check_request(engine: TurnEngine, request: Request) -> Request:
    """Returns the request with its parts checked and cleaned."""
    if request.kind == "new":
        check_message(request.text, with_images=bool(request.images))
    checked_given(request.given)
    system = None if request.system is None else checked_system(request.system)
    images = checked_images(request.images)
    if images and not (models := engine.models()).takes_images:
        raise ImagesUnsupported(model=models.name)
    earlier = choose_earlier(request.earlier_images, len(images)) if request.earlier_images else ()
    if earlier and not engine.models().takes_images:
        earlier = ()
    checked = replace(request, system=system, limits=request.limits.validate_limits())
    return replace(checked, images=images, earlier_images=earlier)


def _with_system(engine: TurnEngine, opening: Opening, system: str | None) -> Opening:
    """Returns the session with the client's system text, which it keeps; None leaves the stored one."""
    if system is None or system == opening.session.client_system:
        return opening
    engine.store.set_client_system(opening.session.id, system)
    return replace(opening, session=replace(opening.session, client_system=system))


@contextmanager
def _hold_request_session(engine: TurnEngine, request: Request) -> Iterator[Opening]:
    """Holds the session; side work pauses meanwhile, except work that this turn needs. Raises ``SessionDeleted``."""
    with engine.open_turn(request.session) as opening:
        if opening.session.deleted is not None:
            raise SessionDeleted(session=opening.session.id)
        opening = _take_plan_up(engine, opening, request)
        session = opening.session
        needed = ahead.make_needed_summary_check(session, request.number or session.turn_count + 1)
        with engine.background.turn(needed, engine.yields), documents.pause_document_embedding(engine):
            yield opening


def _take_plan_up(engine: TurnEngine, opening: Opening, request: Request) -> Opening:
    """Returns the session on the path for which the request was planned, and notes who waits for the answer. Raises
    ``SessionBusy`` where another request has changed it since: what this one asks may be answered by then."""
    session = opening.session
    if request.basis is not None and not request.basis.is_met(session, opening.status):
        raise SessionBusy(session=session.id)
    if request.waits is not None:
        number = request.number + len(request.given) if request.number else session.turn_count + 1
        engine.store.undelivered.note(session.id, request.waits or str(number))
    if request.switch is None:
        return opening
    engine.store.tree.switch(session.id, *request.switch)
    return engine.store.open_turn(session.id)


def _set_session_language(
    engine: TurnEngine, session: Session, number: int, text: str, first: TurnPlace | None
) -> Session:
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
    language = detect_language(text, session.language)
    engine.store.set_language(session.id, language)
    return replace(session, language=language)
