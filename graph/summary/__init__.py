"""Makes one chunk summary: chooses the writer, and runs the checks that hold for every writer (design 5.3).

Knows neither LangGraph nor the store. The profile of the utility model names the writer: the model (``by_model``) or
code (``extracted``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AnyMessage

from errors import ContextTooLong, GieokError, ModelOutputError, RequestRejected, SummaryRejected, trace
from graph.context.prompt import past
from graph.state import SummaryRecord
from graph.summary import by_model, extracted
from graph.summary.original import SLACK, SMALL, Draft, Original
from model.call.stream import Stopped
from model.modelset import ModelSet
from text import fact
from text.clean import clean

__all__ = ["SLACK", "SMALL", "Made", "Writer", "is_hopeless", "make", "written"]

log = logging.getLogger(__name__)

Writer = Literal["model", "extracted"]
_WRITERS: dict[Writer, Callable[[Original, ModelSet, threading.Event | None], Draft]] = {
    "model": by_model.write,
    "extracted": extracted.write,
}
_REFUSED = (400, 422)
"""HTTP statuses that reject the content of a request; others concern the account, the address or the server."""


@dataclass(frozen=True, slots=True)
class Made:
    """A checked summary that may replace its turns, and its cost.

    ``lost``, ``kept``: facts as the original writes them. ``exact``: the server counted the tokens. ``model``: '' when
    no model wrote the summary. ``origin``: ``extracted`` when sentences of the original stand in place of a model's
    words.
    """

    record: SummaryRecord
    lost: tuple[str, ...]
    kept: tuple[str, ...]
    seconds: float
    prompt_tokens: int
    answer_tokens: int
    exact: bool
    calls: int
    model: str
    origin: str = "auto"


def make(
    messages: list[AnyMessage],
    turns: list[int],
    *,
    thread_id: str,
    rate: float,
    models: ModelSet,
    language: str,
    stop: threading.Event | None,
    again: Callable[[], bool] = lambda: False,
    writer: Writer | None = None,
) -> Made:
    """Summarises all messages of the given turns in ``int(original_chars * rate)`` characters.

    The summary is in the conversation's language; ``language`` (``ko`` or ``en``) decides when the conversation shows
    none. ``writer``: None takes the profile's. ``again``: whether an earlier attempt at these turns failed hopelessly.
    When this attempt fails hopelessly too, sentences of the original take the place of the model's words, so that the
    turns do not stay raw for ever (decision 11). Raises ``SummaryRejected`` when the result is empty or too long or
    something unexpected failed, ``Stopped`` when ``stop`` was set, and the model's own errors.
    """
    begun = time.monotonic()
    with _rejecting(turns):
        source = _source(messages, turns, rate, language)
        draft, origin = _draft(source, models, writer or models.side.summaries, stop, again)
        return Made(
            record=source.record(thread_id, draft.text),
            **_facts(source, draft.text),
            seconds=time.monotonic() - begun,
            prompt_tokens=draft.prompt_tokens,
            answer_tokens=draft.answer_tokens,
            exact=draft.exact,
            calls=draft.calls,
            model=draft.model,
            origin=origin,
        )


def is_hopeless(error: GieokError) -> bool:
    """Returns whether the same text will most likely fail again; False for a server that is away."""
    if isinstance(error, RequestRejected):
        return error.values.get("status") in _REFUSED
    return isinstance(error, ModelOutputError | ContextTooLong)


def _draft(
    source: Original, models: ModelSet, writer: Writer, stop: threading.Event | None, again: Callable[[], bool]
) -> tuple[Draft, str]:
    """Returns the summary and its origin."""
    try:
        with _rejecting(source.turns):
            draft = _WRITERS[writer](source, models, stop)
        _check(draft.text, source)
    except GieokError as error:
        if writer == "model" and is_hopeless(error) and again():
            return extracted.write(source, models, stop), "extracted"
        raise
    return draft, "auto" if writer == "model" else "extracted"


def written(
    messages: list[AnyMessage], turns: list[int], *, thread_id: str, rate: float, language: str, text: str
) -> Made:
    """Returns a summary in the user's own words, of any length, with the facts that it holds and lacks."""
    source, words = _source(messages, turns, rate, language), clean(text)
    record, facts = source.record(thread_id, words), _facts(source, words)
    return Made(
        record, **facts, seconds=0.0, prompt_tokens=0, answer_tokens=0, exact=True, calls=0, model="", origin="edited"
    )


@contextmanager
def _rejecting(turns: Sequence[int]) -> Iterator[None]:
    """Turns an unforeseen error into ``SummaryRejected``: the error must not fail this turn and every later one."""
    try:
        yield
    except (GieokError, Stopped):
        raise
    except Exception as error:
        log.error("the summary of turns %d-%d failed: %s", turns[0], turns[-1], trace(error))
        kind = type(error).__name__
        reason = f"something unexpected failed ({kind})"
        raise SummaryRejected(
            first=turns[0], last=turns[-1], reason=reason, reason_code="unexpected", kind=kind
        ) from error


def _source(messages: list[AnyMessage], turns: list[int], rate: float, language: str) -> Original:
    return Original(tuple(map(past, messages)), tuple(turns), rate, "ko" if language == "ko" else "en")


def _facts(source: Original, text: str) -> dict[Literal["lost", "kept"], tuple[str, ...]]:
    """Returns the facts that the original tells, as two lists: those that a text lacks and those that it holds."""
    lost = tuple(told_fact.text for told_fact in source.told if not fact.holds(text, told_fact))
    kept = tuple(told_fact.text for told_fact in source.told if fact.holds(text, told_fact))
    return {"lost": lost, "kept": kept}


def _check(text: str, source: Original) -> None:
    """Raises ``SummaryRejected`` for a text that must not replace its turns: an empty one, or one that is too long."""
    if not text:
        raise source.rejected("it is empty", "empty")
    if len(text) > source.limit:
        target, original = source.room.target, len(source.original)
        reason = f"it has {len(text)} characters, for a target of {target} and an original of {original}"
        raise source.rejected(reason, "too_long", length=len(text), target=target, original=original)
