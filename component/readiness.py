"""Getting the model ready, once per process, while the page already answers: look, fetch, load, ready or failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from errors import (
    DiskFull,
    EmbeddedFailed,
    GieokError,
    Unexpected,
    WeightsCancelled,
    WeightsCorrupt,
    WeightsMissing,
    trace,
)
from model.modelset import ModelSet
from model.weights import Progress

log = logging.getLogger(__name__)
State = Literal["looking", "fetching", "loading", "ready", "failed"]

_OF_EMBEDDED = (DiskFull, EmbeddedFailed, WeightsCancelled, WeightsCorrupt, WeightsMissing)

Resolve = Callable[[Callable[[Progress], None]], ModelSet]


@dataclass(frozen=True, slots=True)
class Status:
    """Where the model stands. ``fetched`` while its weights arrive; ``error`` when it could not be had."""

    state: State
    models: ModelSet | None = None
    fetched: Progress | None = None
    error: GieokError | None = None

    @property
    def extracts(self) -> bool:
        """Whether code makes summaries and memory, so that the model's words for them are there only on request."""
        side = self.models.side if self.models else None
        return side is not None and "extracted" in (side.summaries, side.folds)

    @property
    def settled(self) -> bool:
        """Whether nothing is under way."""
        return self.state in ("ready", "failed")


class Readiness:
    """Models that are had once. ``resolve`` finds them and may take minutes; it runs in a thread of its own.

    ``cancelled``: set when the fetching of weights is to stop; a new attempt has a new one.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self.cancelled = threading.Event()
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._status = Status("looking")

    @property
    def status(self) -> Status:
        return self._status

    @property
    def is_embedded(self) -> bool:
        """Whether it came down to the embedded model, as far as is known by now."""
        now = self._status
        kind = now.models.kind if now.models else None
        return kind == "embedded" or now.fetched is not None or isinstance(now.error, _OF_EMBEDDED)

    def start(self) -> None:
        """Begins, or begins again after a failure; a running attempt goes on."""
        with self._condition:
            if self._status.state == "ready" or (self._thread is not None and self._thread.is_alive()):
                return
            self._status = Status("looking")
            self.cancelled = threading.Event()
            self._thread = threading.Thread(target=self._run, name="models", daemon=True)
            self._thread.start()

    @property
    def started(self) -> bool:
        """Whether it was ever asked for."""
        return self._thread is not None

    def cancel(self) -> None:
        """Stops fetching weights; what has arrived is kept."""
        self.cancelled.set()

    def wait(self, stop: threading.Event) -> bool:
        """Waits until the models are there; False when ``stop`` came first. Raises what kept them away."""
        if self._status.state != "ready":
            self.start()
        while not (now := self._status).settled:
            if stop.is_set():
                return False
            with self._condition:
                self._condition.wait(0.2)
        if now.error is not None:
            raise now.error
        return True

    def models(self) -> ModelSet:
        """The models, waited for. Raises ``OperatorError`` and its like when they cannot be had."""
        self.wait(threading.Event())
        found = self._status.models
        assert found is not None  # settled without an error
        return found

    def _run(self) -> None:
        try:
            self._set(Status("ready", models=self._resolve(self._fetched)))
        except GieokError as error:
            self._set(Status("failed", error=error))
        except Exception as error:
            log.error("the model could not be made ready: %s", trace(error))
            self._set(Status("failed", error=Unexpected(kind=type(error).__name__)))

    def _fetched(self, progress: Progress) -> None:
        whole = progress.total > 0 and progress.done >= progress.total
        self._set(Status("loading" if whole else "fetching", fetched=progress))

    def _set(self, status: Status) -> None:
        with self._condition:
            self._status = status
            self._condition.notify_all()
