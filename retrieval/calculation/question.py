"""Questions about a table that code answers for a small model: its rows and columns, extremes and sums of a column.

Code answers only when it has read the whole question: every word names the table, a column, what is asked of it, or
nothing at all («what is the … in the …»).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from retrieval.index.sheet import KnownSheet
from text.fold import fold_name

Aim = Literal["rows", "columns", "lowest", "highest", "sum"]
_AIMS: dict[Aim, str] = {
    "columns": r"columns?(?: names?)?|열(?: ?이름| ?제목)?|컬럼(?:명)?",
    "rows": r"rows?|entries|records|lines|행(?: ?수)?|줄(?: ?수)?|건수",
    "highest": r"highest|largest|biggest|greatest|maximum|max|(?:가장|제일) (?:높은|큰|많은|비싼)|최[대고댓](?:값|치)?",
    "lowest": r"lowest|smallest|least|minimum|min|cheapest|(?:가장|제일) (?:낮은|작은|적은|싼)|최[소저솟젓](?:값|치)?",
    "sum": r"sum|total|altogether|합계|총합|총계|총액|합|모두 더하면",
}
_ASKING = re.compile(
    r"what|which|how|many|much|is|are|was|does|do|it|its|this|there|have|has|the|a|an|of|in|for|all|over|please|tell|me|show"
    r"|list|give|value|values|table|file|sheet|spreadsheet|csv|data|column"
    r"|얼마\w*|몇\w*|무엇\w*|뭐\w*|뭔\w*|어떤|어느|알려\w*|말해\w*|보여\w*|있어\w*|있나\w*|있는\w*|인가\w*|이야|야|이니"
    r"|파일\w*|표\w*|시트\w*|전체|값\w*|중\w*|개\w*|은|는|이|가|을|를|의|에|에서|엔|에는|들\w*|인지|좀"
)
_ENDING = re.compile(r"(?:은|는|이|가|을|를|의|에|에서|에는|엔|도|로|으로|들은|들이|별)$")


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question about a table. ``sql``: over the table as ``t1``; '' for the columns alone."""

    sheet: KnownSheet
    aim: Aim
    column: str
    sql: str


def read_table_question(question: str, sheets: Sequence[KnownSheet]) -> TableQuestion | None:
    """Returns what is asked of a table; None when any word of the question is left unread, or when two tables fit."""
    folded = fold_name(question)
    fitting = [found for sheet in sheets if (found := _of_sheet(folded, sheet))]
    most = max((_count_named(folded, found.sheet) for found in fitting), default=0)
    chosen = [found for found in fitting if _count_named(folded, found.sheet) == most]
    return chosen[0] if len(chosen) == 1 else None


def _list_names(sheet: KnownSheet) -> list[str]:
    stem = fold_name(sheet.document.rpartition(".")[0])
    return [name for name in (fold_name(sheet.document), stem, fold_name(sheet.name)) if name]


def _count_named(question: str, sheet: KnownSheet) -> int:
    """Returns how a question names a table: 3 by its sheet and file, 2 by its sheet, 1 by its file, 0 not at all."""
    own = fold_name(sheet.name)
    return 2 * bool(own and own in question) + any(name in question for name in _list_names(sheet) if name != own)


def _of_sheet(question: str, sheet: KnownSheet) -> TableQuestion | None:
    left = question
    for name in sorted(_list_names(sheet), key=len, reverse=True):
        left = left.replace(name, " ")
    columns = [
        name for name in sorted(sheet.columns, key=len, reverse=True) if _build_column_pattern(name).search(left)
    ]
    column = columns[0] if columns else ""
    left = _build_column_pattern(column).sub(" ", left, count=1) if column else left
    for aim, words in _AIMS.items():
        rest, count = re.subn(rf"(?<!\w)(?:{words})(?:은|는|이|가|을|를|의|에)?(?!\w)", " ", left)
        if count and (bool(column) != (aim in ("rows", "columns"))) and _is_read(rest):
            return _build_query(sheet, aim, column)
    return None


def _build_column_pattern(name: str) -> re.Pattern[str]:
    """Returns a pattern of a column's name as a word, in the plural and with a Korean ending, too."""
    return re.compile(rf"(?<!\w){re.escape(fold_name(name))}(?:s|es|은|는|이|가|을|를|의|에서|에|중|들의|들)?(?!\w)")


def _is_read(rest: str) -> bool:
    """Returns whether what is left of a question says nothing more."""
    words = re.findall(r"\w+", rest)
    return all(_ASKING.fullmatch(word) or _ASKING.fullmatch(_ENDING.sub("", word) or "은") for word in words)


def _build_query(sheet: KnownSheet, aim: Aim, column: str) -> TableQuestion | None:
    """Returns the query; None for a sum or an extreme of a column of texts."""
    if aim == "columns":
        return TableQuestion(sheet, aim, "", "")
    if aim == "rows":
        return TableQuestion(sheet, aim, "", "SELECT count(*) AS rows FROM t1")
    kind = dict(zip(sheet.columns, sheet.kinds, strict=True))[column][0]
    if kind == "VARCHAR" or (kind != "DOUBLE" and aim == "sum"):
        return None
    if aim == "sum":
        return TableQuestion(sheet, aim, column, f'SELECT sum("{column}") AS "{column}" FROM t1')
    extreme = f'SELECT {"max" if aim == "highest" else "min"}("{column}") FROM t1'
    return TableQuestion(sheet, aim, column, f'SELECT * FROM t1 WHERE "{column}" = ({extreme}) ORDER BY _row')
