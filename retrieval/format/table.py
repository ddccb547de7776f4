"""Tables in CSV: a section for every row."""

from __future__ import annotations

import csv
import io

from retrieval.format.loaded import Loaded, decoded
from retrieval.literal import escaped, literal

_QUESTION = ("question", "q", "질문", "문의", "제목", "title")
_ANSWER = ("answer", "a", "답변", "답", "내용", "content")


def read(name: str, data: bytes, _limit: int) -> Loaded:
    text = decoded(name, data)
    quoted = csv.reader(io.StringIO(text), delimiter=_delimiter(name, text), skipinitialspace=True, strict=True)
    rows = [[cell.strip() for cell in row] for row in quoted if row]
    columns = rows[0] if rows else []
    asked, answered = _column(columns, _QUESTION), _column(columns, _ANSWER)
    parts = [_row(row, columns, asked, answered) for row in rows[1:]]
    return Loaded(name, "", "\n\n".join(part for part in parts if part), True, {})


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
