"""Running one turn: the one place that starts turns (design §2, §3).

The question's row is written first, then the graph runs, then the answer's row is written and old checkpoints go. A
turn that fails keeps its question and can be retried; one that was cut off is closed before the next begins.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from errors import (
    EmptyMessage,
    GieokError,
    MessageTooLong,
    NothingToRetry,
    SessionBusy,
    SessionDeleted,
    TurnUnknown,
    Unexpected,
    trace,
)
from graph import ahead, documents, memory, repair, title
from graph.arriving import Arriving
from graph.casual import is_casual
from graph.context import mark, raw_tokens
from graph.engine import Engine, config
from graph.event import Done, Event, Failed
from graph.finish import failed, finished, turn_messages
from graph.runtime import Notes, TurnContext
from graph.state import ChatState
from memory import Patience
from store import Session, Turn
from store.database import translated
from text.clean import clean
from text.language import detect

log = logging.getLogger(__name__)

Ended = Done | Failed
Emit = Callable[[Event], None]


def run(engine: Engine, session_id: str, text: str, stop: threading.Event, emit: Emit) -> Ended:
    """One turn; ``emit`` gets its events as they happen, but the last, which is returned when the session is free.

    Before the first event it raises ``CallerError`` (empty, too long, busy, unknown session) or, when the question
    cannot be kept, ``OperatorError``.
    """
    _check(text, engine.settings.message_limit)
    with _held(engine, session_id) as session:
        repair.close(engine, session)
        number = engine.store.accept_turn(session_id, text)
        session = _speaking(engine, session, number, text)
        return _Run(engine, session, number, stop, emit).drive(text)


def again(engine: Engine, session_id: str, number: int, text: str | None, stop: threading.Event, emit: Emit) -> Ended:
    """Another version of turn ``number``: the same question once more, or ``text`` in its place.

    The turns that followed stay on their own branch. Raises ``TurnUnknown`` and what ``run`` raises.
    """
    with _held(engine, session_id, number) as session:
        repair.close(engine, session)
        before = engine.store.turn(session_id, number)
        if before is None:
            raise TurnUnknown(session=session_id, turn=number)
        question = before.question if text is None else text
        _check(question, engine.settings.message_limit)
        engine.store.tree.begin(session_id, number, question)
        session = engine.store.session(session_id)
        if is_casual(before.question):  # else the language is decided, and other versions have it
            session = _speaking(engine, session, number, question)
        return _Run(engine, session, number, stop, emit).drive(question)


def retry(engine: Engine, session_id: str, stop: threading.Event, emit: Emit) -> Ended:
    """The last turn again, when it failed or was cut off, from the node where it ended; else ``NothingToRetry``."""
    with _held(engine, session_id) as session:
        last = engine.store.turn(session_id, session.turn_count)
        if last is None or last.status not in ("failed", "running"):
            raise NothingToRetry(session=session_id)
        ended = _known(repair.complete(engine, session))
        if ended is not None:
            return ended
        engine.store.restart_turn(session_id, last.number)
        return _Run(engine, session, last.number, stop, emit).drive(None)


def reconcile(engine: Engine, session_id: str) -> bool:
    """On opening a session: completes a turn whose answer is in the state but not in its row.

    False while the session is answering, wherever that is: then nothing was cut off.
    """
    try:
        with engine.lock.hold(session_id):
            repair.complete(engine, engine.store.session(session_id))
    except SessionBusy:
        return False
    return True


def _known(turn: Turn | None) -> Ended | None:
    """The end of a turn whose answer was there and only missing from its row."""
    if turn is None or turn.status not in ("done", "stopped"):
        return None
    return Done(turn.number, turn.answer or "", turn.status == "stopped")


def _check(text: str, limit: int) -> None:
    if not clean(text).strip():
        raise EmptyMessage
    if len(text) > limit:
        raise MessageTooLong(size=len(text), limit=limit)


@contextmanager
def _held(engine: Engine, session_id: str, number: int | None = None) -> Iterator[Session]:
    """Holds the session, while side work yields except what this turn (by default a new one) needs.

    Raises ``SessionDeleted``.
    """
    with engine.lock.hold(session_id):
        session = engine.store.session(session_id)
        if session.deleted is not None:
            raise SessionDeleted(session=session_id)
        needed = ahead.needed(session, number or session.turn_count + 1)
        with engine.background.turn(needed, engine.yields), documents.quiet(engine):
            yield session


def _speaking(engine: Engine, session: Session, number: int, text: str) -> Session:
    """The first message that is more than a greeting decides the language of the session's prompts; it stays, so that
    the prefix does. One Latin word («ok», «Python») is said in either language."""
    earlier = (engine.store.turn(session.id, each) for each in range(1, number))
    if is_casual(text) or any(each and not is_casual(each.question) for each in earlier):
        return session
    if len(text.split()) == 1 and text.isascii():
        return session
    engine.store.set_language(session.id, detect(text, session.language))
    return engine.store.session(session.id)


@dataclass
class _Run:
    """One run of the graph for one turn."""

    engine: Engine
    session: Session
    number: int
    stop: threading.Event
    emit: Emit
    began: float = field(default_factory=time.monotonic)
    state: ChatState | None = None
    context: TurnContext | None = None
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        self.arriving = Arriving(self.emit, partial(self.engine.store.partials.keep, self.session.id, self.number))

    def drive(self, text: str | None) -> Ended:
        """Runs the graph and returns how the turn ended; ``text`` is None for the same turn again."""
        try:
            self._graph(text)
        except Exception as error:
            return self._failed(self._ours(error))
        return self._ended()

    def _graph(self, text: str | None) -> None:
        """The graph in this thread, node by node: events go straight to ``emit``, not through LangGraph's stream,
        which would take two threads a node."""
        self.context = self._context()
        start = self._start(text)
        with translated("the checkpoints"):
            address = config(self.session.id)
            states = self.engine.graph.stream(
                start, address, context=self.context, stream_mode="values", durability="sync"
            )
            for state in states:
                self.state = cast(ChatState, state)

    def _start(self, text: str | None) -> dict[str, Any] | None:
        engine, session = self.engine, self.session
        if text is not None:
            return repair.entry(engine, session, self.number, text)
        last = engine.store.turn(session.id, self.number)
        assert last is not None
        return repair.reentry(engine, session, last)

    def _context(self) -> TurnContext:
        background, models, notes = self.engine.background, self.engine.models(), Notes()
        search = documents.search(self.engine, models, notes, self.session.language, self.stop, self.arriving)
        remembering = memory.tools(self.engine, self.session, self.number, models.profile, self.patience)
        looked = time.time()
        remembered = memory.before(self.engine, self.session, models, self.number, self.patience)
        parts = memory.parts(remembered, self.engine, self.session.language, self.number, models.profile)
        memory.keep(self.engine, self.session.id, parts, looked)
        now = () if models.profile.prompt == "bare" else self.engine.changing(self.session)
        return TurnContext(
            models=models,
            settings=self.engine.settings,
            budgets=self.engine.budgets,
            stop=self.stop,
            emit=self.arriving,
            tools=[*self.engine.tools, *remembering, *(search.tools if search else ())],
            ledger=self.engine.store.ledger,
            finish_ahead=lambda turns, rate, stop: background.finish(ahead.key(self.session, turns, rate), stop),
            changing=(*parts, *now),
            retrieve=search.first if search else lambda _: (),
            unfolded=memory.unfolded(remembered),
            history_tokens=self.session.history_tokens,
            notes=notes,
        )

    def _ended(self) -> Ended:
        """Writes the answer's row, leaves one checkpoint, plans the next summary.

        The answer is in the checkpoint by now: when its row cannot be written, it is completed later.
        """
        try:
            ended = self._finished()
        except Exception as error:
            ours = self._ours(error)
            return Failed(self.number, ours.code, str(ours), True, ours.values)
        self._tidy()
        return ended

    def _finished(self) -> Done:
        assert self.context is not None
        state = self.state or self.engine.state(self.session.id)
        notes, messages, seconds = self.context.notes, state["messages"], time.monotonic() - self.began
        first = notes.first_token - self.began if notes.first_token else None
        tokens = raw_tokens(turn_messages(messages, self.number), self.context.models.count)
        end = finished(messages, self.number, notes, seconds, first, tokens)
        self.engine.store.finish_turn(self.session.id, self.number, end)
        return Done(self.number, end.answer or "", end.status == "stopped", notes.usage(), seconds, first)

    def _tidy(self) -> None:
        """What the next turn would do as well, if it fails now."""
        try:
            self.engine.checkpoints.prune(self.session.id)
            if self.engine.settings.ahead:
                ahead.plan(self.engine, self.session.id, self.state or self.engine.state(self.session.id))
            if self.context is not None and (system := self.context.notes.system):
                self.engine.store.wordings.keep(mark(system), system)
            title.plan(self.engine, self.session.id, self.number)
            memory.after(self.engine, self.session.id, self.number, self.patience)
        except GieokError as error:
            log.warning("after turn %d: %s", self.number, error.code)

    def _failed(self, error: GieokError) -> Failed:
        """Writes the row of a failed turn; without what the turn noted, should that be what cannot be written."""
        for notes in (self.context.notes if self.context is not None else Notes(), Notes()):
            try:
                end = failed(error, notes, time.monotonic() - self.began, self.arriving.text)
                self.engine.store.finish_turn(self.session.id, self.number, end)
                break
            except GieokError:
                log.error("the failed turn %d could not be written: it stays open and is found again", self.number)
                break
            except Exception as fault:
                log.error("the failed turn %d could not be written: %s", self.number, trace(fault))
        with suppress(GieokError):  # the newest, which a retry goes on from, stays
            self.engine.checkpoints.prune(self.session.id)
        return Failed(self.number, error.code, str(error), error.retryable, error.values)

    def _ours(self, error: Exception) -> GieokError:
        if isinstance(error, GieokError):
            return error
        log.error("turn %d failed: %s", self.number, trace(error))
        return Unexpected(kind=type(error).__name__)
