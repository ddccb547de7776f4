"""A turn of a story: a conversation with a world, whose answer is one call with the world's texts around it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from errors import GieokError, NothingToAnswer, NothingToRetry, TurnUnknown, ensure_gieok_error
from graph.turn.channel import Channel
from graph.turn.event import Done, Ended, Event, Failed, Token, TurnUsage
from graph.turn.finish import build_failed_row
from graph.turn.memory.story import StoryMemory
from graph.turn.process.engine import TurnEngine
from graph.turn.request import Request, check_message
from graph.turn.runtime import Notes
from graph.turn.session import repair
from model.call.stream import Stopped
from store import Finished, Session
from store.session.opening import Opening, TurnPlace
from store.world.record import StoryNode

log = logging.getLogger(__name__)


def play_turn(
    engine: TurnEngine, opening: Opening, request: Request, stop: threading.Event, emit: Callable[[Event], None]
) -> Ended:
    """Plays the requested turn of a story (``graph.turn.run.run_turn``). Turns that a client tells with it are left
    out: its conversation has them."""
    session = opening.session
    place = _begin_turn(engine, opening, request)
    keep = partial(engine.store.partials.keep, session.id, place.number)
    channel, began = Channel(stop, emit, keep), time.monotonic()
    with engine.stop_watch.watching(session.id, stop):
        try:
            memory = StoryMemory.read(engine, session, place)
            node = _answer_player(engine, session, place, channel, memory)
        except Stopped:
            seconds = time.monotonic() - began
            _write_end(engine, place, Finished("stopped", "", seconds=seconds))
            return Done(place.number, "", True, TurnUsage(), seconds)
        except Exception as error:
            failure = ensure_gieok_error(error, log, f"turn {place.number}")
            return _fail(engine, place, failure, time.monotonic() - began, channel.text)
    memory.plan_side_work()
    return _build_story_end(engine, place, node)


def _begin_turn(engine: TurnEngine, opening: Opening, request: Request) -> TurnPlace:
    """Writes the question's row; returns where it lies."""
    session, store, now = opening.session, engine.store, engine.now().timestamp()
    if request.kind == "resume":
        raise NothingToAnswer(session=session.id)
    if request.kind == "retry":
        if opening.last is None or opening.last.status not in ("failed", "running"):
            raise NothingToRetry(session=session.id)
        store.restart_turn(session.id, opening.last.number, now)
        return opening.last
    repair.settle_last_turn(engine, session, opening.status)
    if request.kind == "new" and not 0 < request.number <= session.turn_count:
        return store.begin_turn(session.id, request.text, now, opening.last)
    before = store.turn(session.id, request.number) if request.number > 0 else None  # 0 is a greeting
    if before is None:
        raise TurnUnknown(session=session.id, turn=request.number)
    question = before.question if request.kind == "again" else request.text
    check_message(question)
    store.tree.begin(session.id, request.number, question)
    place = store.find_place(session.id, request.number)
    assert place is not None
    return place


def _answer_player(
    engine: TurnEngine, session: Session, place: TurnPlace, channel: Channel, memory: StoryMemory
) -> StoryNode:
    assert engine.worlds is not None, "only stories of this process's own database have a world"
    worlds = engine.worlds().using(engine.store, engine.models)
    parent = engine.store.worlds.last_before(session.id, place.number, place.branch)

    def emit(piece: str) -> None:
        channel.emit(Token(piece))

    return worlds.play(session.world, parent, place.question, channel.stop, emit, place, memory.recall)


def _build_story_end(engine: TurnEngine, place: TurnPlace, node: StoryNode) -> Done:
    """Returns the end of a turn that is stored: a row that cannot be read takes nothing of it back."""
    try:
        turn = engine.store.turn(place.session_id, place.number)
    except GieokError as error:
        log.warning("what turn %d took could not be read: %s", place.number, error.code)
        turn = None
    used = TurnUsage(**turn.usage) if turn is not None and turn.usage else TurnUsage()
    stopped = turn is not None and turn.status == "stopped"
    return Done(place.number, node.answer, stopped, used, (turn.seconds if turn else None) or 0.0)


def _fail(engine: TurnEngine, place: TurnPlace, error: GieokError, seconds: float, arrived: str) -> Failed:
    try:
        _write_end(engine, place, build_failed_row(error, Notes(), seconds, arrived))
    except GieokError:
        log.error("the failed turn %d could not be written: it stays open and is found again", place.number)
    return Failed(place.number, error.code, str(error), error.retryable, error.values)


def _write_end(engine: TurnEngine, place: TurnPlace, end: Finished) -> None:
    engine.store.finish_turn(place.session_id, place.number, end, engine.now().timestamp(), place)
