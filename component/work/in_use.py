"""The models that this installation uses: those of the settings, or those that a user chose in the page.

All pages of a process share these models, and processes on one data folder follow each other (``model.choice.kept``). A
new choice is tried first; the earlier models stay in use until the new model answers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import settings
from component.work.readiness import Readiness
from graph.context.system_prompt import build_bare_prefixes
from model.call.stream import Stopped
from model.choice import default, kept, model_check, resolve
from model.choice.choice import Choice
from model.choice.kept import Kept
from model.choice.model_offer import read_choice
from model.embedded.idle import IdleWatch
from model.embedded.weights import FetchProgress
from model.modelset import ModelSet
from settings import Settings

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Attempt:
    """A choice that is being tried, or was. ``trial``: how the model answered; None for an embedded model, which loads
    instead of answering."""

    choice: Choice
    readiness: Readiness
    trial: model_check.Trial | None = None

    def is_of(self, choice: Choice) -> bool:
        """Returns whether ``choice`` is of the same kind and, for an embedded model, of the same name."""
        tried = self.choice
        return tried.kind == choice.kind and (tried.kind != "embedded" or tried.chat_model == choice.chat_model)


class InUse:
    """The models in use, from the first page on. Thread-safe. Nothing here calls Streamlit."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._own: Readiness | None = None
        self._attempt: Attempt | None = None
        self._idle_watch = IdleWatch(self._find_spared_model, settings.load_current_settings().embedded_idle)
        self._stamp = kept.read_choices_stamp(settings.load_current_settings())
        self._kept = kept.load_model_choices(settings.load_current_settings())
        self._readiness = self._of(self._kept.choice)
        self._readiness.start()
        self._of_sessions: dict[Choice, Readiness] = {}

    def __call__(self) -> ModelSet:
        """Returns the models; waits until they are ready. Raises the error that keeps them from being ready."""
        return self.readiness.models()

    @property
    def ready_models(self) -> ModelSet | None:
        """Returns the models if they are ready, else None."""
        return self.readiness.status.models

    @property
    def readiness(self) -> Readiness:
        """Returns the readiness of the models in use."""
        self._follow()
        return self._readiness

    @property
    def stored_choices(self) -> Kept:
        """Returns the stored choices, the current one and earlier ones."""
        self._follow()
        return self._kept

    def of_session(self, model: Mapping[str, str] | None) -> Readiness:
        """Returns the readiness of the model that a conversation has chosen (``store.record.Session.model``), which the
        first call has begun; without a choice, that of the models in use."""
        choice = read_choice(settings.load_current_settings(), self.stored_choices, model)
        if choice is None:
            return self.readiness
        if choice.kind == "embedded":
            self._idle_watch.start()
        with self._lock:
            if choice not in self._of_sessions:
                readiness = self._of_sessions[choice] = self._of(choice)
                readiness.start()
            return self._of_sessions[choice]

    def begin(self, choice: Choice) -> Attempt:
        """Tries the choice, which is in use as soon as its model answers; cancels the attempt before it."""
        with self._lock:
            if self._attempt is not None:
                self._attempt.readiness.cancel()
            attempt = self._attempt = self._trying(choice)
            attempt.readiness.start()
            return attempt

    def reset(self) -> None:
        """Puts the settings' own models in use again. Raises what ``kept.restore_settings_model`` raises."""
        with self._lock:
            kept.restore_settings_model(settings.load_current_settings())
            self._change()

    def forget_key(self) -> None:
        """Deletes the stored key; models that need it are no longer in use. Raises what ``kept.forget_key`` raises."""
        with self._lock:
            kept.forget_key(settings.load_current_settings())
            self._change()

    def find_embedded_readiness(self, name: str) -> Readiness | None:
        """Returns the readiness of an embedded model that is in use or being tried, else None. ``name``: its name in
        the catalogue, empty for the user's own file."""
        now, attempt = self.readiness, self._attempt
        if attempt is not None and attempt.is_of(Choice("embedded", chat_model=name)) and attempt.readiness is not now:
            return attempt.readiness
        return now if self._comes_down_to(name) else None

    def _find_spared_model(self) -> str | None:
        """Returns the name of the embedded model in use, whose server is never released; empty where the models in use
        are no embedded ones, None while they are not ready."""
        models = self._readiness.status.models
        if models is None:
            return None
        return models.name if models.kind == "embedded" else ""

    def _comes_down_to(self, name: str) -> bool:
        """Returns whether the models in use are this embedded model, as far as is known by now."""
        choice, now = self._kept.choice, self._readiness
        effective = (
            choice.apply_to_settings(settings.load_current_settings()) if choice else settings.load_current_settings()
        )
        if not (now.is_embedded or effective.provider == "embedded"):
            return False
        weights = default.predict_weights(effective) if effective.embedded_path is None else None
        models = now.status.models
        return name == ("" if effective.embedded_path else models.name if models else weights.name if weights else "")

    def _trying(self, choice: Choice) -> Attempt:
        attempt: Attempt

        def look(progress: Callable[[FetchProgress], None]) -> ModelSet:
            base, stop = settings.load_current_settings(), attempt.readiness.cancelled
            keyed = kept.with_key(base, choice)
            effective = keyed.apply_to_settings(base)
            if choice.kind != "embedded":
                attempt.trial = model_check.run_model_trial(effective, stop)
            models = resolve.resolve_models(
                effective, progress=progress, cancel=stop, prefixes=build_bare_prefixes(effective.language)
            )
            self._take(attempt, keyed)
            return models

        attempt = Attempt(choice, Readiness(look))
        return attempt

    def _take(self, attempt: Attempt, choice: Choice) -> None:
        """Puts the tried choice in use and stores it. Raises ``Stopped`` when another choice was tried since."""
        with self._lock:
            if self._attempt is not attempt:
                raise Stopped
            kept.save_model_choice(settings.load_current_settings(), choice)
            self._stamp, self._kept = (
                kept.read_choices_stamp(settings.load_current_settings()),
                kept.load_model_choices(settings.load_current_settings()),
            )
            self._readiness = attempt.readiness
            self._idle_watch.start()  # the model before it may have been an embedded one
            self._of_sessions.clear()  # the key of a hosted model may be another one now

    def _follow(self) -> None:
        """Puts a choice in use that another process has stored."""
        if kept.read_choices_stamp(settings.load_current_settings()) != self._stamp:
            with self._lock:
                self._change()

    def _change(self) -> None:
        """Reads the stored choices, which have changed, and puts the current one in use."""
        before = self._kept
        self._of_sessions.clear()
        self._idle_watch.start()
        self._stamp, self._kept = (
            kept.read_choices_stamp(settings.load_current_settings()),
            kept.load_model_choices(settings.load_current_settings()),
        )
        if (self._kept.choice, self._kept.place) != (before.choice, before.place) or before.choice is None:
            self._readiness = self._of(self._kept.choice)
            self._readiness.start()

    def _of(self, choice: Choice | None) -> Readiness:
        if choice is None:
            self._own = self._own or _build_readiness(settings.load_current_settings)
            return self._own
        return _build_readiness(
            lambda: kept.with_key(settings.load_current_settings(), choice).apply_to_settings(
                settings.load_current_settings()
            )
        )


def _build_readiness(asked: Callable[[], Settings]) -> Readiness:
    """Returns the readiness of models from the settings or from an earlier choice; checks a hosted model's key."""
    ready: Readiness

    def look(progress: Callable[[FetchProgress], None]) -> ModelSet:
        applied = asked()
        resolve.check_key(applied)
        return resolve.resolve_models(
            applied, progress=progress, cancel=ready.cancelled, prefixes=build_bare_prefixes(applied.language)
        )

    ready = Readiness(look)
    return ready
