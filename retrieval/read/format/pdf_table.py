"""Tables of a PDF page: cells between ruled lines, and columns of words that stand below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from retrieval.read.format.pdf_letter import Box, PageLine, Word, join_lines, split_at_gaps

NEAR = 3.0
"""Ruled lines that are nearer than this are one, in points."""
MOST = 200
"""The most rows or columns of a ruled table."""
LEAST = 3
"""The fewest rows of a table without ruled lines between its columns."""
FAR = 1.5
"""A line that is farther below than this many times its size belongs to no table above."""
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of a page in HTML, and the box that it fills."""

    box: Box
    html: str


def find_ruled(flat: Sequence[Box], upright: Sequence[Box], words: Sequence[Word]) -> list[PageTable]:
    """Returns the tables whose cells ruled lines surround."""
    tables = list[PageTable]()
    for rows, columns in _group_touching_rules(flat, upright):
        ys = sorted(_merge_near_places([line[1] for line in rows]), reverse=True)
        xs = sorted(_merge_near_places([line[0] for line in columns]))
        if 3 <= len(ys) <= MOST and 3 <= len(xs) <= MOST:
            box = (xs[0], ys[-1], xs[-1], ys[0])
            inside = [word for word in words if is_box_inside(box, word.box)]
            if len(inside) > len(ys):
                tables.append(PageTable(box, _write_ruled(xs, ys, rows, columns, inside)))
    return tables


def is_box_inside(outer: Box, inner: Box) -> bool:
    """Returns whether the middle of one box lies in another."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] - 1 <= x <= outer[2] + 1 and outer[1] - 1 <= y <= outer[3] + 1


def _group_touching_rules(flat: Sequence[Box], upright: Sequence[Box]) -> list[tuple[list[Box], list[Box]]]:
    """Returns groups of ruled lines that cross or touch each other."""
    lines = [*flat, *upright]
    if not flat or not upright or len(lines) > 3000:
        return []
    parent = list(range(len(lines)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for at, across in enumerate(flat):
        for other, down in enumerate(upright, len(flat)):
            if across[0] - NEAR <= down[0] <= across[2] + NEAR and down[1] - NEAR <= across[1] <= down[3] + NEAR:
                parent[root(at)] = root(other)
    groups: dict[int, tuple[list[Box], list[Box]]] = {}
    for at, line in enumerate(lines):
        groups.setdefault(root(at), ([], []))[0 if at < len(flat) else 1].append(line)
    return list(groups.values())


def _merge_near_places(places: Sequence[float]) -> list[float]:
    """Returns places without those that are near the one before."""
    kept = list[float]()
    for place in sorted(places):
        if not kept or place - kept[-1] > NEAR:
            kept.append(place)
    return kept


def _write_ruled(
    xs: Sequence[float], ys: Sequence[float], rows: Sequence[Box], columns: Sequence[Box], words: Sequence[Word]
) -> str:
    """Returns the table in HTML. A cell reaches to the right and down until a ruled line ends it."""

    def ends_right(column: int, row: int) -> bool:
        middle = (ys[row] + ys[row + 1]) / 2
        return any(abs(line[0] - xs[column]) <= NEAR and line[1] <= middle <= line[3] for line in columns)

    def ends_below(column: int, row: int) -> bool:
        middle = (xs[column] + xs[column + 1]) / 2
        return any(abs(line[1] - ys[row]) <= NEAR and line[0] <= middle <= line[2] for line in rows)

    width, height = len(xs) - 1, len(ys) - 1
    covered, html = set[tuple[int, int]](), list[str]()
    for row in range(height):
        cells = list[str]()
        for column in range(width):
            if (column, row) in covered:
                continue
            right, below = column + 1, row + 1
            while right < width and not ends_right(right, row):
                right += 1
            while below < height and not ends_below(column, below):
                below += 1
            covered |= {(x, y) for x in range(column, right) for y in range(row, below)}
            box = (xs[column], ys[below], xs[right], ys[row])
            cells.append(
                _write_cell([word for word in words if _is_word_in_cell(box, word)], right - column, below - row)
            )
        html.append(f"<tr>{''.join(cells)}</tr>")
    return f'<table border="1">{"".join(html)}</table>'


def _is_word_in_cell(box: Box, word: Word) -> bool:
    x, y = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
    return box[0] <= x < box[2] and box[1] <= y < box[3]


def _write_cell(words: Sequence[Word], columns: int, rows: int) -> str:
    text = " ".join(line.text for line in join_lines(words))
    return f'<td colspan="{columns}" rowspan="{rows}">{escape(text)}</td>'


def take_aligned(lines: Sequence[PageLine], at: int) -> tuple[str, int]:
    """Returns the table in HTML that begins at a line, and the number of its lines; '' and 0 when none begins there.
    Its rows have their words in the same columns, with wide gaps between."""
    if len(split_at_gaps(lines[at])) < 2:
        return "", 0
    rows, columns = list[list[PageLine]](), list[Span]()
    for line in lines[at:]:
        parts = split_at_gaps(line)
        if rows and rows[-1][0].box[1] - line.box[3] > FAR * line.size:
            break
        if len(parts) < 2 and not _continues_cell(parts[0], columns):
            break
        joined = (
            _join_spans([*columns, *(_span_of_part(part) for part in parts)]) if len(parts) >= len(columns) else columns
        )
        if columns and len(joined) < len(columns):
            break
        rows, columns = [*rows, parts], joined
    while rows and len(rows[-1]) < 2:
        rows.pop()
    whole = [row for row in rows if len(row) > 1]
    if len(whole) < LEAST or 2 * sum(map(len, whole)) <= len(whole) * len(columns):
        return "", 0
    return _write_aligned(rows, columns), len(rows)


def _span_of_part(part: PageLine) -> Span:
    return part.box[0], part.box[2]


def _continues_cell(part: PageLine, columns: Sequence[Span]) -> bool:
    """Returns whether a line that is one part continues a cell: it stands in a column behind the first."""
    return any(left - 2 <= part.box[0] and part.box[2] <= right + 2 for left, right in columns[1:])


def _join_spans(spans: Sequence[Span]) -> list[Span]:
    """Returns spans that do not overlap, from left to right."""
    joined = list[Span]()
    for left, right in sorted(spans):
        if joined and left <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(right, joined[-1][1]))
        else:
            joined.append((left, right))
    return joined


def _find_column_of_part(part: PageLine, columns: Sequence[Span]) -> int:
    """Returns the column that a part overlaps, or else the nearest one."""
    left, right = _span_of_part(part)
    return min(range(len(columns)), key=lambda at: max(columns[at][0] - right, left - columns[at][1]))


def _write_aligned(rows: Sequence[Sequence[PageLine]], columns: Sequence[Span]) -> str:
    cells = list[list[str]]()
    for row in rows:
        if len(row) > 1 or not cells:
            cells.append([""] * len(columns))
        for part in row:
            column = _find_column_of_part(part, columns)
            cells[-1][column] = f"{cells[-1][column]} {part.text}".strip()
    html = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells)
    return f'<table border="1">{html}</table>'
