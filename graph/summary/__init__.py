"""Makes one chunk summary: chooses the writer, and runs the checks that hold for every writer (design 5.3).

Shows ``make_chunk_summary`` and, for what happens around it, ``ahead``, ``backlog``, ``by_hand`` and ``revise``.
May import ``graph.state``, ``graph.context``, ``graph.turn``, ``retrieval.index``, ``store``, ``model`` and below.

The profile of the utility model names the writer: the model (``by_model``) or code (``extracted``). Neither a writer
nor a check knows LangGraph or the store.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage

from errors import ContextTooLong, GieokError, ModelOutputError, RequestRejected, SummaryRejected, format_error_trace
from graph.context.prompt import reduce_past_message
from graph.state import SummaryRecord
from graph.summary import by_model, extracted
from graph.summary.check import check_size, find_fault
from graph.summary.mark import mark_suggested
from graph.summary.original import SLACK, SMALL, Original, WriterDraft
from model.call.stream import Stopped
from model.modelset import ModelSet
from text.clean import clean_text
from text.fact import fact
from text.fence import has_frame, remove_frames
from text.language import Language

__all__ = [
    "SLACK",
    "SMALL",
    "ChunkSource",
    "Made",
    "Writer",
    "is_hopeless",
    "make_chunk_summary",
    "make_edited_summary",
    "make_extracted_summary",
]

log = logging.getLogger(__name__)

Writer = Literal["model", "extracted"]
_REFUSED = (400, 422)
"""HTTP statuses that reject the content of a request; others concern the account, the address or the server."""


@dataclass(frozen=True, slots=True)
class Made:
    """A checked summary that may replace its turns, and its cost.

    ``lost``, ``kept``: facts as the original writes them. ``exact``: the server counted the tokens. ``model``: '' when
    no model wrote the summary. ``origin``: ``extracted`` when sentences of the original stand in place of a model's
    words; ``rejected`` says then why the model's words were not used. ``usd``: None where the price is not known;
    ``cache_usd``: what the provider's cache saved.
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
    rejected: GieokError | None = None
    cached_tokens: int = 0
    usd: float | None = None
    cache_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class ChunkSource:
    """The turns to summarise, with all their ``messages``, in ``int(original_chars * rate)`` characters. ``language``
    (``ko`` or ``en``) decides when the conversation shows none; ``known``, ``hint``: as in ``Original``."""

    messages: list[AnyMessage]
    turns: list[int]
    thread_id: str
    rate: float
    language: str
    known: str = ""
    hint: str = ""

    def read_original(self) -> Original:
        spoken = (_keep_words(reduce_past_message(message)) for message in self.messages)
        language: Language = "ko" if self.language == "ko" else "en"
        return Original(tuple(spoken), tuple(self.turns), self.rate, language, self.known, self.hint)


def make_chunk_summary(
    chunk: ChunkSource,
    models: ModelSet,
    stop: threading.Event | None,
    *,
    stands_in: Callable[[GieokError], bool] = lambda _: False,
    writer: Writer | None = None,
) -> Made:
    """Summarises the turns in the conversation's language.

    ``writer``: None takes the profile's; code cannot read a wish, so a model writes where there is one. ``stands_in``:
    whether sentences of the original take the place of the model's words after this error of the model, so that the
    turns do not stay raw for ever (decision 3); they do at once when the model's words hold too little of the turns.
    Raises ``SummaryRejected`` when the result is empty or too long or something unexpected failed, ``Stopped`` when
    ``stop`` was set, and the model's own errors.
    """
    begun = time.monotonic()
    with _reject_unexpected_errors(chunk.turns):
        source = chunk.read_original()
        by_code = (writer or ("model" if chunk.hint else models.side.summaries)) == "extracted"
        draft, rejected = (
            (extracted.write_extracted_summary(source, models, stop), None)
            if by_code
            else _draft_model_summary(source, models, stop, stands_in)
        )
        check_size(draft.text, source)
        facts = _find_facts(source, draft.text)
        return Made(
            record=source.record(chunk.thread_id, draft.text),
            lost=facts.lost,
            kept=facts.kept,
            seconds=time.monotonic() - begun,
            prompt_tokens=draft.prompt_tokens,
            answer_tokens=draft.answer_tokens,
            exact=draft.exact,
            calls=draft.calls,
            model=draft.model,
            origin="extracted" if by_code or rejected else "auto",
            rejected=rejected,
            cached_tokens=draft.cached_tokens,
            usd=draft.usd,
            cache_usd=draft.cache_usd,
        )


