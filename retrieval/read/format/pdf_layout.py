"""The reading order of a PDF page: columns, tables, headings and paragraphs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from retrieval.read.contents import LEADER
from retrieval.read.escaped import MARK
from retrieval.read.format.pdf_letter import PageLine, Word, join_lines, split_at_gaps
from retrieval.read.format.pdf_table import PageTable, is_box_inside, take_aligned
from retrieval.read.split import STEPS

FULL = 0.55
"""Lines of columns fill at least this share of their column's width; the cells of a table are shorter."""
LEAST = 5
"""The fewest lines of a column."""
NARROW = 60
"""A column is wider than this, in points."""
_BULLET = re.compile(r"[-*+•·◦‣▪●○■□–]\s")
LINE_END = 40
"""How many characters say whether a line ends a paragraph."""
_END = re.compile(rf"[.!?:。…][\"'”’)]*$|{LEADER}\s*\d+$")
Leveled = Callable[[PageLine], int]
"""A function that returns the level of the heading that a line is; 0: it is none."""


@dataclass(frozen=True, slots=True)
class PageBlock:
    """A stretch of a page. ``level``: of a heading, 0: none; ``html`` of what is no heading."""

    level: int
    text: str
    html: str = ""


def read_blocks(words: Sequence[Word], tables: Sequence[PageTable], size: float, level_of: Leveled) -> list[PageBlock]:
    """Returns the blocks of a page in reading order. ``size``: of the document's text. A table flows with the text as a
    word of its size."""
    free = [word for word in words if not any(is_box_inside(table.box, word.box) for table in tables)]
    stands = {f"{MARK}{number}": table for number, table in enumerate(tables)}
    free += [Word(table.box, name, size, False) for name, table in stands.items()]
    return [block for lines in order_columns(free, size) for block in _of_lines(lines, level_of, stands)]


# --- columns --------------------------------------------------------------------------------------


def order_columns(words: Sequence[Word], size: float) -> list[list[PageLine]]:
    """Returns groups of lines in reading order: the left column before the right one, between parts over both."""
    if not words:
        return []
    lines = join_lines(words)
    parts = [part for line in lines for part in split_at_gaps(line)]
    edge = _find_edge(parts)
    if edge is None:
        return [lines]
    groups, band = list[list[PageLine]](), list[PageLine]()
    for part in sorted(parts, key=lambda part: -part.box[3]):
        if _is_edge_crossed(part, edge):
            groups += [*_of_band(band, edge, size), [part]]
            band = []
        else:
            band.append(part)
    return [*groups, *_of_band(band, edge, size)]


def _of_band(parts: Sequence[PageLine], edge: float, size: float) -> list[list[PageLine]]:
    """Returns the left parts before the right ones, each ordered by itself."""
    sides = [[part for part in parts if (part.box[0] < edge) is left] for left in (True, False)]
    return [group for side in sides for group in order_columns([word for part in side for word in part.words], size)]


def _is_edge_crossed(part: PageLine, edge: float) -> bool:
    return part.box[0] < edge < part.box[2]


def _find_edge(parts: Sequence[PageLine]) -> float | None:
    """Returns the place where a second column of text begins; None when the text has one column, or is a table."""
    left, right = min(part.box[0] for part in parts), max(part.box[2] for part in parts)
    starts = Counter(round(part.box[0] / 4) for part in parts if left + NARROW < part.box[0] < right - NARROW)
    for start, _ in starts.most_common(4):
        edge = min(part.box[0] for part in parts if abs(part.box[0] / 4 - start) <= 1) - 1
        before = [part for part in parts if part.box[2] <= edge]
        behind = [part for part in parts if part.box[0] >= edge]
        few_cross = 3 * (len(parts) - len(before) - len(behind)) <= len(parts)
        if few_cross and all(_is_column(side) or _has_columns(side) for side in (before, behind)):
            return edge
    return None


def _has_columns(parts: Sequence[PageLine]) -> bool:
    return len(parts) >= 2 * LEAST and _find_edge(parts) is not None


def _is_column(parts: Sequence[PageLine]) -> bool:
    """Returns whether most parts fill the width that all of them take, as lines of text do and cells do not."""
    if len(parts) < LEAST:
        return False
    width = max(part.box[2] for part in parts) - min(part.box[0] for part in parts)
    full = sum(part.box[2] - part.box[0] >= FULL * width for part in parts)
    return 2 * full > len(parts) or 3 * full > len(parts) >= 3 * LEAST


# --- headings, paragraphs and tables of one column -------------------------------------------------


def _of_lines(lines: Sequence[PageLine], level_of: Leveled, tables: Mapping[str, PageTable]) -> Iterator[PageBlock]:
    at, paragraph = 0, list[PageLine]()
    width = max((line.box[2] for line in lines), default=0.0)
    while at < len(lines):
        table = tables.get(lines[at].words[0].text)
        html, count = (table.html, 1) if table else take_aligned(lines, at)
        level = 0 if count else level_of(lines[at])
        if count or level:
            yield from _write_paragraph(paragraph)
            paragraph = []
        if count:
            yield PageBlock(0, "", html)
        elif level:
            count = next((more for more in range(1, 4) if not _same_heading(lines, at + more, level_of)), 4)
            yield PageBlock(level, " ".join(line.text for line in lines[at : at + count]))
        else:
            if paragraph and _is_paragraph_start(paragraph, lines[at], width):
                yield from _write_paragraph(paragraph)
                paragraph = []
            paragraph.append(lines[at])
        at += count or 1
    yield from _write_paragraph(paragraph)


def _same_heading(lines: Sequence[PageLine], at: int, level_of: Leveled) -> bool:
    """Returns whether a line continues the heading of the line before it."""
    if at >= len(lines) or level_of(lines[at]) != level_of(lines[at - 1]):
        return False
    first, second = lines[at - 1], lines[at]
    return first.size == second.size and first.box[1] - second.box[3] < 0.8 * first.size


def _is_paragraph_start(paragraph: Sequence[PageLine], line: PageLine, width: float) -> bool:
    """Returns whether a line begins a paragraph: it is a list item, or the line before it ends one."""
    last = paragraph[-1]
    if STEPS.match(line.text) or _BULLET.match(line.text):
        return True
    far = last.box[1] - line.box[3] > 0.9 * max(line.size, last.size)
    left = min(each.box[0] for each in paragraph)
    short = last.box[2] - left < 0.6 * (width - left)
    return far or bool(_END.search(last.text[-LINE_END:])) or short


def _write_paragraph(lines: Sequence[PageLine]) -> Iterator[PageBlock]:
    if not lines:
        return
    text = lines[0].text
    for line in lines[1:]:
        parted = re.search(r"[a-z]-$", text) and re.match(r"[a-z]", line.text)
        text = text[:-1] + line.text if parted else f"{text} {line.text}"
    yield PageBlock(0, text, f"<p>{escape(text)}</p>")
