"""Workbooks of Excel and LibreOffice: a section for each sheet."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from errors import DocumentBroken, DocumentEncrypted, DocumentRowless
from retrieval.read.escaped import escape_blocks, escape_heading
from retrieval.read.format import html, table
from retrieval.read.format.archive import open_archive
from retrieval.read.format.loaded import Loaded, Sheet

_PACKED, _OLD = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"


def read_workbook(name: str, data: bytes, limit: int) -> Loaded:
    """Reads a workbook. Many programs export a page or a table as text with the suffix of Excel, which is read too."""
    if not data.startswith((_PACKED, _OLD)):
        return html.read_html(name, data, limit) if b"<" in data.lstrip()[:1] else table.read_table(name, data, limit)
    if data.startswith(_PACKED):
        open_archive(name, data, limit).close()
    texts, sheets = list[str](), list[Sheet]()
    for title, grid in _iterate_grids(name, data):
        said, sheet = _write_grid(title, grid)
        texts.append(f"# {escape_heading(title)}\n\n{said}" if said else "")
        sheets += [sheet] if sheet.columns else []
    columns = [column for sheet in sheets for column in sheet.columns if column]
    if columns and not any(any(row) for sheet in sheets for row in sheet.rows):
        raise DocumentRowless(name=name, columns=", ".join(columns)[: table.COLUMNS_CHARS])
    return Loaded(name, "", "\n\n".join(filter(None, texts)), True, {}, tuple(sheets))


def _iterate_grids(name: str, data: bytes) -> Iterator[tuple[str, list[list[str]]]]:
    """Yields name and cells of every sheet that people see, merged cells written out."""
    import python_calamine as calamine

    try:
        book = calamine.load_workbook(io.BytesIO(data))
        shown = [each.name for each in book.sheets_metadata if each.visible == calamine.SheetVisibleEnum.Visible]
        for title in shown:
            sheet = book.get_sheet_by_name(title)
            grid = [[_write_sheet_cell(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
            _spread_merged_ranges(grid, sheet.merged_cell_ranges or ())
            yield title, grid
    except calamine.PasswordError as error:
        raise DocumentEncrypted(name=name) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what stops the Rust library is no ``Exception``
            raise
        reason = str(error)[:200]
        raise DocumentBroken(name=name, reason=reason, reason_code="damaged", detail=reason) from error


def _spread_merged_ranges(grid: list[list[str]], merged: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """Writes the value of a merged cell into each place that it covers, unless it fills the whole width, as a title
    does. A head whose cells group the columns below becomes one row."""
    width, grouped = max(map(len, grid), default=0), set[int]()
    for (top, left), (bottom, right) in merged:
        if right - left + 1 >= width > 1:
            continue
        for row in range(top, min(bottom + 1, len(grid))):
            grid[row][left : right + 1] = [grid[top][left]] * (min(right + 1, width) - left)
        grouped |= {top} if right > left and bottom == top else set()
    head = _find_head(grid)
    if head in grouped and head + 1 < len(grid):
        pairs = zip(grid[head], grid[head + 1], strict=False)
        grid[head] = [" ".join(dict.fromkeys(filter(None, pair))) for pair in pairs]
        grid[head + 1] = [""] * width


def _find_head(rows: Sequence[Sequence[str]]) -> int:
    """Returns the first row that fills more than half of the columns, which is the head of the table."""
    width = max((sum(map(bool, row)) for row in rows), default=0)
    return next((at for at, row in enumerate(rows) if 2 * sum(map(bool, row)) > width), 0)


def _write_sheet_cell(value: Any) -> str:
    """Returns a cell as people read it: whole numbers without a point, a date without the hour that nobody set."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return str(value).strip()


def _write_grid(title: str, grid: Sequence[Sequence[str]]) -> tuple[str, Sheet]:
    """Returns a sheet in Markdown, and its table. The lines above the head of the table, and a sheet without a table,
    are text."""
    numbers = [number for number, row in enumerate(grid, 1) if any(row)]
    filled = [list(grid[number - 1]) for number in numbers]
    width = max((sum(map(bool, row)) for row in filled), default=0)
    head = _find_head(filled) if width > 1 else len(filled)
    above = "\n\n".join(escape_blocks(" ".join(filter(None, row))) for row in filled[:head])
    if head >= len(filled) - 1 and not (head == 0 and len(filled) == 1 and width > 1):
        below = "\n\n".join(escape_blocks(" ".join(filter(None, row))) for row in filled[head:])
        return "\n\n".join(filter(None, (above, below))), Sheet(title, (), ())
    used = [at for at in range(len(filled[0])) if any(at < len(row) and row[at] for row in filled[head:])]
    columns, *rows = [[row[at] for at in used] for row in filled[head:]]
    below_head = tuple(numbers[head + 1 :])
    said = table.write_rows(columns, rows, level=2, numbers=below_head)
    return "\n\n".join(filter(None, (above, said))), Sheet(title, tuple(columns), tuple(map(tuple, rows)), below_head)