def is_hopeless(error: GieokError) -> bool:
    """Returns whether the same text will most likely fail again; False for a server that is away."""
    if isinstance(error, RequestRejected):
        return error.values.get("status") in _REFUSED
    return isinstance(error, ModelOutputError | ContextTooLong)


def _draft_model_summary(
    source: Original, models: ModelSet, stop: threading.Event | None, stands_in: Callable[[GieokError], bool]
) -> tuple[WriterDraft, GieokError | None]:
    """Returns the model's draft; or the extracted one, and why it stands in place of the model's."""
    try:
        with _reject_unexpected_errors(source.turns):
            draft = by_model.write_model_summary(source, models, stop)
        check_size(draft.text, source)
    except GieokError as error:
        if stands_in(error):
            return extracted.write_extracted_summary(source, models, stop), error
        raise
    by_code = extracted.write_extracted_summary(source, models, stop)
    text = by_model.fit_sentences(source, mark_suggested(draft.text, source.unconfirmed_facts, source.language))
    fault = find_fault(text, by_code.text, source)
    return (replace(draft, text=by_code.text, model=""), fault) if fault else (replace(draft, text=text), None)


def make_edited_summary(chunk: ChunkSource, text: str) -> Made:
    """Returns a summary in the user's own words, of any length, with the facts that it holds and lacks."""
    source, words = chunk.read_original(), clean_text(text)
    facts = _find_facts(source, words)
    return Made(
        source.record(chunk.thread_id, words),
        facts.lost,
        facts.kept,
        seconds=0.0,
        prompt_tokens=0,
        answer_tokens=0,
        exact=True,
        calls=0,
        model="",
        origin="edited",
    )


def make_extracted_summary(chunk: ChunkSource) -> Made:
    """Returns a summary of sentences of the original, for which no model need be there. Raises ``SummaryRejected``
    when something unexpected failed."""
    begun = time.monotonic()
    with _reject_unexpected_errors(chunk.turns):
        source = chunk.read_original()
        text = extracted.extract_text(source)
        record, facts = source.record(chunk.thread_id, text), _find_facts(source, text)
    seconds = time.monotonic() - begun
    return Made(
        record, facts.lost, facts.kept, seconds=seconds, prompt_tokens=0, answer_tokens=0, exact=True, calls=0,
        model="", origin="extracted",
    )  # fmt: skip


@contextmanager
def _reject_unexpected_errors(turns: Sequence[int]) -> Iterator[None]:
    """Turns an unforeseen error into ``SummaryRejected``: the error must not fail this turn and every later one."""
    try:
        yield
    except (GieokError, Stopped):
        raise
    except Exception as error:
        log.error("the summary of turns %d-%d failed: %s", turns[0], turns[-1], format_error_trace(error))
        kind = type(error).__name__
        reason = f"something unexpected failed ({kind})"
        raise SummaryRejected(
            first=turns[0], last=turns[-1], reason=reason, reason_code="unexpected", kind=kind
        ) from error


def _keep_words(message: AnyMessage) -> AnyMessage:
    """Returns a message of the user without what was sent along with it: a summary is of what was said."""
    text = str(message.text)
    return HumanMessage(remove_frames(text)) if isinstance(message, HumanMessage) and has_frame(text) else message


class _ToldFacts(NamedTuple):
    lost: tuple[str, ...]
    kept: tuple[str, ...]


def _find_facts(source: Original, text: str) -> _ToldFacts:
    """Returns the facts that the original tells, as two lists: those that a text lacks and those that it holds."""
    lost = tuple(told_fact.text for told_fact in source.told_facts if not fact.has_fact_value(text, told_fact))
    kept = tuple(told_fact.text for told_fact in source.told_facts if fact.has_fact_value(text, told_fact))
    return _ToldFacts(lost, kept)
