"""Tables of an HTML page: those that only arrange the page become paragraphs, and merged cells become cells of their
own, so that every value stands in its column."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from text.clean import collapse_spaces

_BLOCKS = ("table", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "hr", "blockquote", "pre")
LONG = 300
"""A cell with more letters than this is no cell of a table without a head."""
SHORT = 120
"""A row of a page's arrangement with at most so many letters is one line."""
CELLS = 20_000
"""The most cells that the merged cells of a table are written out to; those beyond stay one cell each."""
WIDE = 200
"""The most columns that a merged cell covers."""
Grid = list[list[Any]]


def settle_tables(root: Any) -> None:
    """Rewrites the tables of a page, the inner ones first."""
    for table in [*root.iter("table")][::-1]:
        rows = _list_table_rows(table)
        if _is_layout(table, rows):
            _flatten_layout(table, rows)
        else:
            _spread_merged_cells(table, rows)


def _list_table_rows(table: Any) -> list[list[Any]]:
    """Returns the cells of each row of a table, without those of tables inside."""
    groups = [table, *(each for each in table if each.tag in ("thead", "tbody", "tfoot"))]
    rows = [row for group in groups for row in group if row.tag == "tr"]
    return [[cell for cell in row if cell.tag in ("td", "th")] for row in rows]


def _is_layout(table: Any, rows: Sequence[Sequence[Any]]) -> bool:
    """Returns whether a table only arranges the page, as those of mails do."""
    if table.get("role") in ("presentation", "none"):
        return True
    filled = [[cell for cell in row if _count_letters(cell)] for row in rows]
    if any(next(cell.iter(*_BLOCKS[:7]), None) is not None for row in rows for cell in row):
        return True
    width = max((sum(_read_span(cell, "colspan") for cell in row) for row in rows), default=0)
    if len(filled) > 1 and filled[0] and {cell.tag for cell in filled[0]} == {"th"} and width == 1:
        return False
    if width < 2 or max(map(len, filled), default=0) < 2 or sum(map(bool, filled)) < 2:
        return True
    if next(table.iter("th", "caption"), None) is not None or table.get("border", "0") not in ("", "0"):
        return False
    return any(
        _count_letters(cell) > LONG or next(cell.iter(*_BLOCKS), None) is not None for row in rows for cell in row
    )


def _flatten_layout(table: Any, rows: Sequence[Sequence[Any]]) -> None:
    """Makes a paragraph of each cell, or of a short row."""
    for cells in rows:
        plain = all(next(cell.iter(*_BLOCKS, "p", "div"), None) is None for cell in cells)
        short = plain and sum(map(_count_letters, cells)) <= SHORT
        for cell in cells:
            cell.tag = "span" if short else "div"
            cell.attrib.clear()
            cell.tail = " " if short else None
        if cells:
            cells[0].getparent().tag = "p" if short else "div"
    for group in table:
        if group.tag in ("thead", "tbody", "tfoot", "caption"):
            group.tag = "div"
    table.tag = "div"
    table.attrib.clear()


def _spread_merged_cells(table: Any, rows: Sequence[Sequence[Any]]) -> None:
    """Writes merged cells out, joins the rows of a head into one, and puts a title above the table."""
    width = max(sum(_read_span(cell, "colspan") for cell in row) for row in rows)
    titled = len(rows[0]) == 1 and 1 < width <= _read_span(rows[0][0], "colspan")
    titles = [*(each for each in table if each.tag == "caption"), *(rows[0] if titled else ())]
    body = rows[1:] if titled else rows
    head, grid = _count_head_rows(body), _lay_out_grid(body, width)
    for at in range(len(grid[0]) if head > 1 else 0):
        _join_head_cells([row[at] for row in grid[:head]])
    for title in titles:
        title.tag, title.tail = "p", None
        title.attrib.clear()
        table.addprevious(title)
    for child in [*table]:
        table.remove(child)
    for cells in [grid[0], *grid[max(head, 1) :]]:
        row = table.makeelement("tr", {})
        row.extend(cells)
        table.append(row)


def _count_head_rows(rows: Sequence[Sequence[Any]]) -> int:
    """Returns how many rows are the head: those of ``th`` alone, or those that the merged cells of a first row with
    groups of columns reach down to."""
    only = next((at for at, row in enumerate(rows) if not row or any(cell.tag != "th" for cell in row)), len(rows) - 1)
    deep = max((_read_span(cell, "rowspan") for cell in rows[0]), default=1)
    grouped = deep > 1 and any(_read_span(cell, "colspan") > 1 for cell in rows[0])
    return max(1, only, deep if grouped and deep < len(rows) else 1)


def _lay_out_grid(rows: Sequence[Sequence[Any]], width: int) -> Grid:
    """Returns the cells of every row and column: a merged cell stands in each place that it covers, or only in the
    first one when it fills its row."""
    grid: list[dict[int, Any]] = [{} for _ in rows]
    left = CELLS
    for number, cells in enumerate(rows):
        at = 0
        for cell in cells:
            while at in grid[number]:
                at += 1
            columns, deep = _read_span(cell, "colspan"), min(_read_span(cell, "rowspan"), len(rows) - number)
            columns, deep = (columns, deep) if columns * deep <= left else (1, 1)
            left -= columns * deep - 1
            alone = 1 < columns >= width
            cell.attrib.clear()
            cell.tail = None
            for row in range(number, number + deep):
                for column in range(at, at + columns):
                    first = row == number and column == at
                    grid[row].setdefault(column, cell if first else _copy_cell(cell, empty=alone and column > at))
            at += columns
    most = max((max(row) for row in grid if row), default=0) + 1
    new = rows[0][0].makeelement if rows[0] else None
    return [[row[at] if at in row else new("td", {}) for at in range(most)] for row in grid if row and new]


def _copy_cell(cell: Any, *, empty: bool) -> Any:
    return cell.makeelement(cell.tag, {}) if empty else copy.deepcopy(cell)


def _join_head_cells(cells: Sequence[Any]) -> None:
    """Adds the texts of cells below to the first of them, each once."""
    texts = dict.fromkeys(collapse_spaces("".join(cell.itertext())) for cell in cells)
    for child in [*cells[0]]:
        cells[0].remove(child)
    cells[0].text = " ".join(filter(None, texts))


def _read_span(cell: Any, name: str) -> int:
    text = cell.get(name, "1").strip()
    return max(1, min(int(text), WIDE if name == "colspan" else 10_000)) if text.isdecimal() and len(text) < 6 else 1


def _count_letters(cell: Any) -> int:
    return len("".join("".join(cell.itertext()).split()))
