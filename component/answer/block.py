"""Places where a growing answer can be cut, so that the browser receives every finished piece only once.

Markdown is cut only where both parts render as they would together: between blocks (paragraphs, items of an outer list,
headings, quotes; never inside a table, code or display math), and inside a long paragraph of prose between two words
when no Markdown mark is open. The pieces of such a paragraph are drawn as one paragraph (``live-run`` in style.css).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

RUN_BYTES = 200
"""Size in bytes that a piece must reach before its paragraph is cut between two words."""
SPACE = "&#32;"
"""A space as a character reference, because Markdown drops a plain space at the start of a piece."""

Kind = Literal["blank", "text", "list", "quote", "heading", "rule", "inside", "end"]

_HEADING = re.compile(r"#{1,6} +\S")
_ITEM = re.compile(r"(?:[-*+]|(\d{1,9})[.)]) +\S")
_RULE = re.compile(r"(-{3,}|={3,}|\*{3,}|_{3,})\s*$")
_FENCE = re.compile(r"\s*(`{3,}(?=[^`]*$)|~{3,})")
_OPEN_LINK = re.compile(r"\]\([^)]*$")
_PAIRED = ("`", "*", "**", "_", "__", "~~", "$", "$$")


@dataclass(frozen=True, slots=True)
class CutPoint:
    """The end of a finished piece; ``joined``: the paragraph goes on after the cut."""

    end: int
    joined: bool = False


def next_cut(text: str, start: int = 0, joined: bool = False) -> CutPoint | None:
    """Returns a cut after ``start`` that stays right however ``text`` goes on, or None while there is none.

    ``start``: 0 or the end of the last cut; ``joined``: whether ``start`` lies inside a paragraph.
    """
    kind: Kind = "text" if joined else "blank"
    begun, gap = joined, False
    end = start + len(_read_line_at(text, start)) if joined else start
    prose = joined and "|" not in text[start:end]
    for position, line, line_kind in _read_markdown_lines(text, end):
        if begun and line_kind != "blank" and _is_block_boundary(kind, line_kind, line, gap):
            return CutPoint(position)
        if line_kind != "blank":
            prose = line_kind == "text" and (prose or not begun) and "|" not in line
            kind, begun = line_kind, True
        gap = line_kind == "blank"
        end = position + len(line)
    if begun and prose and not gap:
        return _between_words(text, start)
    return None


def _read_markdown_lines(text: str, position: int) -> Iterator[tuple[int, str, Kind]]:
    """Yields position, text and kind of every line from ``position`` on."""
    inside = ""
    while position < len(text):
        line = _read_line_at(text, position)
        bare = line.strip()
        kind: Kind
        if inside:
            closed = bare.endswith("$$") if inside == "$$" else set(bare) == {inside[0]} and len(bare) >= len(inside)
            kind, inside = ("end", "") if closed else ("inside", inside)
        elif fence := _FENCE.match(line.rstrip("\n")):
            kind, inside = "inside", fence[1]
        elif bare == "$$":
            kind, inside = "inside", "$$"
        else:
            kind = _classify_markdown_line(line, bare)
        yield position, line, kind
        position += len(line)


def _classify_markdown_line(line: str, bare: str) -> Kind:
    if not bare:
        return "blank"
    if line[0].isspace():
        return "list"  # an indented line belongs to the block above: never a place to cut
    if _HEADING.match(line):
        return "heading"
    if _RULE.match(line):
        return "rule"
    if _ITEM.match(line):
        return "list"
    return "quote" if bare[0] == ">" else "text"


def _is_block_boundary(before: Kind, now: Kind, line: str, gap: bool) -> bool:
    """Returns whether a block ends before ``line``, which has kind ``now`` and follows a line of kind ``before``."""
    if line[0].isspace() or now == "end" or (now == "inside" and before == "inside"):
        return False
    if gap or before in ("heading", "rule", "end"):
        return True
    if now == "list":
        number = (_ITEM.match(line) or [None, None])[1]
        return before != "quote" and (before == "list" or number in (None, "1"))
    return now == "heading" or (now != before and now in ("quote", "inside"))


def _between_words(text: str, start: int) -> CutPoint | None:
    """Returns a cut at the last space that leaves no mark open and at least ``RUN_BYTES`` before it, or None."""
    end = len(text)
    while (end := text.rfind(" ", start, end)) > start:
        piece = text[start:end]
        if len(piece.encode("utf-8", "replace")) < RUN_BYTES:
            return None
        if not text[end + 1 : end + 2].isspace() and end + 1 < len(text) and _is_markup_closed(piece):
            return CutPoint(end, joined=True)
    return None


def _is_markup_closed(piece: str) -> bool:
    """Returns whether no emphasis, code, math or link is open at the end of the piece."""
    even = all(piece.count(mark) % 2 == 0 for mark in _PAIRED)
    return even and piece.count("[") == piece.count("]") and not _OPEN_LINK.search(piece)


def _read_line_at(text: str, position: int) -> str:
    return text[position : text.find("\n", position) + 1 or len(text)]
