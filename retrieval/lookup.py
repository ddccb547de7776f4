"""What one look-up in the documents gave: passages to answer from, and everything that was done for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from retrieval.document import Hit, Passage
from retrieval.judge import Judgement

Tool = Literal["search_all", "search_by_metadata", "get_section"]
Sufficiency = Literal["sufficient", "insufficient", "not_judged", "empty"]
Kind = Literal["best_effort", "not_found", "not_ready"]
CUT = " …"
"""Ends the text of a passage that was shortened to fit the budget."""


@dataclass(frozen=True, slots=True)
class Link:
    """An entry of the menu. ``url``: of a page, or of a place in the app (``?view=documents``); ``command``: the same
    in a terminal."""

    title: str
    url: str
    command: str = ""

    @property
    def outside(self) -> bool:
        """Whether the address means something outside the page too."""
        return not self.url.startswith("?")


@dataclass(frozen=True, slots=True)
class Fallback:
    """What is done when the documents do not answer (copilot-rag.md §4.4).

    ``best_effort``: answer from what there is; ``not_found``: low confidence, with menu links; ``not_ready``: nothing.
    """

    kind: Kind
    text: str
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Cited:
    """A passage given to the model under a number. ``text``: the passage, or its whole section when expanded; a
    shortened one ends with ``CUT``."""

    number: int
    passage: Passage
    text: str
    expanded: bool = False

    @property
    def label(self) -> str:
        return self.passage.label


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call of the loop and what the judge said of everything found so far.

    ``judgement`` None: not judged, and ``reason`` says why: «unreadable», an error's code, «empty» when nothing was
    found, «unrelated» when nothing came near the question. ``hits``: what this call found, with the judge's ranks.
    Tokens are of the judge's call; seconds of the search and of the judge.
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
    """The outcome. ``passages`` in the order of their numbers; ``calls``: tool calls used, at most three.

    ``cut``: labels of further passages, for which the budget had no room.
    """

    question: str
    language: str
    passages: tuple[Cited, ...]
    trace: tuple[Step, ...]
    sufficiency: Sufficiency
    confidence: float | None = None
    missing: tuple[str, ...] = ()
    fallback: Fallback | None = None
    seconds: float = 0.0
    cut: tuple[str, ...] = ()

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
        """As plain data for the record and the trace tab; of hits the passage's id and label, not its text.

        The text of what was given is kept: it can be shown when its document has changed since.
        """
        return {
            "question": self.question,
            "language": self.language,
            "passages": [
                {
                    "number": each.number,
                    "passage": each.passage.id,
                    "section": each.passage.section_id,
                    "document": each.passage.document_id,
                    "label": each.label,
                    "title": each.passage.title,
                    "path": list(each.passage.path),
                    "text": each.text,
                    "expanded": each.expanded,
                }
                for each in self.passages
            ],
            "cut": list(self.cut),
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


def _plain_step(step: Step) -> dict[str, Any]:
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
