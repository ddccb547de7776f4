"""``query_table``: the model asks the tables of the documents in SQL, and cites the rows that the result comes from."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from errors import DocumentTooHeavy, DocumentTooSlow, DocumentUnread, TableQueryFailed
from retrieval.answer.lookup import Cited, LookUp, SearchStep
from retrieval.answer.tool import render_search_result
from retrieval.calculation.query import ROW, TableResult, is_named
from retrieval.document import Passage
from retrieval.index.sheet import KnownSheet

NAME: Literal["query_table"] = "query_table"
SQL_CHARS = 2000
COLUMNS = 40
"""The most columns of a table that are described."""
_METADATA: dict[str, Any] = {
    "about": {
        "ko": "표 파일을 SQL로 조회: 합계, 최대, 개수, 조건",
        "en": "query tables in SQL: sums, highest, counts, conditions",
    },
    "foreign": True,
    "described": True,
}


class Calculating(Protocol):
    """The part of a library that queries need."""

    def query_sheets(self, sheets: Sequence[KnownSheet], sql: str) -> TableResult: ...

    def passage_of(self, sheet: KnownSheet) -> Passage: ...


class QueryArguments(BaseModel, extra="forbid"):
    """Arguments of ``query_table``."""

    sql: str = Field(max_length=SQL_CHARS, description="One SELECT of DuckDB over the tables that are listed")


def query_tool(
    library: Calculating, sheets: Sequence[KnownSheet], language: str, number: Callable[[LookUp], LookUp]
) -> BaseTool:
    """Returns the tool over these tables. ``number``: gives the passages of a look-up their numbers of this turn. The
    tool's message has ``LookUp.plain()`` as its artifact."""

    def query_table(sql: str) -> tuple[str, dict[str, Any]]:
        began = time.monotonic()
        try:
            found = library.query_sheets(sheets, sql)
        except TableQueryFailed as error:
            raise ToolException(error.text()) from error
        except (DocumentTooSlow, DocumentTooHeavy, DocumentUnread) as error:
            raise ToolException("The query takes too much time or memory. Ask for less in one query.") from error
        seconds = time.monotonic() - began
        asked = [sheet for at, sheet in enumerate(sheets, 1) if is_named(sql, at)] or sheets[:1]
        cited = Cited(1, library.passage_of(asked[0]), write_result(found))
        step = SearchStep(NAME, {"sql": sql}, (), None, search_seconds=seconds)
        outcome = number(LookUp(sql, language, (cited,), (step,), "sufficient", seconds=seconds))
        return render_search_result(outcome), outcome.plain()

    about = "Calculates with the tables of the user's documents in SQL and gives rows to cite."
    new_tool = StructuredTool.from_function(
        query_table,
        name=NAME,
        description=f"{about}\n{describe_sheets(sheets)}",
        args_schema=QueryArguments,
        response_format="content_and_artifact",
    )
    new_tool.metadata = dict(_METADATA)
    return new_tool


def describe_sheets(sheets: Sequence[KnownSheet]) -> str:
    """Returns the tables with their columns, types and examples, as the model is shown them."""
    lines = list[str]()
    for number, sheet in enumerate(sheets, 1):
        pairs = list(zip(sheet.columns, sheet.kinds, strict=True))[:COLUMNS]
        columns = ", ".join(f'"{column}" {kind} (such as {example!r})' for column, (kind, example) in pairs)
        lines.append(
            f"t{number} is {sheet.label!r} with {sheet.count} rows: {columns}; {ROW}: the row's number in the file"
        )
    return "\n".join(lines)


def write_result(found: TableResult) -> str:
    """Returns a result as a table in Markdown, with the rows that it comes from."""
    head = [f"| {' | '.join(found.columns)} |", f"|{' --- |' * len(found.columns)}"]
    rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in found.rows]
    lines = [*head, *rows]
    if found.count > len(rows):
        lines.append(f"\n… {found.count - len(rows):,} more rows")
    if found.used is not None:
        lines.append(f"\n{write_rows_used(found.used, found.used_count)}")
    return "\n".join(lines)


def write_rows_used(used: Sequence[int], count: int) -> str:
    """Returns the numbers of rows in ranges: «Rows 2–4, 9 (4)»."""
    ranges = list[list[int]]()
    for number in sorted(used):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    shown = ", ".join(f"{first}–{last}" if last > first else str(first) for first, last in ranges[:20])
    more = " …" if len(ranges) > 20 or count > len(used) else ""
    return f"Rows {shown}{more} ({count:,})" if used else "Rows: 0"
