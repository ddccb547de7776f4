"""Work on the library that takes its time: files in, files read again, the index rebuilt.

It belongs to this process, not to a page: a refresh or another page finds it again. One piece of work runs, the others
wait. A question that came with files is sent when they are in. Nothing here calls Streamlit.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from errors import GieokError, Unexpected, trace
from graph import documents
from retrieval import Added, Progress

log = logging.getLogger(__name__)
Kind = Literal["own", "add", "reindex", "rebuild"]
State = Literal["waiting", "running", "done"]
KEPT = 5
"""Finished pieces of work that are still told."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be asked once the files are in, how it is sent, and how it is taken back instead."""

    session: str
    text: str
    send: Callable[[], None]
    withdraw: Callable[[], object] = lambda: None


@dataclass(eq=False)
class Intake:
    """One piece of work. ``result`` of what was done, or ``error``, when it is ``done``.

    ``names``: of the files as they came; ``asked``: the question was sent or taken back.
    """

    id: int
    kind: Kind
    names: tuple[str, ...]
    work: Callable[[Intake], Added | None]
    question: Question | None = None
    asked: bool = False
    state: State = "waiting"
    progress: Progress | None = None
    result: Added | None = None
    error: GieokError | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        at = self.progress
        if at is None:
            return 0.0
        inside = at.passage / at.passages if at.passages else 0.0
        return min(1.0, (at.file - 1 + inside) / max(1, at.files))


class Intakes:
    """The work on the library in this process.

    Work that gives None is forgotten: there was nothing to do.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._all: list[Intake] = []
        self._numbers = count(1)
        self._version = 0
        self._thread: threading.Thread | None = None

    def start(
        self,
        kind: Kind,
        names: Sequence[str],
        work: Callable[[Intake], Added | None],
        question: Question | None = None,
    ) -> Intake:
        """Runs ``work`` after what runs already. It reports with ``progress`` and looks at its ``stop``."""
        with self._changed:
            intake = Intake(next(self._numbers), kind, tuple(names), work, question)
            done = [each for each in self._all if each.state == "done"]
            self._all = [each for each in self._all if each not in done[: max(0, len(done) - KEPT + 1)]] + [intake]
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="library", daemon=True)
                self._thread.start()
            self._touch()
        return intake

    def all(self) -> list[Intake]:
        """What runs, waits, or ended and was not dismissed; oldest first."""
        with self._changed:
            return list(self._all)

    @property
    def version(self) -> int:
        """Rises with every change."""
        return self._version

    def wait(self, seen: int, timeout: float) -> int:
        """The version as soon as it is newer than ``seen``, or after ``timeout`` seconds as it is."""
        with self._changed:
            self._changed.wait_for(lambda: self._version > seen, timeout)
            return self._version

    def report(self, intake: Intake, progress: Progress) -> None:
        """How far it is."""
        with self._changed:
            intake.progress = progress
            self._touch()

    def cancel(self, intake: Intake) -> None:
        """Ends it after the passage being embedded; what is done stays. What only waits ends at once."""
        intake.stop.set()
        with self._changed:
            if intake.state == "waiting":
                intake.state = "done"
                intake.result = Added(cancelled=True)
            self._touch()
        if intake.state == "done":
            self.ask(intake)

    def dismiss(self, intake: Intake) -> None:
        """No longer tells that it ended."""
        with self._changed:
            self._all = [each for each in self._all if each is not intake or each.state != "done"]
            self._touch()

    def take_back(self, intake: Intake) -> Question | None:
        """The question that waits for it, which is then not asked."""
        with self._changed:
            question, intake.asked = None if intake.asked else intake.question, True
            self._touch()
        return question

    def ask(self, intake: Intake) -> None:
        """Asks the question now, once. Raises what ``send`` raises."""
        question = self.take_back(intake)
        if question is not None:
            question.send()

    def _work(self) -> None:
        documents.step_behind()
        while (intake := self._next()) is not None:
            try:
                intake.result = intake.work(intake)
            except GieokError as error:
                intake.error = error
            except Exception as error:
                log.error("work on the library ended unexpectedly: %s", trace(error))
                intake.error = Unexpected(kind=type(error).__name__)
            self._end(intake)

    def _next(self) -> Intake | None:
        with self._changed:
            intake = next((each for each in self._all if each.state == "waiting"), None)
            if intake is None:
                self._thread = None
            else:
                intake.state = "running"
            self._touch()
            return intake

    def _end(self, intake: Intake) -> None:
        try:
            self.ask(intake)
        except GieokError as error:
            intake.error = intake.error or error
        with self._changed:
            intake.state = "done"
            if intake.result is None and intake.error is None:
                self._all.remove(intake)
            self._touch()

    def _touch(self) -> None:
        self._version += 1
        self._changed.notify_all()
