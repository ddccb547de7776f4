"""Tables in CSV: a section for every row."""

from __future__ import annotations

import csv
import io
import re

from errors import DocumentBroken
from retrieval.read.escaped import escaped, literal
from retrieval.read.format.loaded import Loaded, decoded

csv.field_size_limit(2**31 - 1)
_SEPARATOR = re.compile(r"sep=(.)[ \t]*\n", re.IGNORECASE)
"""The line in which Excel names the separator of the cells."""
_QUESTION = ("question", "q", "질문", "문의", "제목", "title")
_ANSWER = ("answer", "a", "답변", "답", "내용", "content")


def read(name: str, data: bytes, _limit: int) -> Loaded:
    columns, *rows = _rows(name, decoded(name, data)) or [[]]
    question, answer = _column(columns, _QUESTION), _column(columns, _ANSWER)
    parts = [_row(row, columns, question, answer) for row in rows]
    return Loaded(name, "", "\n\n".join(part for part in parts if part), True, {})


def _rows(name: str, text: str) -> list[list[str]]:
    """Returns the cells of every row that has any."""
    separator = _SEPARATOR.match(text)
    delimiter = separator[1] if separator else _delimiter(name, text)
    first, body = (2, text[separator.end() :]) if separator else (1, text)
    body = re.sub(rf'" +(?=[{re.escape(delimiter)}\n]|\Z)', '"', body)
    reader = csv.reader(io.StringIO(body), delimiter=delimiter, skipinitialspace=True, strict=True)
    rows, line = list[list[str]](), first
    try:
        for row in reader:
            rows += [[cell.strip() for cell in row]] if row else []
            line = first + reader.line_num
    except csv.Error as error:
        reason = f"line {line:,} is not written as usual ({error})"
        raise DocumentBroken(name=name, reason=reason, reason_code="line", line=line, detail=str(error)) from error
    return rows


def _delimiter(name: str, text: str) -> str:
    """Returns the separator of the cells, guessed from the first rows. The quoting is not guessed, because the first
    rows do not tell how the others are quoted."""
    try:
        return csv.Sniffer().sniff(text[:8192], delimiters=",;\t|").delimiter
    except csv.Error:
        return "\t" if name.lower().endswith(".tsv") else ","


def _column(columns: list[str], names: tuple[str, ...]) -> int | None:
    """Returns the position of the first of these names that is among the columns."""
    lowered = [column.lower() for column in columns]
    return next((lowered.index(name) for name in names if name in lowered), None)


def _row(cells: list[str], columns: list[str], asked: int | None, answered: int | None) -> str:
    """Returns a row as a section: its question, or its first cell, is the heading. Columns besides the answer stand
    below the answer."""
    remaining = dict(enumerate(cells))
    heading = escaped(" ".join(remaining.get(asked or 0, "").split()))
    answer = ""
    if asked is not None and answered is not None:
        answer, _ = _text(remaining.pop(answered, "")), remaining.pop(asked, "")
    labels = [
        f"{columns[position]}: " if position < len(columns) and columns[position] else ""
        for position in range(len(cells))
    ]
    rest = "  \n".join(labels[position] + _text(cell) for position, cell in remaining.items() if cell)
    body = "\n\n".join(part for part in (answer, rest) if part)
    return f"## {heading or '–'}\n\n{body}" if body else ""


def _text(cell: str) -> str:
    """Returns a cell as text; only code in a closed fence stays code."""
    lines = cell.split("\n")
    fences = [line for line in lines if line.startswith("```")]
    closed = len(fences) % 2 == 0 and set(fences[1::2]) <= {"```"} and not any("`" in fence[3:] for fence in fences)
    return "\n".join(line if closed and line.startswith("```") else literal(line) for line in lines)
