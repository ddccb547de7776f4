"""Long work on the library: adding files, reading files again, rebuilding the index.

The work belongs to this process, not to a page: a refresh or another page finds it again. One piece of work runs while
the others wait. A question that came with files is sent when the files are read. Nothing here calls Streamlit.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from errors import GieokError, ensure_gieok_error
from graph.answer import documents
from retrieval import Added, AddingProgress

log = logging.getLogger(__name__)
Kind = Literal["own", "add", "pages", "reindex", "rebuild"]
State = Literal["waiting", "running", "done"]
KEPT = 5
"""Finished pieces of work that are still listed."""


@dataclass(frozen=True, slots=True)
class WaitingQuestion:
    """A question that waits for its files. ``send`` asks the question, ``withdraw`` takes it back instead. ``message``:
    its id in the outbox."""

    session: str
    text: str
    send: Callable[[], None]
    withdraw: Callable[[], object] = lambda: None
    message: int = 0


@dataclass(eq=False)
class Intake:
    """One piece of work on the library. When ``done``, it has a ``result`` or an ``error``.

    ``names``: the names of the files as they came; ``asked``: the question was sent or taken back; ``session``: the
    conversation that the files belong to, '' for the user's own documents.
    """

    id: int
    kind: Kind
    names: tuple[str, ...]
    work: Callable[[Intake], Added | None]
    question: WaitingQuestion | None = None
    session: str = ""
    asked: bool = False
    state: State = "waiting"
    progress: AddingProgress | None = None
    result: Added | None = None
    error: GieokError | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def share(self) -> float:
        """Returns the share of the work that is done, from 0 to 1."""
        at = self.progress
        if at is None:
            return 0.0
        in_file = at.passage / at.passages if at.passages else 0.0
        return min(1.0, (at.file - 1 + in_file) / max(1, at.files))


class Intakes:
    """The work on the library in this process.

    Work that returns None leaves the list: there was nothing to do.
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
        question: WaitingQuestion | None = None,
        session: str = "",
    ) -> Intake:
        """Runs ``work`` when all earlier work has ended. ``work`` calls ``report`` and watches its ``stop``."""
        with self._changed:
            intake = Intake(next(self._numbers), kind, tuple(names), work, question, session)
            done = [old for old in self._all if old.state == "done"]
            self._all = [old for old in self._all if old not in done[: max(0, len(done) - KEPT + 1)]] + [intake]
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="library", daemon=True)
                self._thread.start()
            self._touch()
        return intake

    def all(self) -> list[Intake]:
        """Returns the work that runs, waits, or has ended and was not dismissed; oldest first."""
        with self._changed:
            return list(self._all)

    def of(self, session: str | None) -> list[Intake]:
        """Returns the work on the files of one conversation; '': the work on documents of no conversation."""
        return [intake for intake in self.all() if intake.session == session]

    @property
    def version(self) -> int:
        """Returns a number that rises with every change."""
        return self._version

    def wait(self, seen: int, timeout: float) -> int:
        """Returns the version as soon as it is newer than ``seen``, or after ``timeout`` seconds as it is."""
        with self._changed:
            self._changed.wait_for(lambda: self._version > seen, timeout)
            return self._version

    def report(self, intake: Intake, progress: AddingProgress) -> None:
        """Sets the progress of a piece of work."""
        with self._changed:
            intake.progress = progress
            self._touch()

    def cancel(self, intake: Intake) -> None:
        """Ends running work after the passage that is being embedded, waiting work at once; finished parts stay."""
        intake.stop.set()
        with self._changed:
            if intake.state == "waiting":
                intake.state = "done"
                intake.result = Added(cancelled=True)
            self._touch()
        if intake.state == "done":
            self.ask(intake)

    def dismiss(self, intake: Intake) -> None:
        """Removes ended work from the list."""
        with self._changed:
            self._all = [listed for listed in self._all if listed is not intake or listed.state != "done"]
            self._touch()

    def take_back(self, intake: Intake) -> WaitingQuestion | None:
        """Returns the question that waits for this work, or None; the question is then no longer asked."""
        with self._changed:
            question, intake.asked = None if intake.asked else intake.question, True
            self._touch()
        return question

    def ask(self, intake: Intake) -> None:
        """Asks the waiting question now, once. Raises what ``send`` raises."""
        question = self.take_back(intake)
        if question is not None:
            question.send()

    def _work(self) -> None:
        documents.step_behind()
        while (intake := self._next()) is not None:
            try:
                intake.result = intake.work(intake)
            except Exception as error:
                intake.error = ensure_gieok_error(error, log, "work on the library")
            self._end(intake)

    def _next(self) -> Intake | None:
        with self._changed:
            intake = next((listed for listed in self._all if listed.state == "waiting"), None)
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
