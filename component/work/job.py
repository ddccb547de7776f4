"""Runs turns apart from the page that shows them.

A turn belongs to a thread of this process, not to a script run: a slider move, a refresh or a lost connection neither
ends the turn nor loses it. The page finds the job again and follows it (design 8.2). Nothing here calls Streamlit.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial
from typing import Any, Protocol, Self, assert_never

from component.work.readiness import Readiness
from errors import Empty, GieokError, KeyRejected, SessionDeleted, ensure_gieok_error
from graph.turn.event import (
    ContextBuilt,
    Done,
    Event,
    Failed,
    SummaryLater,
    SummaryMade,
    SummaryStarted,
    Thought,
    Token,
    ToolFinished,
    ToolStarted,
    TurnQuestions,
)
from graph.turn.request import Request
from model.modelset import ModelSet
from store import Store, TurnRow
from store.turn.outbox import WaitingMessage
from store.turn.question import UserAnswer
from text.clean import clean_text

log = logging.getLogger(__name__)


class TurnRunner(Protocol):
    """The part of the agent that jobs need."""

    def using(self, models: ModelSet | None, budgets: Mapping[str, int] | None = None) -> Self: ...

    def in_zone(self, zone: tzinfo | None) -> Self: ...

    def turn(
        self, request: Request, stop: threading.Event, emit: Callable[[Event], None]
    ) -> TurnQuestions | Done | Failed: ...


@dataclass(frozen=True, slots=True)
class Means:
    """The models that the turns of one page run with, the page's own token budgets by their settings' names, and the
    zone of its reader; None: of this machine."""

    readiness: Readiness
    budgets: Mapping[str, int] = field(default_factory=dict)
    zone: tzinfo | None = None


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """A tool call, or a summary that the turn waits for; ``result`` is None while it runs. ``read_sampled_calls``: what
    a foreign server asked our utility model meanwhile, and the answers."""

    call: str
    name: str
    arguments: dict[str, Any]
    result: str | None = None
    ok: bool = True
    seconds: float = 0.0
    turns: tuple[int, ...] = ()
    sampled: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class JobProgress:
    """The state of a job at one moment. ``waiting``: for the model; ``version`` rises with every event; ``end``: the
    turn's last event; ``ended``: the job is over, also without a turn. ``thought``: what the model has thought, for
    ``thought_seconds``; ``moves``: how often text turned out to be thought, so that the text began anew."""

    version: int = 0
    waiting: bool = True
    text: str = ""
    thought: str = ""
    thought_seconds: float = 0.0
    moves: int = 0
    steps: tuple[AnswerStep, ...] = ()
    report: dict[str, Any] | None = None
    end: TurnQuestions | Done | Failed | None = None
    ended: bool = False


@dataclass(eq=False)
class Job:
    """A running turn.

    ``request``: the agent's task; ``question``: the text that the page shows; ``turn``: the turn's number. ``means``:
    the models and budgets of the turn; ``message``: its id in the outbox until the turn begins.
    """

    request: Request
    question: str
    turn: int
    means: Means
    message: int | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    started: float = 0.0
    _condition: threading.Condition = field(default_factory=threading.Condition)
    _progress: JobProgress = field(default_factory=JobProgress)

    @property
    def session(self) -> str:
        return self.request.session

    @property
    def progress(self) -> JobProgress:
        return self._progress

    def change(self, **values: Any) -> None:
        """Changes these values of the progress and wakes every thread that waits for it."""
        with self._condition:
            self._progress = replace(self._progress, version=self._progress.version + 1, **values)
            self._condition.notify_all()

    def wait(self, seen: int, timeout: float) -> JobProgress:
        """Returns the progress as soon as it is newer than version ``seen``, or after ``timeout`` seconds as it is."""
        with self._condition:
            self._condition.wait_for(lambda: self._progress.version > seen, timeout)
            return self._progress


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    """A message that did not become a turn. ``error``: why; None when the user stopped it before the turn began.

    ``again``: the message was another try of a turn, so its text is in the transcript already. ``turn``: the turn that
    an edited text was to replace. ``message``: its id in the outbox, where it goes on waiting when another turn begins.
    """

    text: str
    error: GieokError | None
    again: bool = False
    turn: int | None = None
    message: int | None = None


class Jobs:
    """The running turns of this process, at most one per session.

    Messages wait in the store's outbox. Messages that this process queued are sent one after the other; messages that
    an earlier process left wait for the user. ``means`` of a message: the models and budgets of its page when it was
    queued; by default those of the process.
    """

    def __init__(self, agent: TurnRunner, readiness: Readiness, store: Store) -> None:
        self._agent = agent
        self._means = Means(readiness)
        self._store = store
        self._lock = threading.Lock()
        self._running: dict[str, Job] = {}
        self._following: dict[int, Means] = {}
        self._held: set[int] = set()
        self._refused: dict[str, RefusedMessage] = {}

    def of(self, session: str | None) -> Job | None:
        """Returns the running turn of a session, else None."""
        return self._running.get(session) if session else None

    def list_queued(self, session: str | None) -> list[WaitingMessage]:
        """Returns the messages that wait for the running turn or for the user, the next one first."""
        if not session:
            return []
        shown = [each.message for each in (self.of(session), self.find_refused(session)) if each is not None]
        return [each for each in self._store.outbox.of(session) if each.id not in (*self._held, *shown)]

    def find_refused(self, session: str | None) -> RefusedMessage | None:
        """Returns the last message of a session that did not become a turn, else None."""
        return self._refused.get(session) if session else None

    def hold(self, session: str, text: str) -> int:
        """Stores a message that is sent later, when its files are read; returns its id. Raises as ``send`` does."""
        message = self._store_message(session, text)
        self._held.add(message)
        return message

    def send(self, session: str, text: str, means: Means | None = None, message: int | None = None) -> None:
        """Starts a turn, or queues the text behind the running turn. ``message``: the id of a text that is in the
        outbox already.

        Raises ``Empty``, ``SessionUnknown`` and what the store raises.
        """
        means = means or self._means
        message = self._store_message(session, text) if message is None else message
        self._held.discard(message)
        with self._lock:
            stored = self._store.session(session)
            self._refused.pop(session, None)
            if stored.deleted is not None:
                self._refused[session] = RefusedMessage(text, SessionDeleted(session=session), message=message)
            elif session in self._running:
                self._following[message] = means
            else:
                self._start(_build_new_job(session, text, stored.turn_count + 1, means, message))

    def retry(self, session: str, question: str, means: Means | None = None) -> None:
        """Runs the last turn again; does nothing while a turn runs."""
        means, number = means or self._means, self._store.session(session).turn_count
        with self._lock:
            if session not in self._running:
                self._refused.pop(session, None)
                self._start(Job(Request(session, "retry", asks=True, cites=True), question, number, means))

    def answer(self, turn: TurnRow, answers: Mapping[str, UserAnswer], means: Means | None = None) -> None:
        """Goes on with a turn that waits for the user; does nothing while a turn runs."""
        request = Request(turn.session_id, "resume", answers=answers, asks=True, cites=True)
        with self._lock:
            if turn.session_id not in self._running:
                self._refused.pop(turn.session_id, None)
                self._start(Job(request, turn.question, turn.number, means or self._means))

    def again(
        self,
        session: str,
        number: int,
        question: str,
        edited: bool = False,
        means: Means | None = None,
        message: int | None = None,
    ) -> None:
        """Starts another version of a turn. ``edited``: with this question; ``message``: its id if it is in the outbox
        already.

        Does nothing while a turn runs; an edited question then waits for the user. Raises what ``send`` raises.
        """
        means = means or self._means
        if edited and message is None:
            message = self._store_message(session, question, number)
        with self._lock:
            if session not in self._running:
                self._refused.pop(session, None)
                request = Request(session, "edited" if edited else "again", question, number, asks=True, cites=True)
                self._start(Job(request, question, number, means, message))

    def resend(self, message: WaitingMessage, means: Means | None = None) -> None:
        """Sends a message that waits for the user."""
        if message.turn:
            self.again(message.session_id, message.turn, message.text, True, means, message.id)
        else:
            self.send(message.session_id, message.text, means, message.id)

    def can_interrupt(self, message: WaitingMessage) -> bool:
        """Returns whether a waiting message is the one that follows the running answer, which the model writes by
        now: a turn that has no model yet would become a refused message."""
        job = self.of(message.session_id)
        return job is not None and not job.progress.waiting and message.id in self._following

    def interrupt(self, message: WaitingMessage) -> None:
        """Stops the running answer for the message that follows it; does nothing once that message has been sent."""
        with self._lock:
            job = self._running.get(message.session_id)
            if job is not None and message.id in self._following:
                job.stop.set()

    def withdraw(self, message: int) -> bool:
        """Takes a waiting message back; returns False when it was gone."""
        self._held.discard(message)
        self._following.pop(message, None)
        return self._store.outbox.remove(message)

    def end(self, seconds: float) -> None:
        """Stops every turn and sends no waiting message; waits at most ``seconds`` until all turns have ended."""
        with self._lock:
            self._following.clear()
            running = [*self._running.values()]
        until = time.monotonic() + seconds
        for job in running:
            job.stop.set()
        for job in running:
            while not job.progress.ended and time.monotonic() < until:
                job.wait(job.progress.version, 0.1)

    def dismiss(self, session: str) -> RefusedMessage | None:
        """Forgets the refused message, removes it from the outbox and returns it."""
        refused = self._refused.pop(session, None)
        if refused is not None and refused.message is not None:
            self._store.outbox.remove(refused.message)
        return refused

    def _store_message(self, session: str, text: str, turn: int = 0) -> int:
        """Puts a message into the outbox; returns its id."""
        if not clean_text(text).strip():
            raise Empty(what="message")
        self._store.session(session)
        return self._store.outbox.add(session, text, turn)

    def _start(self, job: Job) -> None:
        job.started = time.monotonic()
        self._running[job.session] = job
        threading.Thread(target=self._work, args=(job,), name=f"turn-{job.session}", daemon=True).start()

    def _work(self, job: Job) -> None:
        try:
            self._run(job)
        except Exception as error:
            self._refuse(job, ensure_gieok_error(error, log, f"turn {job.turn}"))
        finally:
            self._end(job)

    def _run(self, job: Job) -> None:
        """Runs the turn in this thread, as soon as its models are ready."""
        if not job.means.readiness.wait(job.stop):
            self._refuse(job, None)
            return
        job.change(waiting=False)
        agent = self._agent.using(job.means.readiness.models(), job.means.budgets).in_zone(job.means.zone)
        ended = agent.turn(job.request, job.stop, partial(_apply_turn_event, job))
        _apply_turn_event(job, ended)
        if isinstance(ended, Failed) and ended.code == KeyRejected.code:
            job.means.readiness.reject(KeyRejected(**ended.values))
        elif isinstance(ended, Done | Failed):
            job.means.readiness.note_call(ended)

    def _refuse(self, job: Job, error: GieokError | None) -> None:
        kind = job.request.kind
        turn = job.turn if kind == "edited" else None
        self._refused[job.session] = RefusedMessage(
            job.question, error, kind in ("retry", "again", "resume"), turn, job.message
        )

    def _end(self, job: Job) -> None:
        """Starts the next queued message; if this turn failed or waits for the user, the message waits, too."""
        with self._lock:
            failed = job.session in self._refused or isinstance(job.progress.end, TurnQuestions | Failed)
            try:
                following = None if failed else self._next(job.session)
            except GieokError as error:  # the messages stay in the outbox
                log.error("what waits behind turn %d could not be read: %s", job.turn, error.code)
                following = None
            if following is None:
                del self._running[job.session]
            else:  # takes this job's place, so that nobody sees the session idle in between
                self._start(following)
        job.change(ended=True)

    def _next(self, session: str) -> Job | None:
        """Returns the job of the next message that follows by itself; None in a session that was deleted meanwhile."""
        stored = self._store.session(session)
        waiting = [message for message in self._store.outbox.of(session) if message.id in self._following]
        if not waiting or stored.deleted is not None:
            return None
        first = waiting[0]
        means = self._following.pop(first.id)
        return _build_new_job(session, first.text, stored.turn_count + 1, means, first.id)


def _build_new_job(session: str, text: str, number: int, means: Means, message: int) -> Job:
    return Job(Request(session, "new", text, asks=True, cites=True), text, number, means, message)


def _apply_turn_event(job: Job, event: Event) -> None:
    """Applies one event of the turn to the progress that the page sees."""
    now = job.progress
    match event:
        case Token(text):
            job.change(text=now.text + text)
        case Thought(text, seconds, moved):
            kept = {"text": "", "moves": now.moves + 1} if moved else {}
            job.change(thought=now.thought + text, thought_seconds=seconds, **kept)
        case ToolStarted(call, name, arguments):
            job.change(steps=(*now.steps, AnswerStep(call, name, arguments)))
        case ToolFinished(call=call, result=result, ok=ok, seconds=seconds, artifact=artifact):
            job.change(steps=_finish_step(now.steps, call, result, ok, seconds, read_sampled_calls(artifact)))
        case SummaryStarted(turns):
            job.change(steps=(*now.steps, AnswerStep(f"summary-{turns}", "summary", {}, turns=turns)))
        case SummaryLater(turns):
            later = AnswerStep(f"later-{turns}", "summary_later", {}, result="", turns=turns)
            job.change(steps=(*now.steps, later))
        case SummaryMade(turns=turns, error=error, seconds=seconds):
            job.change(steps=_finish_step(now.steps, f"summary-{turns}", error or "", error is None, seconds))
        case ContextBuilt(report):
            job.change(report=report.plain())
        case TurnQuestions() | Done() | Failed():
            job.change(end=event)
        case _:
            assert_never(event)


def read_sampled_calls(artifact: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Returns what a foreign server asked our utility model during a call, with the answers; a step of an imported
    conversation may hold anything."""
    asked = (artifact or {}).get("sampled")
    pairs = [one for one in asked if isinstance(one, Mapping)] if isinstance(asked, list) else []
    return tuple((str(one.get("asked", "")), str(one.get("answered", ""))) for one in pairs)


def _finish_step(
    steps: tuple[AnswerStep, ...],
    call: str,
    result: str,
    ok: bool,
    seconds: float,
    asked: tuple[tuple[str, str], ...] = (),
) -> tuple[AnswerStep, ...]:
    ended = {"result": result, "ok": ok, "seconds": seconds, "sampled": asked}
    return tuple(
        replace(step, **ended) if step.call == call and step.result is None else step  # type: ignore[arg-type]
        for step in steps
    )
