"""Documents, passages, sections and hits of the library, as plain data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, get_args

from text.language import Language

DocType = Literal["faq", "guide"]
State = Literal["ready", "failed"]
Collection = Literal["session", "mine", "product"]
"""The owner of a document: one conversation («session»), the user («mine»), or the product («product»)."""
COLLECTIONS: tuple[Collection, ...] = get_args(Collection)


PAGE = re.compile(r"p\. (\d+)")
"""The lowest heading of each section of a PDF: the page on which it stands (``retrieval.read.format.pdf``)."""


def name_place(path: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the heading that names a section in a citation; of a PDF, heading and page."""
    return path[-2:] if path and PAGE.fullmatch(path[-1]) else path[-1:]


def build_place_label(name: str, path: tuple[str, ...]) -> str:
    """Returns a place in a file for citations: «file › section», or «file › section › p. 3»."""
    return " › ".join((name, *name_place(path)))


@dataclass(frozen=True, slots=True)
class Document:
    """One file of the library.

    ``name``: the name that people see; ``source``: the path or web address, or ``upload:`` and the name; ``hash``:
    SHA-256 of its bytes; ``size`` in bytes; ``added``: Unix seconds; ``key``: identifies the document. A failed
    document has ``error`` (``code`` and ``values``) and no passages.
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
    collection: Collection = "mine"
    key: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of one section: the unit that is searched and cited. ``path``: the headings above it, outermost first.

    ``section_id``: the id of its section for ``Library.section``.
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
    collection: Collection = "mine"

    @property
    def section_id(self) -> str:
        return f"{self.document_id}:{self.section}"

    @property
    def label(self) -> str:
        """Returns the place of the passage for citations: «file › section», or «file › section › p. 3»."""
        return build_place_label(self.name, self.path)


@dataclass(frozen=True, slots=True)
class Section:
    """A whole section: its text and the ids of the passages that it was split into. ``starts``: the offset in the text
    where each passage begins."""

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
        return build_place_label(self.name, self.path)


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The documents that a question may be answered from. ``session``: the conversation whose files the collection
    «session» stands for; '' stands for none, so that a caller without a conversation finds no conversation's files.
    ``asked_with_files``: the user sent files with the question, so the question is about those files. ``has_files``:
    the conversation has files with text, which a question of a later turn may mean (a small model's turn says so)."""

    collections: tuple[Collection, ...] = COLLECTIONS
    session: str = ""
    asked_with_files: bool = False
    has_files: bool = False


EVERYBODYS = SearchScope()
"""The scope without any conversation's files."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The conditions that a passage must meet to be found; ``None`` allows all. ``documents``: ids.
    ``product_language``: limits the product's documents alone, because they say the same in each language."""

    doc_type: DocType | None = None
    has_steps: bool | None = None
    language: Language | None = None
    documents: tuple[int, ...] | None = None
    product_language: Language | None = None
    scope: SearchScope = EVERYBODYS


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found.

    ``score``: the fused score, 0 to 1; for a section, the score of ``retrieval.answer.heading.rank_sections``.
    ``cosine`` and ``bm25``: the raw scores; ``heading``: the cosine of question and headings; ``cover``: the share of
    the question's words that the passage has, 0 to 1. Ranks count from 1; None: not among the candidates of that
    search. ``reranked``:
    the rank that the judging model gave the passage.
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
    heading: float = 0.0


@dataclass(frozen=True, slots=True)
class LibraryStatus:
    """The library at a glance. ``rebuild``: why the index must be rebuilt («corrupt», «model»), or None.

    ``model``: the embedding model of the passages; ``tokens``: how Korean words are cut («kiwi», «ngram»).
    """

    documents: int
    failed: int
    passages: int
    model: str
    tokens: str
    revision: int
    rebuild: Literal["corrupt", "model"] | None = None
