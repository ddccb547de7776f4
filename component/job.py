"""Running turns, apart from the page that shows them.

A turn belongs to a thread of this process, not to a script run: a slider move, a refresh or a lost connection
neither ends it nor loses it; the page finds the job again and follows it (facts: ui.md §1.3). Nothing here calls
Streamlit.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from component.readiness import Readiness
from errors import GieokError, Unexpected, trace
from graph.event import (
    ContextBuilt,
    Done,
    Event,
    Failed,
    SummaryMade,
    SummaryStarted,
    Token,
    ToolFinished,
    ToolStarted,
)
from model.modelset import ModelSet

log = logging.getLogger(__name__)


class Runs(Protocol):
    """What a job needs of the agent."""

    def run(
        self, session_id: str, text: str, *, stop: threading.Event | None = None, models: ModelSet | None = None
    ) -> Iterator[Event]: ...

    def retry(
        self, session_id: str, *, stop: threading.Event | None = None, models: ModelSet | None = None
    ) -> Iterator[Event]: ...

    def again(
        self,
        session_id: str,
        number: int,
        text: str | None = None,
        *,
        stop: threading.Event | None = None,
        models: ModelSet | None = None,
    ) -> Iterator[Event]: ...


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
    ``readiness``: the models it runs with.
    """

    session: str
    question: str
    turn: int
    readiness: Readiness
    again: bool = False
    version: bool = False
    edited: bool = False
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
    edited text was to take the place of.
    """

    text: str
    error: GieokError | None
    again: bool = False
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for the running turn, and the models of the page that sent it."""

    text: str
    readiness: Readiness


class Jobs:
    """The running turns of this process, at most one per session, and the messages that wait behind them.

    ``readiness`` of a message: the models of the page that it comes from; by default those of the process.
    """

    def __init__(self, agent: Runs, readiness: Readiness, turn_count: Callable[[str], int]) -> None:
        self._agent = agent
        self._readiness = readiness
        self._turn_count = turn_count
        self._lock = threading.Lock()
        self._running: dict[str, Job] = {}
        self._queued: dict[str, list[Waiting]] = {}
        self._refused: dict[str, Refused] = {}

    def of(self, session: str | None) -> Job | None:
        """The running turn of a session."""
        return self._running.get(session) if session else None

    def queued(self, session: str | None) -> list[str]:
        """The messages that wait for the running turn, first to go first."""
        return [each.text for each in self._queued.get(session, ())] if session else []

    def refused(self, session: str | None) -> Refused | None:
        """The last message of a session that did not become a turn."""
        return self._refused.get(session) if session else None

    def send(self, session: str, text: str, readiness: Readiness | None = None) -> None:
        """Starts a turn, or queues the text behind the one that runs."""
        models = readiness or self._readiness
        with self._lock:
            self._refused.pop(session, None)
            if session in self._running:
                self._queued.setdefault(session, []).append(Waiting(text, models))
                return
            self._start(Job(session, text, self._turn_count(session) + 1, models))

    def retry(self, session: str, question: str, readiness: Readiness | None = None) -> None:
        """Runs the last turn again; nothing happens when a turn already runs."""
        models = readiness or self._readiness
        with self._lock:
            if session not in self._running:
                self._start(Job(session, question, self._turn_count(session), models, again=True))

    def again(
        self, session: str, number: int, question: str, edited: bool = False, readiness: Readiness | None = None
    ) -> None:
        """Another version of a turn; ``edited``: with this question. Nothing happens when a turn already runs."""
        models = readiness or self._readiness
        with self._lock:
            if session not in self._running:
                self._refused.pop(session, None)
                self._start(Job(session, question, number, models, version=True, edited=edited))

    def withdraw(self, session: str, index: int) -> str | None:
        """Takes a queued message back."""
        with self._lock:
            waiting = self._queued.get(session, [])
            return waiting.pop(index).text if index < len(waiting) else None

    def dismiss(self, session: str) -> Refused | None:
        """Forgets the refused message and hands it out."""
        with self._lock:
            return self._refused.pop(session, None)

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
        if not job.readiness.wait(job.stop):
            self._refuse(job, None)
            return
        job.change(waiting=False)
        models = job.readiness.models()
        if job.version:
            text = job.question if job.edited else None
            yield from self._agent.again(job.session, job.turn, text, stop=job.stop, models=models)
        elif job.again:
            yield from self._agent.retry(job.session, stop=job.stop, models=models)
        else:
            yield from self._agent.run(job.session, job.question, stop=job.stop, models=models)

    def _refuse(self, job: Job, error: GieokError | None) -> None:
        again = job.again or (job.version and not job.edited)
        self._refused[job.session] = Refused(job.question, error, again, job.turn if job.edited else None)

    def _end(self, job: Job) -> None:
        """Starts the next queued message, unless this one failed: then it waits until the user decides."""
        with self._lock:
            del self._running[job.session]
            failed = job.session in self._refused or isinstance(job.progress.end, Failed)
            waiting = self._queued.get(job.session, [])
            if waiting and not failed:
                following = waiting.pop(0)
                self._start(Job(job.session, following.text, job.turn + 1, following.readiness))
        job.change(ended=True)


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
