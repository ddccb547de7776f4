"""Makes the models ready while the page already answers: looks for them, fetches and loads them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from errors import (
    DiskFull,
    EmbeddedFailed,
    GieokError,
    ModelBroken,
    ModelOverloaded,
    ModelPaused,
    ModelServerError,
    ModelTimeout,
    ModelUnknown,
    ModelUnreachable,
    NoCredit,
    WeightsCancelled,
    WeightsCorrupt,
    WeightsMissing,
    ensure_gieok_error,
)
from graph.turn.event import Done, Failed
from model.call.stream import Stopped
from model.embedded.weights import FetchProgress
from model.modelset import ModelSet

log = logging.getLogger(__name__)
State = Literal["looking", "fetching", "loading", "ready", "failed"]

_OF_EMBEDDED = (DiskFull, EmbeddedFailed, WeightsCancelled, WeightsCorrupt, WeightsMissing)

_NO_ANSWER = (
    EmbeddedFailed,
    ModelBroken,
    ModelOverloaded,
    ModelPaused,
    ModelServerError,
    ModelTimeout,
    ModelUnknown,
    ModelUnreachable,
    NoCredit,
    WeightsCorrupt,
    WeightsMissing,
)
"""The errors of a call that say something about the model's server, not about the message; every class by its name,
because an event has only the code."""

Resolve = Callable[[Callable[[FetchProgress], None]], ModelSet]


@dataclass(frozen=True, slots=True)
class LastCall:
    """How the last call of the model ended. ``when``: seconds since 1970; ``code``, ``message``, ``values``: of the
    error, empty when the model answered."""

    when: float
    code: str = ""
    message: str = ""
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """The state of the models. ``fetched``: the progress of the weights' download; ``error``: why the models failed,
    None when their test was stopped. ``last_call``: how the last call of models that are ready ended. ``looked``: when
    the models were looked for last, in seconds since 1970; 0 while that goes on."""

    state: State
    models: ModelSet | None = None
    fetched: FetchProgress | None = None
    error: GieokError | None = None
    last_call: LastCall | None = None
    looked: float = 0

    @property
    def is_away(self) -> bool:
        """Returns whether models that were ready have not answered the last call."""
        return self.state == "ready" and self.last_call is not None and bool(self.last_call.code)

    @property
    def extracts(self) -> bool:
        """Returns whether code makes summaries and memory, so that the model writes them only on request."""
        side = self.models.side if self.models else None
        return side is not None and "extracted" in (side.summaries, side.folds)

    @property
    def is_settled(self) -> bool:
        """Returns whether nothing is under way."""
        return self.state in ("ready", "failed")


class Readiness:
    """Models that are made ready once. ``resolve`` finds them and may take minutes; it runs in a thread of its own.

    ``cancelled``: the event that stops the download of weights; every attempt has a new one.
    """

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self.cancelled = threading.Event()
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._status = ModelStatus("looking")

    @property
    def status(self) -> ModelStatus:
        return self._status

    @property
    def is_embedded(self) -> bool:
        """Returns whether the models are the embedded one, as far as is known by now."""
        now = self._status
        kind = now.models.kind if now.models else None
        return kind == "embedded" or now.fetched is not None or isinstance(now.error, _OF_EMBEDDED)

    def start(self) -> None:
        """Starts an attempt, also after a failure; a running attempt goes on."""
        with self._condition:
            if self._status.state == "ready" or (self._thread is not None and self._thread.is_alive()):
                return
            self._status = ModelStatus("looking")
            self.cancelled = threading.Event()
            self._thread = threading.Thread(target=self._run, name="models", daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """Stops the download of weights, and a test; the downloaded part is kept."""
        self.cancelled.set()

    def reject(self, error: GieokError) -> None:
        """Marks ready models as failed, as when their key was withdrawn; ``start`` then looks for them anew."""
        self._set(ModelStatus("failed", error=error))

    def note_call(self, ended: Done | Failed) -> None:
        """Notes whether the model answered a turn. An error that lies in the message says nothing about the model, nor
        does an answer that code gave, or a stop before the first word."""
        if isinstance(ended, Failed) and ended.code not in [error.code for error in _NO_ANSWER]:
            return
        if isinstance(ended, Done) and not (ended.usage.calls and ended.answer):
            return
        call = LastCall(time.time())
        if isinstance(ended, Failed):
            call = replace(call, code=ended.code, message=ended.message, values=ended.values)
        if self._status.state == "ready":
            self._set(replace(self._status, last_call=call))

    def wait(self, stop: threading.Event) -> bool:
        """Waits until the models are ready; returns False when ``stop`` came first. Raises the attempt's error."""
        if self._status.state != "ready":
            self.start()
        while not (now := self._status).is_settled:
            if stop.is_set():
                return False
            with self._condition:
                self._condition.wait(0.2)
        if now.error is not None:
            raise now.error
        return True

    def models(self) -> ModelSet:
        """Returns the models; waits until they are ready. Raises the attempt's error, such as ``OperatorError``."""
        self.wait(threading.Event())
        models = self._status.models
        assert models is not None  # settled without an error
        return models

    def _run(self) -> None:
        try:
            found = ModelStatus("ready", models=self._resolve(self._note_fetch_progress))
        except Stopped:
            found = ModelStatus("failed")
        except Exception as error:
            found = ModelStatus("failed", error=ensure_gieok_error(error, log, "getting the model ready"))
        self._set(replace(found, looked=time.time()))

    def _note_fetch_progress(self, progress: FetchProgress) -> None:
        complete = progress.total > 0 and progress.done >= progress.total
        self._set(ModelStatus("loading" if complete else "fetching", fetched=progress))

    def _set(self, status: ModelStatus) -> None:
        with self._condition:
            self._status = status
            self._condition.notify_all()
