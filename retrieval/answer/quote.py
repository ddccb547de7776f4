"""The best section for a question, quoted as it stands: one search and no model call (design 7.4).

A small model is not asked whether passages suffice: their nearness decides (``Searching.near``).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from errors import PassageUnknown
from retrieval.answer import fallback
from retrieval.answer.heading import measure_nearness
from retrieval.answer.kind import asked_for
from retrieval.answer.lookup import Cited, LookUp, SearchStep, Sufficiency, Tool
from retrieval.answer.loop import Searching
from retrieval.answer.prefer import is_meant
from retrieval.document import Filters, Hit, SearchScope
from text.language import detect_language

_EVERYWHERE: Tool = "search_all"
UNSURE = 0.025
"""Up to this far below the nearness of a quotation, the question still means the documents more often than not, so the
answer names their nearest sections. Further below, the question is taken not to concern the documents."""
SECTION_CHARS = 1200
"""The longest section, in characters, that is quoted whole; of a longer one only the passage is quoted."""


def quote_section(
    library: Searching,
    question: str,
    language: str,
    *,
    filters: Filters | None = None,
    kind: Filters | None = None,
    menu: Path | None = None,
) -> LookUp:
    """Returns the section to quote; without one, the fallback with its menu links (specification 7.5).

    ``filters``: limits every search; ``kind``: limits the first search when there are no filters, None: the kind that
    the question names. Raises what the library raises.
    """
    began = time.monotonic()
    asked, hits, tool, nearness = filters or Filters(), list[Hit](), _EVERYWHERE, -1.0
    for next_tool, conditions in _list_quote_searches(question, asked, kind):
        tool, hits = next_tool, library.sections(question, conditions)
        nearness = _measure_quote_nearness(library, hits, asked.scope)
        if nearness >= library.near:
            break
    near = nearness >= library.near
    passages = (_cite_section(library, hits[0]),) if near else ()
    chosen = fallback.choose_fallback(
        hits=len(hits),
        ranked=len(passages),
        sufficient=None,
        confidence=None,
        question=question,
        language=language,
        menu=menu,
    )
    seconds = time.monotonic() - began
    reason = "" if near else _explain_missing_quote(hits, nearness, library.near)
    step = SearchStep(tool, {"query": question}, tuple(hits), None, reason, search_seconds=seconds)
    sufficiency: Sufficiency = "not_judged" if near else "empty"
    return LookUp(question, language, passages, (step,), sufficiency, fallback=chosen, seconds=seconds)


def _list_quote_searches(question: str, asked: Filters, kind: Filters | None) -> Iterator[tuple[Tool, Filters]]:
    """Yields the searches in turn: the kind that the question names, the product's documents in the question's language
    beside all of the user's, everything allowed."""
    named = asked_for(question) if kind is None else kind
    if named != Filters() and asked == Filters(scope=asked.scope):
        yield "search_by_metadata", replace(named, scope=asked.scope)
    if asked.language is None:
        yield _EVERYWHERE, replace(asked, product_language=detect_language(question))
    yield _EVERYWHERE, asked


def _measure_quote_nearness(library: Searching, hits: Sequence[Hit], scope: SearchScope) -> float:
    """Returns the nearness of the first section; -1 where the question cannot mean it."""
    return measure_nearness(hits) if is_meant(hits, scope, library.near) else -1.0


def _explain_missing_quote(hits: Sequence[Hit], nearness: float, near: float) -> str:
    """Returns why nothing is quoted: nothing was found, nothing came near, or the nearest sections may be meant."""
    if not hits:
        return "empty"
    return "unsure" if nearness >= near - UNSURE else "unrelated"


def _cite_section(library: Searching, hit: Hit) -> Cited:
    """Returns the passage, or its whole section where that is short."""
    try:
        section = library.section(hit.passage.section_id).text
    except PassageUnknown:  # its document was changed a moment ago
        section = ""
    is_short = 0 < len(section) <= SECTION_CHARS
    return Cited(1, hit.passage, section if is_short else hit.passage.text, expanded=is_short)
