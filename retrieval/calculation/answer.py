"""The answer of code to a question about a table, with the rows that it comes from (small profile)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from errors import DocumentError, PassageUnknown, TableQueryFailed
from prompt import render_prompt
from retrieval.answer.lookup import Cited, LookUp, SearchStep
from retrieval.calculation.query import TableResult
from retrieval.calculation.question import TableQuestion, read_table_question
from retrieval.calculation.tool import NAME, Calculating, write_result, write_rows_used
from retrieval.index.sheet import KnownSheet

EXTREMES = 5
"""The most rows with the highest or lowest value that an answer shows."""


def answer_by_table(library: Calculating, question: str, language: str, sheets: Sequence[KnownSheet]) -> LookUp | None:
    """Returns a look-up whose one passage is the answer; None when the question asks for anything else."""
    asked = read_table_question(question, sheets)
    if asked is None:
        return None
    began = time.monotonic()
    try:
        found = library.query_sheets([asked.sheet], asked.sql) if asked.sql else None
        cited = Cited(1, library.passage_of(asked.sheet), _word_answer(asked, found, language))
    except (TableQueryFailed, DocumentError, PassageUnknown):
        return None
    seconds = time.monotonic() - began
    step = SearchStep(NAME, {"sql": asked.sql}, (), None, search_seconds=seconds)
    return LookUp(question, language, (cited,), (step,), "not_judged", seconds=seconds)


def _word_answer(asked: TableQuestion, found: TableResult | None, language: str) -> str:
    table, column = asked.sheet.label, asked.column
    if found is None:
        names = ", ".join(asked.sheet.columns)
        return render_prompt("table_columns", language, table=table, count=len(asked.sheet.columns), names=names)
    if asked.aim == "rows":
        return render_prompt("table_rows", language, table=table, count=found.rows[0][0])
    if asked.aim == "sum":
        used = write_rows_used(found.used or (), found.used_count)
        return render_prompt("table_sum", language, table=table, column=column, value=found.rows[0][0], rows=used)
    value = found.rows[0][found.columns.index(column)] if found.rows else ""
    shown = TableResult(found.columns, found.rows[:EXTREMES], found.count, found.used, found.used_count)
    name = f"table_{asked.aim}"
    return render_prompt(name, language, table=table, column=column, value=value, rows=write_result(shown))
