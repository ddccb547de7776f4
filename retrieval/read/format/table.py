"""Tables: a section for every row, or for a few rows of a long table, which is calculated with rather than read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence

from errors import DocumentBroken, DocumentRowless
from retrieval.read.escaped import escape_blocks, escape_heading
from retrieval.read.format.loaded import Loaded, Sheet, decode_file
from retrieval.read.split import PASSAGE, estimate_passage_tokens
from text.clean import collapse_spaces
from text.cut import cut_graphemes

csv.field_size_limit(2**31 - 1)
COLUMNS_CHARS = 200
"""How much of the names of the columns an error shows, in characters."""
_SEPARATOR = re.compile(r"sep=(.)[ \t]*\n", re.IGNORECASE)
"""The line in which Excel names the separator of the cells."""
_QUESTION = ("question", "q", "질문", "문의", "제목", "title")
_ANSWER = ("answer", "a", "답변", "답", "내용", "content")
ROWS = 500
"""Up to this many rows, and in a table of questions and answers always, a row is a section of its own. More rows would
take a minute of embedding that nobody asks for: sums and highest values come from the table itself."""


def read_table(name: str, data: bytes, _limit: int) -> Loaded:
    numbered = _parse_table_rows(name, decode_file(name, data))
    columns, *rows = [row for _, row in numbered] or [[]]
    if any(columns) and not any(map(any, rows)):
        raise DocumentRowless(name=name, columns=cut_graphemes(", ".join(filter(None, columns)), COLUMNS_CHARS))
    numbers = tuple(number for number, _ in numbered[1:])
    sheet = Sheet("", tuple(columns), tuple(map(tuple, rows)), numbers)
    return Loaded(name, "", write_rows(columns, rows, numbers=numbers), True, {}, (sheet,))


def write_rows(
    columns: Sequence[str], rows: Sequence[Sequence[str]], level: int = 2, numbers: Sequence[int] = ()
) -> str:
    """Returns the rows of a table in Markdown, with headings of a level. ``numbers``: of the rows in a spreadsheet, ()
    when they follow the head in row 1."""
    question, answer = _find_column(columns, _QUESTION), _find_column(columns, _ANSWER)
    if len(rows) > ROWS and (question is None or answer is None):
        parts = _write_row_groups(columns, rows, level, numbers or range(2, len(rows) + 2))
    else:
        parts = (_render_row_section(row, columns, question, answer, level) for row in rows)
    return "\n\n".join(part for part in parts if part)


def _write_row_groups(
    columns: Sequence[str], rows: Sequence[Sequence[str]], level: int, numbers: Sequence[int]
) -> Iterator[str]:
    """Yields tables of a few rows each, as long as a passage, under the numbers that the rows have in a spreadsheet."""
    head = [_write_table_line(columns), f"|{' --- |' * len(columns)}"]
    lines, size, first, last = list[str](), 0, numbers[0], numbers[0]
    for number, row in zip(numbers, rows, strict=True):
        line = _write_table_line([*row, *[""] * (len(columns) - len(row))])
        if lines and size + estimate_passage_tokens(line) > PASSAGE:
            yield "\n".join([f"{'#' * level} {first}–{last}\n", *head, *lines])
            lines, size, first = [], 0, number
        lines.append(line)
        size, last = size + estimate_passage_tokens(line), number
    yield "\n".join([f"{'#' * level} {first}–{last}\n", *head, *lines])


def _write_table_line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(collapse_spaces(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _parse_table_rows(name: str, text: str) -> list[tuple[int, list[str]]]:
    """Returns the cells of every row that has any, with the number that a spreadsheet gives the row."""
    separator = _SEPARATOR.match(text)
    delimiter = separator[1] if separator else _guess_delimiter(name, text)
    first, body = (2, text[separator.end() :]) if separator else (1, text)
    body = re.sub(rf'" +(?=[{re.escape(delimiter)}\n]|\Z)', '"', body)
    reader = csv.reader(io.StringIO(body), delimiter=delimiter, skipinitialspace=True, strict=True)
    rows, line = list[tuple[int, list[str]]](), first
    try:
        for number, row in enumerate(reader, 1):
            rows += [(number, [cell.strip() for cell in row])] if row else []
            line = first + reader.line_num
    except csv.Error as error:
        reason = f"line {line:,} is not written as usual ({error})"
        raise DocumentBroken(name=name, reason=reason, reason_code="line", line=line, detail=str(error)) from error
    return rows


def _guess_delimiter(name: str, text: str) -> str:
    """Returns the separator of the cells, guessed from the first rows. The quoting is not guessed, because the first
    rows do not tell how the others are quoted."""
    try:
        return csv.Sniffer().sniff(text[:8192], delimiters=",;\t|").delimiter
    except csv.Error:
        return "\t" if name.lower().endswith(".tsv") else ","


def _find_column(columns: Sequence[str], names: tuple[str, ...]) -> int | None:
    """Returns the position of the first of these names that is among the columns."""
    lowered = [column.lower() for column in columns]
    return next((lowered.index(name) for name in names if name in lowered), None)


def _render_row_section(
    cells: Sequence[str], columns: Sequence[str], asked: int | None, answered: int | None, level: int
) -> str:
    """Returns a row as a section: its question, or its first cell, is the heading. Columns besides the answer stand
    below the answer."""
    remaining = dict(enumerate(cells))
    heading = escape_heading(collapse_spaces(remaining.get(asked or 0, "")))
    answer = ""
    if asked is not None and answered is not None:
        answer, _ = _escape_cell(remaining.pop(answered, "")), remaining.pop(asked, "")
    labels = [
        f"{columns[position]}: " if position < len(columns) and columns[position] else ""
        for position in range(len(cells))
    ]
    rest = "  \n".join(labels[position] + _escape_cell(cell) for position, cell in remaining.items() if cell)
    body = "\n\n".join(part for part in (answer, rest) if part)
    return f"{'#' * level} {heading or '–'}\n\n{body}" if body else ""


def _escape_cell(cell: str) -> str:
    """Returns a cell as text; only code in a closed fence stays code."""
    lines = cell.split("\n")
    fences = [line for line in lines if line.startswith("```")]
    closed = len(fences) % 2 == 0 and set(fences[1::2]) <= {"```"} and not any("`" in fence[3:] for fence in fences)
    return "\n".join(line if closed and line.startswith("```") else escape_blocks(line) for line in lines)
