"""Tables in CSV: a section for every row."""

from __future__ import annotations

import csv
import io
import re

from errors import DocumentBroken
from retrieval.format.loaded import Loaded, decoded
from retrieval.literal import escaped, literal

csv.field_size_limit(2**31 - 1)
_SEPARATOR = re.compile(r"sep=(.)[ \t]*\n", re.IGNORECASE)
"""How Excel says what separates the cells."""
_QUESTION = ("question", "q", "질문", "문의", "제목", "title")
_ANSWER = ("answer", "a", "답변", "답", "내용", "content")


def read(name: str, data: bytes, _limit: int) -> Loaded:
    columns, *rows = _rows(name, decoded(name, data)) or [[]]
    asked, answered = _column(columns, _QUESTION), _column(columns, _ANSWER)
    parts = [_row(row, columns, asked, answered) for row in rows]
    return Loaded(name, "", "\n\n".join(part for part in parts if part), True, {})


def _rows(name: str, text: str) -> list[list[str]]:
    """The cells of every row that has any."""
    said = _SEPARATOR.match(text)
    delimiter = said[1] if said else _delimiter(name, text)
    first, body = (2, text[said.end() :]) if said else (1, text)
    body = re.sub(rf'" +(?=[{re.escape(delimiter)}\n]|\Z)', '"', body)
    quoted = csv.reader(io.StringIO(body), delimiter=delimiter, skipinitialspace=True, strict=True)
    rows, line = list[list[str]](), first
    try:
        for row in quoted:
            rows += [[cell.strip() for cell in row]] if row else []
            line = first + quoted.line_num
    except csv.Error as error:
        reason = f"line {line:,} is not written as usual ({error})"
        raise DocumentBroken(name=name, reason=reason, reason_code="line", line=line, detail=str(error)) from error
    return rows


def _delimiter(name: str, text: str) -> str:
    """What separates the cells, by the first rows. They do not tell how the others are quoted: that is as usual."""
    try:
        return csv.Sniffer().sniff(text[:8192], delimiters=",;\t|").delimiter
    except csv.Error:
        return "\t" if name.lower().endswith(".tsv") else ","


def _column(columns: list[str], names: tuple[str, ...]) -> int | None:
    """The place of the first of these names that is there."""
    found = [column.lower() for column in columns]
    return next((found.index(name) for name in names if name in found), None)


def _row(cells: list[str], columns: list[str], asked: int | None, answered: int | None) -> str:
    """A row as a section: its question, or its first cell, is the heading. Columns beside the answer stand below it."""
    told = dict(enumerate(cells))
    heading = escaped(" ".join(told.get(asked or 0, "").split()))
    answer = ""
    if asked is not None and answered is not None:
        answer, _ = _text(told.pop(answered, "")), told.pop(asked, "")
    named = [f"{columns[at]}: " if at < len(columns) and columns[at] else "" for at in range(len(cells))]
    rest = "  \n".join(named[at] + _text(cell) for at, cell in told.items() if cell)
    body = "\n\n".join(part for part in (answer, rest) if part)
    return f"## {heading or '–'}\n\n{body}" if body else ""


def _text(cell: str) -> str:
    """A cell as text; only code that is fenced and closed is code."""
    lines = cell.split("\n")
    fences = [line for line in lines if line.startswith("```")]
    closed = len(fences) % 2 == 0 and set(fences[1::2]) <= {"```"} and not any("`" in each[3:] for each in fences)
    return "\n".join(line if closed and line.startswith("```") else literal(line) for line in lines)
