"""The outcome of one look-up in the documents: passages to answer from, and everything that was done to find them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from retrieval.answer.judge import Judgement
from retrieval.document import Hit, Passage

Tool = Literal["search_all", "search_by_metadata", "get_section", "query_table"]
Sufficiency = Literal["sufficient", "insufficient", "not_judged", "empty"]
Kind = Literal["best_effort", "not_found", "not_ready"]
CUT = " …"
"""The end of a passage's text that was shortened to fit the budget."""


@dataclass(frozen=True, slots=True)
class MenuLink:
    """An entry of the menu. ``url``: the address of a page, or of a place in the app (``?view=documents``);
    ``command``: the same place in a terminal."""

    title: str
    url: str
    command: str = ""

    @property
    def outside(self) -> bool:
        """Returns whether the address also leads somewhere outside the app."""
        return not self.url.startswith("?")


@dataclass(frozen=True, slots=True)
class Fallback:
    """The answer when the documents have none (specification 7.5).

    ``best_effort``: answer from the passages there are; ``not_found``: no passage about the question, or low
    confidence, with menu links; ``not_ready``: no hit at all.
    """

    kind: Kind
    text: str
    links: tuple[MenuLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Cited:
    """A passage given to the model under a number. ``text``: the passage, or its whole section when ``expanded``; a
    shortened text ends with ``CUT``."""

    number: int
    passage: Passage
    text: str
    expanded: bool = False

    @property
    def label(self) -> str:
        return self.passage.label


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One tool call of the loop, and the judgement on everything found so far.

    ``judgement`` None: not judged, and ``reason`` says why: «unreadable», an error's code, «empty» when nothing was
    found, «unrelated» when nothing came near the question, «unsure» when the nearest sections may be meant. ``hits``:
    what this call found, with the judge's ranks. Tokens are those of the judge's call; seconds are those of the search
    and of the judge.
    """

    tool: Tool
    arguments: dict[str, Any]
    hits: tuple[Hit, ...]
    judgement: Judgement | None
    reason: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    search_seconds: float = 0.0
    judge_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LookUp:
    """The outcome of a look-up. ``passages`` in the order of their numbers; ``calls``: tool calls used, at most three.

    ``cut``: labels of further passages that did not fit the budget. ``budget``: the most tokens that passages could
    take; 0: a quotation of one section or one passage.
    """

    question: str
    language: str
    passages: tuple[Cited, ...]
    trace: tuple[SearchStep, ...]
    sufficiency: Sufficiency
    confidence: float | None = None
    missing: tuple[str, ...] = ()
    fallback: Fallback | None = None
    seconds: float = 0.0
    cut: tuple[str, ...] = ()
    budget: int = 0

    @property
    def calls(self) -> int:
        return len(self.trace)

    @property
    def prompt_tokens(self) -> int:
        return sum(step.prompt_tokens for step in self.trace)

    @property
    def answer_tokens(self) -> int:
        return sum(step.answer_tokens for step in self.trace)

    def plain(self) -> dict[str, Any]:
        """Returns plain data for the record and the trace tab; for a hit, the passage's id and label without its text.

        Keeps the text of the passages given to the model, so that it can be shown after their document has changed.
        """
        return {
            "question": self.question,
            "language": self.language,
            "passages": [
                {
                    "number": cited.number,
                    "passage": cited.passage.id,
                    "section": cited.passage.section_id,
                    "document": cited.passage.document_id,
                    "label": cited.label,
                    "title": cited.passage.title,
                    "path": list(cited.passage.path),
                    "text": cited.text,
                    "expanded": cited.expanded,
                }
                for cited in self.passages
            ],
            "cut": list(self.cut),
            "budget": self.budget,
            "trace": [_plain_step(step) for step in self.trace],
            "sufficiency": self.sufficiency,
            "confidence": self.confidence,
            "missing": list(self.missing),
            "fallback": asdict(self.fallback) if self.fallback else None,
            "calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "answer_tokens": self.answer_tokens,
            "seconds": round(self.seconds, 3),
        }


def _plain_step(step: SearchStep) -> dict[str, Any]:
    return {
        "tool": step.tool,
        "arguments": step.arguments,
        "judgement": step.judgement.model_dump(mode="json") if step.judgement else None,
        "reason": step.reason,
        "prompt_tokens": step.prompt_tokens,
        "answer_tokens": step.answer_tokens,
        "search_seconds": round(step.search_seconds, 3),
        "judge_seconds": round(step.judge_seconds, 3),
        "hits": [
            {
                "passage": hit.passage.id,
                "label": hit.passage.label,
                "doc_type": hit.passage.doc_type,
                "score": round(hit.score, 4),
                "cosine": round(hit.cosine, 4),
                "bm25": round(hit.bm25, 3),
                "cover": round(hit.cover, 3),
                "dense": hit.dense_rank,
                "lexical": hit.lexical_rank,
                "fused": hit.fused_rank,
                "reranked": hit.reranked,
            }
            for hit in step.hits
        ],
    }
