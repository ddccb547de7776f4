"""What the library holds and what a search finds, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from text.language import Language

DocType = Literal["faq", "guide"]
State = Literal["ready", "failed"]


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the library.

    ``name``: what people see; ``source``: the path, or ``upload:`` and the name; ``hash``: SHA-256 of its bytes;
    ``size`` in bytes; ``added``: Unix seconds. A failed one has ``error`` (``code`` and ``values``) and no passages.
    """

    id: int
    name: str
    source: str
    doc_type: DocType
    title: str
    language: Language
    hash: str
    size: int
    state: State
    error: dict[str, Any] | None
    sections: int
    passages: int
    added: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of one section: what is searched and cited. ``path``: the headings above it, outermost first.

    ``section_id`` names its section for ``Library.section``.
    """

    id: int
    document_id: int
    name: str
    title: str
    section: int
    path: tuple[str, ...]
    text: str
    doc_type: DocType
    language: Language
    has_steps: bool

    @property
    def section_id(self) -> str:
        return f"{self.document_id}:{self.section}"

    @property
    def label(self) -> str:
        """Where it stands, for citations: «file › section»."""
        return " › ".join((self.name, *self.path[-1:]))


@dataclass(frozen=True, slots=True)
class Section:
    """A whole section: its text and the passages that it was split into. ``starts``: where each begins in the text."""

    id: str
    document_id: int
    name: str
    title: str
    path: tuple[str, ...]
    text: str
    passages: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def label(self) -> str:
        return " › ".join((self.name, *self.path[-1:]))


@dataclass(frozen=True, slots=True)
class Filters:
    """Which passages may be found; ``None`` allows all. ``documents``: ids."""

    doc_type: DocType | None = None
    has_steps: bool | None = None
    language: Language | None = None
    documents: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found.

    ``score``: fused, 0 to 1. ``cosine`` and ``bm25``: the raw scores; ``cover``: how much of the question's words the
    passage has, 0 to 1. Ranks count from 1; None: not among the
    candidates of that search. ``reranked``: the rank that the model gave it.
    """

    passage: Passage
    score: float
    cosine: float
    bm25: float
    cover: float
    dense_rank: int | None
    lexical_rank: int | None
    fused_rank: int
    reranked: int | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The library at a glance. ``rebuild``: why the index must be made anew («corrupt», «model»), or None.

    ``model``: what embedded the passages; ``tokens``: how words are cut («kiwi», «ngram»).
    """

    documents: int
    failed: int
    passages: int
    model: str
    tokens: str
    revision: int
    rebuild: Literal["corrupt", "model"] | None = None
