"""Running turns, apart from the page that shows them.

A turn belongs to a thread of this process, not to a script run: a slider move, a refresh or a lost connection
neither ends it nor loses it; the page finds the job again and follows it (facts: ui.md §1.3). Nothing here calls
Streamlit.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from component.readiness import Readiness
from errors import EmptyMessage, GieokError, SessionDeleted, Unexpected, trace
from graph.event import (
    ContextBuilt,
    Done,
    Event,
    Failed,
    SummaryLater,
    SummaryMade,
    SummaryStarted,
    Token,
    ToolFinished,
    ToolStarted,
)
from model.modelset import ModelSet
from store import Store
from store.outbox import Message
from text.clean import clean

log = logging.getLogger(__name__)


class Runs(Protocol):
    """What a job needs of the agent."""

    def using(self, models: ModelSet | None, budgets: Mapping[str, int] | None = None) -> Self: ...

    def run(self, session_id: str, text: str, *, stop: threading.Event | None = None) -> Iterator[Event]: ...

    def retry(self, session_id: str, *, stop: threading.Event | None = None) -> Iterator[Event]: ...

    def again(
        self, session_id: str, number: int, text: str | None = None, *, stop: threading.Event | None = None
    ) -> Iterator[Event]: ...


@dataclass(frozen=True, slots=True)
class Means:
    """What the turns of one page run with: its models, and its own budgets by their settings' names."""

    readiness: Readiness
    budgets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call, or a summary that the turn waits for; ``result`` is None while it runs."""

    call: str
    name: str
    arguments: dict[str, Any]
    result: str | None = None
    ok: bool = True
    seconds: float = 0.0
    turns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """A job at one moment. ``waiting``: for the model; ``version`` rises with every event."""

    version: int = 0
    waiting: bool = True
    text: str = ""
    steps: tuple[Step, ...] = ()
    report: dict[str, Any] | None = None
    end: Done | Failed | None = None
    ended: bool = False


@dataclass(eq=False)
class Job:
    """One turn that runs. ``again``: the last turn tried again; ``turn``: its number.

    ``version``: another version of that turn, with the same question or, when ``edited``, with ``question``.
    ``means``: what it runs with; ``message``: its id in the outbox until the turn begins.
    """

    session: str
    question: str
    turn: int
    means: Means
    again: bool = False
    version: bool = False
    edited: bool = False
    message: int | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    started: float = 0.0
    _condition: threading.Condition = field(default_factory=threading.Condition)
    _progress: Progress = field(default_factory=Progress)

    @property
    def progress(self) -> Progress:
        return self._progress

    def change(self, **values: Any) -> None:
        """A step forward, seen by everyone who waits."""
        with self._condition:
            self._progress = replace(self._progress, version=self._progress.version + 1, **values)
            self._condition.notify_all()

    def wait(self, seen: int, timeout: float) -> Progress:
        """The progress as soon as it is newer than version ``seen``, or after ``timeout`` seconds as it is."""
        with self._condition:
            self._condition.wait_for(lambda: self._progress.version > seen, timeout)
            return self._progress


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that did not become a turn, and why (``error`` is None when the user stopped it before it began).

    ``again``: it was another try of a turn, so its text is in the transcript already. ``turn``: the turn that an
    edited text was to take the place of. ``message``: its id in the outbox, where it stays, among those that wait, when
    another turn begins.
    """

    text: str
    error: GieokError | None
    again: bool = False
    turn: int | None = None
    message: int | None = None


