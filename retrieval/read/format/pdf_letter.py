"""The letters of a PDF page with their places, joined into words and lines; and the ruled lines of the page.

Coordinates are those of the page in points, from its lower left corner; ``Box`` is left, bottom, right, top.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Box = tuple[float, float, float, float]
WORD_GAP = 0.25
"""Letters that are farther apart than this share of their size belong to two words."""
HYPHENS = {"\x02": "-", "\u00ad": "-"}
"""What pdfium gives for a hyphen at the end of a line."""
SAME_LINE = 0.5
"""Words whose middles differ by less than this share of their height stand on one line."""
COLUMN_GAP = 1.0
"""Words of a line that are farther apart than this many times their size stand in two columns."""
THIN = 3.0
"""A filled shape thinner than this is a ruled line, in points."""
EDGES = 20_000
"""The most ruled lines of a page that are looked at; a drawing has more."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a page. ``size``: of its letters in points."""

    box: Box
    text: str
    size: float
    bold: bool


@dataclass(frozen=True, slots=True)
class PageLine:
    """Words side by side, from left to right."""

    words: tuple[Word, ...]

    @property
    def box(self) -> Box:
        boxes = [word.box for word in self.words]
        return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def size(self) -> float:
        """Returns the size of most of its letters."""
        return max(self.words, key=lambda word: len(word.text)).size

    @property
    def bold(self) -> bool:
        return all(word.bold for word in self.words)


def read_page_words(page: Any) -> list[Word]:
    """Returns the words of a page in the order in which the file has them."""
    import pypdfium2.raw as raw

    text, place = page.get_textpage(), raw.FS_RECTF()
    words, letters = list[Word](), list[tuple[str, Box, int]]()
    for at in range(text.count_chars()):
        letter = chr(raw.FPDFText_GetUnicode(text, at))
        letter = HYPHENS.get(letter, letter)
        if letter.isspace() or not letter.isprintable():
            words += _make_word(raw, text, letters)
            letters = []
            continue
        raw.FPDFText_GetLooseCharBox(text, at, place)
        box = (place.left, place.bottom, place.right, place.top)
        if letters and not _is_same_word(letters[-1][1], box):
            words += _make_word(raw, text, letters)
            letters = []
        letters.append((letter, box, at))
    return words + _make_word(raw, text, letters)


def _make_word(raw: Any, text: Any, letters: Sequence[tuple[str, Box, int]]) -> list[Word]:
    if not letters:
        return []
    at = letters[0][2]
    boxes = [box for _, box, _ in letters]
    box = min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)
    weight = raw.FPDFText_GetFontWeight(text, at)
    name = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(text, at, name, 128, None)
    bold = weight >= 600 or b"bold" in name.value.lower() or b"black" in name.value.lower()
    size = raw.FPDFText_GetFontSize(text, at) or box[3] - box[1]
    return [Word(box, "".join(letter for letter, _, _ in letters), round(_compute_drawn_size(box, size), 1), bold)]


def _compute_drawn_size(box: Box, size: float) -> float:
    """Returns the size in which a word is drawn: a file may write size 1 and enlarge the page instead."""
    height = box[3] - box[1]
    return size if size > 1.5 else height


def _is_same_word(last: Box, box: Box) -> bool:
    """Returns whether a letter continues the word of the last one."""
    height = max(last[3] - last[1], box[3] - box[1], 1.0)
    apart = box[0] - last[2]
    beside = min(last[3], box[3]) > max(last[1], box[1]) - height / 2
    return beside and -height < apart < max(WORD_GAP * height, 1.0)


def join_lines(words: Sequence[Word]) -> list[PageLine]:
    """Returns the lines of words from top to bottom."""
    lines = list[list[Word]]()
    middles = list[tuple[float, float]]()
    for word in sorted(words, key=lambda word: -(word.box[1] + word.box[3])):
        middle, height = (word.box[1] + word.box[3]) / 2, max(word.size * 0.7, 1.0)
        if middles and abs(middles[-1][0] - middle) < SAME_LINE * max(height, middles[-1][1]):
            lines[-1].append(word)
        else:
            lines.append([word])
            middles.append((middle, height))
    return [PageLine(tuple(sorted(line, key=lambda word: word.box[0]))) for line in lines]


def split_at_gaps(line: PageLine) -> list[PageLine]:
    """Returns the parts of a line that wide gaps separate."""
    parts = [[line.words[0]]]
    for word in line.words[1:]:
        if word.box[0] - parts[-1][-1].box[2] > COLUMN_GAP * max(min(word.size, parts[-1][-1].size), 1.0):
            parts.append([])
        parts[-1].append(word)
    return [PageLine(tuple(part)) for part in parts]


def compute_body_size(words: Sequence[Word]) -> float:
    """Returns the size of most letters, the middle one of all."""
    return median([word.size for word in words for _ in word.text]) if words else 0.0


def read_rules(page: Any) -> tuple[list[Box], list[Box]]:
    """Returns the horizontal and the vertical ruled lines of a page, as boxes without height or width."""
    import pypdfium2.raw as raw

    flat, upright = list[Box](), list[Box]()
    for shape in page.get_objects(filter=(raw.FPDF_PAGEOBJ_PATH,), max_depth=3):
        for x0, y0, x1, y1 in _iterate_edges(raw, shape):
            if abs(y1 - y0) < THIN and abs(x1 - x0) > THIN:
                flat.append((min(x0, x1), (y0 + y1) / 2, max(x0, x1), (y0 + y1) / 2))
            elif abs(x1 - x0) < THIN and abs(y1 - y0) > THIN:
                upright.append(((x0 + x1) / 2, min(y0, y1), (x0 + x1) / 2, max(y0, y1)))
        if len(flat) + len(upright) > EDGES:
            return [], []
    return flat, upright


def _iterate_edges(raw: Any, shape: Any) -> Iterator[tuple[float, float, float, float]]:
    """Yields the drawn edges of a shape: of an outline its sides; a thin filled shape is the line it looks like."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(shape, fill, stroke)
    matrix, x, y = shape.get_matrix(), ctypes.c_float(), ctypes.c_float()
    points, start = list[tuple[float, float]](), (0.0, 0.0)
    edges = list[tuple[float, float, float, float]]()
    for number in range(min(raw.FPDFPath_CountSegments(shape), EDGES)):
        segment = raw.FPDFPath_GetPathSegment(shape, number)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO and points:
            edges.append((*points[-1], *point))
        points.append(point)
        if raw.FPDFPathSegment_GetClose(segment):
            edges.append((*point, *start))
    if stroke.value:
        yield from edges
    elif points:
        left, right = min(x for x, _ in points), max(x for x, _ in points)
        low, high = min(y for _, y in points), max(y for _, y in points)
        if min(right - left, high - low) < THIN:
            yield left, low, right, high
