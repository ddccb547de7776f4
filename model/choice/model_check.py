"""A trial of a model with one tiny call: whether it answers, which model it is, and how long it takes."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage

from errors import EmptyAnswer
from model.call.stream import Stopped, stream_answer
from model.call.thought import read_thought
from model.choice import resolve
from model.modelset import Kind
from settings import Settings

MOST_SECONDS = 60.0
QUESTION = "Reply with the one word OK."


@dataclass(frozen=True, slots=True)
class Trial:
    """A model that answered. ``seconds``: from the request to the first word; ``url``: its address."""

    name: str
    kind: Kind
    url: str
    seconds: float


def run_model_trial(settings: Settings, stop: threading.Event | None = None) -> Trial:
    """Asks the model of these settings for one word, once, and also a separate model for side work. A call ends at its
    first word.

    Raises what ``resolve.resolve_models`` raises, the model's own errors, ``EmptyAnswer``, and ``Stopped``.
    """
    seconds = min(MOST_SECONDS, settings.model_timeout)
    models = resolve.resolve_models(
        settings.model_copy(update={"model_retries": 0, "model_timeout": seconds}), cancel=stop
    )
    latency = _time_first_word(models.chat, stop)
    if models.side_name != models.name:
        _time_first_word(models.utility, stop)
    return Trial(models.name, models.kind, models.url, latency)


def _time_first_word(model: BaseChatModel, stop: threading.Event | None) -> float:
    """Returns the seconds until the model's first word, said or thought."""
    start = time.monotonic()
    for chunk in stream_answer(model, [HumanMessage(QUESTION)], stop=stop):
        if str(chunk.text).strip() or read_thought(chunk):
            return time.monotonic() - start
    if stop is not None and stop.is_set():
        raise Stopped
    raise EmptyAnswer