class Jobs:
    """The running turns of this process, at most one per session.

    Messages wait in the store's outbox. Those that were sent in this process follow by themselves; what an earlier one
    left waits for the user. ``means`` of a message: those of the page that it comes from, as they were then; by default
    those of the process.
    """

    def __init__(self, agent: Runs, readiness: Readiness, store: Store) -> None:
        self._agent = agent
        self._means = Means(readiness)
        self._store = store
        self._lock = threading.Lock()
        self._running: dict[str, Job] = {}
        self._following: dict[int, Means] = {}
        self._held: set[int] = set()
        self._refused: dict[str, Refused] = {}

    def of(self, session: str | None) -> Job | None:
        """The running turn of a session."""
        return self._running.get(session) if session else None

    def queued(self, session: str | None) -> list[Message]:
        """The messages that wait for the running turn or for the user, first to go first."""
        if not session:
            return []
        shown = [each.message for each in (self.of(session), self.refused(session)) if each is not None]
        return [each for each in self._store.outbox.of(session) if each.id not in (*self._held, *shown)]

    def refused(self, session: str | None) -> Refused | None:
        """The last message of a session that did not become a turn."""
        return self._refused.get(session) if session else None

    def hold(self, session: str, text: str) -> int:
        """Keeps a message that is sent later, when its files are in; returns its id. Raises what ``send`` raises."""
        message = self._kept(session, text)
        self._held.add(message)
        return message

    def send(self, session: str, text: str, means: Means | None = None, message: int | None = None) -> None:
        """Starts a turn, or queues the text behind the one that runs; ``message``: it is in the outbox already.

        Raises ``EmptyMessage``, ``SessionUnknown`` and what the store raises.
        """
        means = means or self._means
        message = self._kept(session, text) if message is None else message
        self._held.discard(message)
        with self._lock:
            known = self._store.session(session)
            self._refused.pop(session, None)
            if known.deleted is not None:
                self._refused[session] = Refused(text, SessionDeleted(session=session), message=message)
            elif session in self._running:
                self._following[message] = means
            else:
                self._start(Job(session, text, known.turn_count + 1, means, message=message))

    def retry(self, session: str, question: str, means: Means | None = None) -> None:
        """Runs the last turn again; nothing happens when a turn already runs."""
        means, number = means or self._means, self._store.session(session).turn_count
        with self._lock:
            if session not in self._running:
                self._refused.pop(session, None)
                self._start(Job(session, question, number, means, again=True))

    def again(
        self,
        session: str,
        number: int,
        question: str,
        edited: bool = False,
        means: Means | None = None,
        message: int | None = None,
    ) -> None:
        """Another version of a turn; ``edited``: with this question, and ``message`` if it is in the outbox already.

        Nothing happens when a turn already runs; an edited question then waits for the user. Raises what ``send``
        raises.
        """
        means = means or self._means
        if edited and message is None:
            message = self._kept(session, question, number)
        with self._lock:
            if session not in self._running:
                self._refused.pop(session, None)
                self._start(Job(session, question, number, means, version=True, edited=edited, message=message))

    def resend(self, message: Message, means: Means | None = None) -> None:
        """Sends a message that waits for the user."""
        if message.turn:
            self.again(message.session_id, message.turn, message.text, True, means, message.id)
        else:
            self.send(message.session_id, message.text, means, message.id)

    def withdraw(self, message: int) -> bool:
        """Takes a waiting message back; False when it was gone."""
        self._held.discard(message)
        self._following.pop(message, None)
        return self._store.outbox.remove(message)

    def dismiss(self, session: str) -> Refused | None:
        """Forgets the refused message and hands it out."""
        refused = self._refused.pop(session, None)
        if refused is not None and refused.message is not None:
            self._store.outbox.remove(refused.message)
        return refused

    def _kept(self, session: str, text: str, turn: int = 0) -> int:
        """Puts a message into the outbox."""
        if not clean(text).strip():
            raise EmptyMessage
        self._store.session(session)
        return self._store.outbox.add(session, text, turn)

    def _start(self, job: Job) -> None:
        job.started = time.monotonic()
        self._running[job.session] = job
        threading.Thread(target=self._work, args=(job,), name=f"turn-{job.session}", daemon=True).start()

    def _work(self, job: Job) -> None:
        try:
            for event in self._events(job):
                _apply(job, event)
        except GieokError as error:
            self._refuse(job, error)
        except Exception as error:
            log.error("turn %d ended unexpectedly: %s", job.turn, trace(error))
            self._refuse(job, Unexpected(kind=type(error).__name__))
        finally:
            self._end(job)

    def _events(self, job: Job) -> Iterator[Event]:
        if not job.means.readiness.wait(job.stop):
            self._refuse(job, None)
            return
        job.change(waiting=False)
        agent = self._agent.using(job.means.readiness.models(), job.means.budgets)
        if job.version:
            text = job.question if job.edited else None
            yield from agent.again(job.session, job.turn, text, stop=job.stop)
        elif job.again:
            yield from agent.retry(job.session, stop=job.stop)
        else:
            yield from agent.run(job.session, job.question, stop=job.stop)

    def _refuse(self, job: Job, error: GieokError | None) -> None:
        again = job.again or (job.version and not job.edited)
        turn = job.turn if job.edited else None
        self._refused[job.session] = Refused(job.question, error, again, turn, job.message)

    def _end(self, job: Job) -> None:
        """Starts the next queued message, unless this one failed: then it waits until the user decides."""
        with self._lock:
            failed = job.session in self._refused or isinstance(job.progress.end, Failed)
            try:
                following = None if failed else self._next(job.session)
            except GieokError as error:  # the messages stay in the outbox
                log.error("what waits behind turn %d could not be read: %s", job.turn, error.code)
                following = None
            if following is None:
                del self._running[job.session]
            else:  # in its place: nobody sees the session idle in between
                self._start(following)
        job.change(ended=True)

    def _next(self, session: str) -> Job | None:
        """The turn of the message that follows; none in a session that was deleted meanwhile."""
        known = self._store.session(session)
        waiting = [each for each in self._store.outbox.of(session) if each.id in self._following]
        if not waiting or known.deleted is not None:
            return None
        first = waiting[0]
        means = self._following.pop(first.id)
        return Job(session, first.text, known.turn_count + 1, means, message=first.id)


def _apply(job: Job, event: Event) -> None:
    """One event of the turn, as the page sees it."""
    now = job.progress
    match event:
        case Token(text):
            job.change(text=now.text + text)
        case ToolStarted(call, name, arguments):
            job.change(steps=(*now.steps, Step(call, name, arguments)))
        case ToolFinished(call=call, result=result, ok=ok, seconds=seconds):
            job.change(steps=_finished(now.steps, call, result, ok, seconds))
        case SummaryStarted(turns):
            job.change(steps=(*now.steps, Step(f"summary-{turns}", "summary", {}, turns=turns)))
        case SummaryLater(turns):
            later = Step(f"later-{turns}", "summary_later", {}, result="", turns=turns)
            job.change(steps=(*now.steps, later))
        case SummaryMade(turns=turns, error=error, seconds=seconds):
            job.change(steps=_finished(now.steps, f"summary-{turns}", error or "", error is None, seconds))
        case ContextBuilt(report):
            job.change(report=report.plain())
        case Done() | Failed():
            job.change(end=event)


def _finished(steps: tuple[Step, ...], call: str, result: str, ok: bool, seconds: float) -> tuple[Step, ...]:
    return tuple(
        replace(step, result=result, ok=ok, seconds=seconds) if step.call == call and step.result is None else step
        for step in steps
    )
