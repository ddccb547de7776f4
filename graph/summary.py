"""Making one chunk summary: prompt, checks, the single repair (context-managing.md «요약 생성 규칙», design §5).

Knows neither LangGraph nor the store. Models that need help write short notes in a constrained shape, and code packs
them to the length; others write plain text. The same checks hold for both.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import AnyMessage

from errors import ContextTooLong, GieokError, ModelOutputError, RequestRejected, SummaryRejected, trace
from graph import draft
from graph.context import past
from graph.source import SLACK, SMALL, Source
from graph.state import SummaryRecord
from model.modelset import ModelSet
from model.stream import Stopped
from text import fact, pack
from text.clean import clean

__all__ = ["SLACK", "SMALL", "Made", "is_hopeless", "make", "written"]

log = logging.getLogger(__name__)

_REFUSED = (400, 422)
"""HTTP statuses that speak of what was sent; others of the account, the address or the server."""


@dataclass(frozen=True, slots=True)
class Made:
    """A summary that may replace its turns, and what it cost.

    ``lost``, ``kept``: facts as the original writes them. ``exact``: the server counted the tokens. ``model``: '' when
    the user wrote it. ``origin``: ``extracted`` for sentences of the original in place of a model's words.
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
) -> Made:
    """Summarise all messages of the given turns to ``int(original_chars * rate)`` characters.

    The summary is in the conversation's language; ``language`` (``ko`` or ``en``) decides when it shows none.
    ``again``: whether an attempt at these turns has failed hopelessly before; when this one does too, words of the
    original take the place of the model's, and the turns do not stay raw for ever (decision 0011).
    Raises ``SummaryRejected`` when the result is empty or too long or something unexpected failed, ``Stopped`` when
    ``stop`` was set, and the model's own errors.
    """
    begun = time.monotonic()
    with _rejecting(turns):
        source = _source(messages, turns, rate, language)
        talk = draft.Talk(models, stop, source.opening(draft.longest(source, models)))
        text, origin = _text(source, talk, again)
        made = Made(
            record=source.record(thread_id, text),
            **_facts(source, text),
            seconds=time.monotonic() - begun,
            prompt_tokens=talk.prompt_tokens,
            answer_tokens=talk.answer_tokens,
            exact=talk.exact,
            calls=talk.calls,
            model=models.side_name,
            origin=origin,
        )
    return made


def is_hopeless(error: GieokError) -> bool:
    """Whether the same text will most likely meet this failure again, unlike that of a server that is away."""
    if isinstance(error, RequestRejected):
        return error.values.get("status") in _REFUSED
    return isinstance(error, ModelOutputError | ContextTooLong)


def _text(source: Source, talk: draft.Talk, again: Callable[[], bool]) -> tuple[str, str]:
    """The summary's text and its origin."""
    try:
        with _rejecting(source.turns):
            text = draft.notes(source, talk) if talk.models.constrained else draft.prose(source, talk)
        _check(text, source)
    except GieokError as error:
        if is_hopeless(error) and again() and (text := _extract(source)):
            return text, "extracted"
        raise
    return text, "auto"


def _extract(source: Source) -> str:
    """Words of the original alone: the sentences that hold the most of it; its beginning where it is tiny or none fits.

    '' only for an original without a sign.
    """
    size = len(source.original)
    with suppress(SummaryRejected), _rejecting(source.turns):
        if size > SMALL and (text := pack.pack(source.sentences, source.wanted, source.room)):
            return text
    said = " ".join(clean(" ".join(each.text for each in source.messages)).split())
    most = size if size <= SMALL else source.room.most
    words = said if len(said) <= most else said[: most + 1].rpartition(" ")[0]
    return words or said[:most]


def written(
    messages: list[AnyMessage], turns: list[int], *, thread_id: str, rate: float, language: str, text: str
) -> Made:
    """A summary in the user's own words, of any length, with the facts that it holds and lacks."""
    source, own = _source(messages, turns, rate, language), clean(text)
    record = source.record(thread_id, own)
    facts = _facts(source, own)
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
    said = tuple(past(each) for each in messages)
    return Source(said, tuple(turns), rate, "ko" if language == "ko" else "en")


def _facts(source: Source, text: str) -> dict[Literal["lost", "kept"], tuple[str, ...]]:
    """The facts of the original that a text lacks and holds."""
    lost = tuple(each.text for each in source.facts if not fact.holds(text, each))
    kept = tuple(each.text for each in source.facts if fact.holds(text, each))
    return {"lost": lost, "kept": kept}


def _check(text: str, source: Source) -> None:
    """Raise ``SummaryRejected`` for what must not replace its turns."""
    if not text:
        raise source.rejected("it is empty", "empty")
    if len(text) > source.limit:
        target, original = source.room.target, len(source.original)
        said = f"it has {len(text)} characters, for a target of {target} and an original of {original}"
        raise source.rejected(said, "too_long", length=len(text), target=target, original=original)
