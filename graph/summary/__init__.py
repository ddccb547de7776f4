"""Making one chunk summary: who writes it, and the checks that hold for every writer (design §5).

Knows neither LangGraph nor the store. The profile of the utility model says who writes: the model (``by_model``) or
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
from graph.context import past
from graph.state import SummaryRecord
from graph.summary import by_model, extracted
from graph.summary.source import SLACK, SMALL, Draft, Source
from model.modelset import ModelSet
from model.stream import Stopped
from text import fact
from text.clean import clean

__all__ = ["SLACK", "SMALL", "Made", "Writer", "is_hopeless", "make", "written"]

log = logging.getLogger(__name__)

Writer = Literal["model", "extracted"]
_WRITERS: dict[Writer, Callable[[Source, ModelSet, threading.Event | None], Draft]] = {
    "model": by_model.write,
    "extracted": extracted.write,
}
_REFUSED = (400, 422)
"""HTTP statuses that speak of what was sent; others of the account, the address or the server."""


@dataclass(frozen=True, slots=True)
class Made:
    """A summary that may replace its turns, and what it cost.

    ``lost``, ``kept``: facts as the original writes them. ``exact``: the server counted the tokens. ``model``: '' when
    no model wrote it. ``origin``: ``extracted`` for sentences of the original in place of a model's words.
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
    """Summarise all messages of the given turns to ``int(original_chars * rate)`` characters.

    The summary is in the conversation's language; ``language`` (``ko`` or ``en``) decides when it shows none.
    ``writer``: None takes the profile's. ``again``: whether an attempt at these turns has failed hopelessly before;
    when this one does too, words of the original take the place of the model's, and the turns do not stay raw for ever
    (decision 0011). Raises ``SummaryRejected`` when the result is empty or too long or something unexpected failed,
    ``Stopped`` when ``stop`` was set, and the model's own errors.
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
    """Whether the same text will most likely meet this failure again, unlike that of a server that is away."""
    if isinstance(error, RequestRejected):
        return error.values.get("status") in _REFUSED
    return isinstance(error, ModelOutputError | ContextTooLong)


def _draft(
    source: Source, models: ModelSet, writer: Writer, stop: threading.Event | None, again: Callable[[], bool]
) -> tuple[Draft, str]:
    """The summary and its origin."""
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
    """A summary in the user's own words, of any length, with the facts that it holds and lacks."""
    source, own = _source(messages, turns, rate, language), clean(text)
    record, facts = source.record(thread_id, own), _facts(source, own)
    return Made(
        record, **facts, seconds=0.0, prompt_tokens=0, answer_tokens=0, exact=True, calls=0, model="", origin="edited"
    )


@contextmanager
def _rejecting(turns: Sequence[int]) -> Iterator[None]:
    """What nobody foresaw rejects the summary: it must not fail the turn, and this and every later one with it."""
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


def _source(messages: list[AnyMessage], turns: list[int], rate: float, language: str) -> Source:
    return Source(tuple(map(past, messages)), tuple(turns), rate, "ko" if language == "ko" else "en")


def _facts(source: Source, text: str) -> dict[Literal["lost", "kept"], tuple[str, ...]]:
    """The facts of the original that a text lacks and holds."""
    lost = tuple(one.text for one in source.facts if not fact.holds(text, one))
    kept = tuple(one.text for one in source.facts if fact.holds(text, one))
    return {"lost": lost, "kept": kept}


def _check(text: str, source: Source) -> None:
    """Raise ``SummaryRejected`` for what must not replace its turns."""
    if not text:
        raise source.rejected("it is empty", "empty")
    if len(text) > source.limit:
        target, original = source.room.target, len(source.original)
        reason = f"it has {len(text)} characters, for a target of {target} and an original of {original}"
        raise source.rejected(reason, "too_long", length=len(text), target=target, original=original)
