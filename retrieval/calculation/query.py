"""A query over tables in DuckDB: typed columns, one SELECT, no files, no network. ``retrieval.read.child`` runs it
within the limits of documents."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Literal

from errors import TableQueryFailed
from retrieval.read.format.loaded import Sheet
from text.clean import collapse_spaces
from text.cut import cut_graphemes

ROW = "_row"
"""The column with the number that a row has in its file, as a spreadsheet shows it."""
SHOWN, SHOWN_CHARS = 50, 200
"""The most rows of a result, and the most characters of one of its cells."""
NAME_CHARS = 60
"""The most characters of a column's name, without the number that makes it its own."""
BATCH = 10_000
"""How many rows are filled in at once; DuckDB holds each of them twice meanwhile."""
USED = 200
"""The most numbers of rows that are given for a result."""
TEXTUAL = 0.1
"""At most this share of a column's values may be no number, such as «–», for the column to be numeric."""
NUMBER = re.compile(
    r"[^\w.,()+−₩$€£¥-]*([₩$€£¥]?)\s*([-+−(]?)\s*([₩$€£¥]?)\s*(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?\s*\)?"
    r"\s*(원|엔|달러|유로|개|명|건|회|점|시간|일|월|년|km|kg|g|m|cm|%|€|₩|\$|EUR|USD|KRW)?"
)
_SAME_UNIT = {"₩": "원", "KRW": "원", "$": "달러", "USD": "달러", "€": "유로", "EUR": "유로", "¥": "엔"}
EXACT_DIGITS = 15
"""The most digits before the point that a number keeps in SQL; longer ones, such as those of orders, are texts."""
EXAMPLE_CHARS = 30
"""How much of an example is kept of a column, in characters."""
_MOMENT = re.compile(r"(\d{4})[-./]\s?(\d{1,2})[-./]\s?(\d{1,2})\.?(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?")
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": "256MB",
    "max_temp_directory_size": "0KB",
    "threads": "1",
}
Kind = Literal["DOUBLE", "DATE", "TIMESTAMP", "VARCHAR"]
Value = float | date | str | None


