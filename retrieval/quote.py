"""The best section for a question, to be quoted as it stands: one search and no model call (design §9, small profile).

A small model must not be asked whether passages suffice; how near they come says it (``Searching.near``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from errors import PassageUnknown
from retrieval import fallback
from retrieval.document import Filters, Hit
from retrieval.fuse import nearness
from retrieval.kind import asked_for
from retrieval.lookup import Cited, LookUp, Step, Sufficiency, Tool
from retrieval.loop import Searching

SECTION_CHARS = 1200
"""A section of at most so many characters is quoted whole; of a longer one the passage alone."""


def quote(
    library: Searching,
    question: str,
    language: str,
    *,
    filters: Filters | None = None,
    kind: Filters | None = None,
    menu: Path | None = None,
) -> LookUp:
    """The section to quote; without one, the specified sentence with menu links (copilot-rag.md §4.4).

    ``filters``: nothing else may be found; ``kind``: what is looked through first, None: what the question names.
    Raises what the library raises.
    """
    begun = time.monotonic()
    named = asked_for(question) if kind is None else kind
    asked = filters or Filters()
    hits = library.search(question, named) if named != Filters() and asked == Filters() else []
    tool: Tool = "search_by_metadata"
    if not _near(library, hits):
        tool, hits = "search_all", library.search_all(question, asked)
    near = _near(library, hits)
    passages = (_cited(library, hits[0]),) if near else ()
    chosen = fallback.choose(
        ranked=len(hits),
        sufficient=None,
        confidence=None if near else 0.0,
        question=question,
        language=language,
        menu=menu,
    )
    seconds = time.monotonic() - begun
    reason = "" if near else "unrelated" if hits else "empty"
    step = Step(tool, {"query": question}, tuple(hits), None, reason, search_seconds=seconds)
    sufficiency: Sufficiency = "not_judged" if near else "empty"
    return LookUp(question, language, passages, (step,), sufficiency, fallback=chosen, seconds=seconds)


def _near(library: Searching, hits: Sequence[Hit]) -> bool:
    return bool(hits) and nearness(hits) >= library.near


def _cited(library: Searching, hit: Hit) -> Cited:
    """The passage, or its whole section where that is short."""
    try:
        section = library.section(hit.passage.section_id).text
    except PassageUnknown:  # its document was changed a moment ago
        section = ""
    whole = 0 < len(section) <= SECTION_CHARS
    return Cited(1, hit.passage, section if whole else hit.passage.text, expanded=whole)
