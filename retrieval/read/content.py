"""The content of a file: its text, split into passages, and its language.

A file of a few kilobytes can make this take gigabytes and hours, so ``retrieval.read.reader`` runs it with limits.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, Self

from errors import DocumentEmpty, DocumentTooLong
from retrieval.calculation.query import add_kinds
from retrieval.document import DocType
from retrieval.read.format.loaded import Sheet
from retrieval.read.load import load_file
from retrieval.read.split import Piece, split_passages
from text.language import detect_language


@dataclass(frozen=True, slots=True)
class Content:
    """A document that was read. ``said``: the type that its front matter gives; ``sheets``: its tables, of files that
    are tables."""

    title: str
    language: str
    said: DocType | None
    pieces: tuple[Piece, ...]
    sheets: tuple[Sheet, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Returns the content as JSON data, for another process."""
        return {
            "title": self.title,
            "language": self.language,
            "said": self.said,
            "pieces": [astuple(piece) for piece in self.pieces],
            "sheets": [sheet.plain() for sheet in self.sheets],
        }

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        """Returns the content from the data of ``plain``."""
        pieces = tuple(
            Piece(section, number, tuple(path), text, steps) for section, number, path, text, steps in plain["pieces"]
        )
        sheets = tuple(Sheet.of(*sheet) for sheet in plain["sheets"])
        return cls(plain["title"], plain["language"], plain["said"], pieces, sheets)


def read_content(name: str, data: bytes, limit: int, passages: int | None = None) -> Content:
    """Reads a file of at most ``limit`` bytes into at most ``passages`` passages. Raises ``DocumentError``."""
    loaded = load_file(name, data, limit)
    pieces = tuple(split_passages(loaded.text, markdown=loaded.markdown, title=loaded.title))
    if not pieces:
        raise DocumentEmpty(name=name)
    if passages is not None and len(pieces) > passages:
        raise DocumentTooLong(name=name, size=len(pieces), limit=passages)
    front_type = (loaded.front.get("doc_type") or loaded.front.get("type") or "").lower()
    doc_type: DocType | None = "faq" if front_type == "faq" else "guide" if front_type == "guide" else None
    sheets = tuple(map(add_kinds, loaded.sheets))
    return Content(loaded.title, detect_language(f"{loaded.title}\n{loaded.text}"), doc_type, pieces, sheets)