@dataclass(frozen=True, slots=True)
class TableResult:
    """The result of a query. ``count``: how many rows it has; ``rows``: the first of them, as texts; ``used``: the
    numbers of the rows that the result was computed from, None where they cannot be told, and ``used_count`` of
    them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    count: int
    used: tuple[int, ...] | None = None
    used_count: int = 0


def run_query(sheets: Sequence[Sheet], sql: str) -> TableResult:
    """Runs one SELECT over tables ``t1``, ``t2`` … Raises ``TableQueryFailed`` with what DuckDB says."""
    import duckdb

    try:
        sql.encode()  # half a letter, as a model may write one, is no text
        connection = duckdb.connect(":memory:", config=_CONFIG)
        for number, sheet in enumerate(sheets, 1):
            _fill_query_table(connection, f"t{number}", sheet)
        connection.execute("SET lock_configuration = true")
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise TableQueryFailed(reason="only one SELECT is allowed")
        done = connection.execute(sql)
        columns = tuple(str(column[0]) for column in done.description or ())
        rows = [_format_result_row(row) for row in done.fetchmany(SHOWN)]
        count = len(rows)
        while more := done.fetchmany(10_000):
            count += len(more)
        used = _list_row_numbers(columns, rows)
        used = _find_used_rows(connection, sql) if used is None else used
        shown = tuple(used[:USED]) if used is not None else None
        return TableResult(columns, tuple(rows), count, shown, len(used or ()))
    except duckdb.Error as error:
        raise TableQueryFailed(reason=str(error).splitlines()[0][:300]) from error
    except (TableQueryFailed, MemoryError):
        raise
    except Exception as error:  # Python and SQL cannot hold each other's every value
        raise TableQueryFailed(reason=f"{type(error).__name__}: {error}"[:300]) from error


def is_named(sql: str, number: int) -> bool:
    """Returns whether a query names the table of this number, ``t1`` for 1."""
    return re.search(rf"\bt{number}\b", sql, re.IGNORECASE) is not None


def _fill_query_table(connection: Any, name: str, sheet: Sheet) -> None:
    """Makes a table of a sheet, with a number for each row."""
    typed = sheet if sheet.kinds else add_kinds(sheet)
    columns = [f'"{column}" {kind}' for column, (kind, _) in zip(typed.columns, typed.kinds, strict=True)]
    connection.execute(f"CREATE TABLE {name} ({', '.join([f'{ROW} INTEGER', *columns])})")
    insertion = f"INSERT INTO {name} SELECT {', '.join(['unnest(?)'] * (len(columns) + 1))}"
    for start in range(0, len(typed.rows), BATCH):
        rows = slice(start, start + BATCH)
        part = replace(typed, rows=typed.rows[rows])
        values = [read_values(kind, part.cells(at)) for at, (kind, _) in enumerate(typed.kinds)]
        connection.execute(insertion, [list(typed.row_numbers[rows]), *values])


def add_kinds(sheet: Sheet) -> Sheet:
    """Returns a table whose columns have names of their own, types and examples."""
    texts = [sheet.cells(at) for at in range(len(sheet.columns))]
    kinds = tuple((find_kind(column), _find_example(column)) for column in texts)
    return replace(sheet, columns=tuple(name_columns(sheet.columns)), kinds=kinds)


def _find_example(texts: Sequence[str]) -> str:
    return cut_graphemes(next((collapse_spaces(text) for text in texts if text.strip()), ""), EXAMPLE_CHARS)


def name_columns(columns: Sequence[str]) -> list[str]:
    """Returns a name of its own for every column."""
    names, taken = list[str](), {ROW}
    for number, column in enumerate(columns, 1):
        plain = name = cut_graphemes(collapse_spaces(column.replace('"', "'")), NAME_CHARS) or f"column {number}"
        while name.casefold() in taken:
            name, number = f"{plain} {number}", number + 1
        names.append(name)
        taken.add(name.casefold())
    return names


def find_kind(texts: Sequence[str]) -> Kind:
    """Returns the type of a column in SQL. What calculating would spoil is text: numbers with a code's zeros at their
    beginning, numbers of too many digits, and amounts in different units; an amount without a unit goes with any."""
    filled = [text.strip() for text in texts if text.strip()]
    matches = [match for text in filled if (match := NUMBER.fullmatch(text))]
    if filled and not matches and all(map(_read_moment, filled)):
        return "TIMESTAMP" if any(":" in text for text in filled) else "DATE"
    missing = [text for text in filled if not NUMBER.fullmatch(text)] if len(matches) < len(filled) else []
    if not filled or len(missing) > TEXTUAL * len(filled) or any(len(text) > 4 for text in missing):
        return "VARCHAR"
    coded = any(re.fullmatch(r"0\d+", text) for text in filled)
    exact = all(len(match[4].replace(",", "")) <= EXACT_DIGITS for match in matches)
    units = {_SAME_UNIT.get(unit, unit) for match in matches for unit in (match[1], match[3], match[6]) if unit}
    return "DOUBLE" if exact and not coded and len(units) <= 1 else "VARCHAR"


def read_values(kind: str, texts: Sequence[str]) -> list[Value]:
    """Returns the values of a column of this type; None for an empty cell, and for a cell of another type."""
    plain = [text.strip() for text in texts]
    if kind == "DOUBLE":
        return [parse_amount(text) for text in plain]
    if kind in ("DATE", "TIMESTAMP"):
        return [_read_moment(text) for text in plain]
    return [text or None for text in plain]


def parse_amount(text: str) -> float | None:
    """Returns a number as people write it, with a currency or unit; None for other texts."""
    match = NUMBER.fullmatch(text)
    if match is None:
        return None
    value = float(match[4].replace(",", "") + (match[5] or ""))
    return -value if match[2] in ("-", "−", "(") else value


def _read_moment(text: str) -> datetime | None:
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None


def _list_row_numbers(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int] | None:
    """Returns the numbers of rows that a result gives; None when it gives none. A join leaves some empty, and a query
    can give anything this name."""
    cells = [row[columns.index(ROW)] for row in rows if row[columns.index(ROW)]] if ROW in columns else None
    if cells is None or not all(cell.isascii() and cell.isdigit() for cell in cells):
        return None
    return [int(cell) for cell in cells]


def _format_result_row(row: Sequence[Any]) -> tuple[str, ...]:
    return tuple(cut_graphemes(write_value(value), SHOWN_CHARS) for value in row)


def write_value(value: Any) -> str:
    """Returns a value of a result as text: whole numbers without a point, others without the dust of binary ones."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 10**EXACT_DIGITS else f"{value:.14g}"
    return "" if value is None else str(value)


def _find_used_rows(connection: Any, sql: str) -> list[int] | None:
    """Returns the numbers of the rows that the query reads: its conditions without what it makes of the rows."""
    import duckdb

    tree = json.loads(connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()[0])
    try:
        node = tree["statements"][0]["node"]
        if node["type"] != "SELECT_NODE" or node["from_table"]["type"] != "BASE_TABLE":
            return None
        plain = connection.execute("SELECT json_serialize_sql(?)", [f"SELECT {ROW} FROM t1"]).fetchone()[0]
        template = json.loads(plain)["statements"][0]["node"]
        kept = {key: node[key] for key in ("from_table", "where_clause", "cte_map")}
        tree["statements"][0]["node"] = {**template, **kept}
        found = connection.execute("SELECT * FROM json_execute_serialized_sql(?)", [json.dumps(tree)])
        return [int(row[0]) for row in found.fetchall()]
    except (duckdb.Error, KeyError, IndexError, TypeError):
        return None
