"""Tables are calculated with in a process of its own, by one SELECT, and the rows of the result are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from errors import GieokError, TableQueryFailed
from retrieval.calculation.query import find_kind, name_columns, parse_amount, run_query
from retrieval.read.format.loaded import Sheet
from retrieval.read.format.sheet import _write_grid
from retrieval.read.load import load_file
from retrieval.read.reader import Reader, ReadLimits

SHEET = Sheet(
    "Orders",
    ("Day", "Customer", "Amount", "Code"),
    (
        ("2026-03-01", "Kim", "12,000원", "007"),
        ("2026-03-09", "Lee", "8,000원", "008"),
        ("2026-04-02", "Kim", "–", "009"),
        *((f"2026-05-{day:02}", "Park", f"{day}", f"{day:03}") for day in range(1, 29)),
    ),
)


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader(ReadLimits(10**7, 3, 10**9, 10**5)) as opened:
        yield opened


def test_sums_counts_and_conditions_come_with_the_rows_that_they_are_made_of(reader: Reader) -> None:
    found = reader.query("a", [SHEET], 'SELECT sum("Amount") FROM t1 WHERE month("Day") = 3')
    assert (found.rows, found.used, found.used_count) == ((("20000",),), (2, 3), 2)
    assert reader.query("a", [SHEET], "SELECT count(*) FROM t1").rows == (("31",),)
    grouped = reader.query("a", [SHEET], 'SELECT "Customer", count(*) FROM t1 GROUP BY 1 ORDER BY 2 DESC LIMIT 1')
    assert (grouped.rows, grouped.used_count) == ((("Park", "28"),), 31)
    most = reader.query("a", [SHEET], 'SELECT * FROM t1 WHERE "Amount" = (SELECT max("Amount") FROM t1)')
    assert (most.rows[0][:4], most.used) == (("2", "2026-03-01", "Kim", "12000"), (2,))


def test_a_long_result_says_how_many_rows_it_has(reader: Reader) -> None:
    long = Sheet("", ("n",), tuple((str(number),) for number in range(3000)))
    found = reader.query("a", [long], "SELECT * FROM t1")
    assert (len(found.rows), found.count) == (50, 3000)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE t1",
        "SELECT 1; SELECT 2",
        "SELECT nothing FROM t1",
        "SELEC",
        "COPY t1 TO '/tmp/gieok.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH '/tmp/gieok.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "PRAGMA database_list",
    ],
)
def test_nothing_but_a_query_of_the_tables_is_run(reader: Reader, sql: str) -> None:
    with pytest.raises(TableQueryFailed):
        reader.query("a", [SHEET], sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(10000000000000) a, range(1000) b",
        "WITH RECURSIVE x AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM x) SELECT max(n) FROM x",
        "SELECT string_agg(repeat('x', 1000000), '') FROM range(100000)",
    ],
)
def test_a_query_that_never_ends_or_fills_the_memory_is_ended(reader: Reader, sql: str) -> None:
    with pytest.raises(GieokError):
        reader.query("a", [SHEET], sql)
    assert reader.query("a", [SHEET], "SELECT count(*) FROM t1").rows == (("31",),)


def test_columns_have_types_and_names_of_their_own() -> None:
    assert find_kind(["1,200", "", "–"] + ["3"] * 20) == "DOUBLE"
    assert find_kind(["007", "123"]) == "VARCHAR"
    assert find_kind(["2026.3.1", "2026-12-31"]) == "DATE"
    assert find_kind(["2026-02-30"]) == "VARCHAR"
    assert find_kind(["", ""]) == "VARCHAR"
    assert name_columns(["price", "Price", "", 'a "b"', "_row"]) == ["price", "Price 2", "column 3", "a 'b'", "_row 5"]
    assert run_query([Sheet("", ("", ""), (("1", "2"),))], 'SELECT "column 2" FROM t1').rows == (("2",),)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12,000원", 12000),
        ("$1,234.50", 1234.5),
        ("-3", -3),
        ("(40)", -40),
        ("15%", 15),
        ("9 €", 9),
        ("−3", -3),
        ("$-5", -5),
        ("-₩5", -5),
        ("3 March", None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, value: float | None) -> None:
    assert parse_amount(text) == value


def test_what_calculating_would_spoil_is_text() -> None:
    long = ["2024010112345678", "2024010112345679"]
    assert find_kind(long) == "VARCHAR"
    assert find_kind(["0.1234567890123456", "999999999999999"]) == "DOUBLE"
    assert find_kind(["1.5km", "800 m"]) == "VARCHAR"
    assert find_kind(["₩100", "$5"]) == "VARCHAR"
    assert find_kind(["$-5", "5 달러", "7", "USD"] * 9) == "VARCHAR"  # a word is no amount
    assert find_kind(["$-5", "5 달러", "7", "8 USD"]) == "DOUBLE"
    sheet = Sheet("", ("order", "dist"), tuple(zip(long, ("1.5km", "800 m"), strict=True)))
    found = run_query([sheet], """SELECT count(*), max("order") FROM t1 WHERE "order" = '2024010112345679'""")
    assert found.rows == (("1", "2024010112345679"),)
    money = Sheet("", ("sum",), (("123,456,789.55",), ("0.1",), ("0.2",)))
    assert run_query([money], "SELECT sum(sum), sum(sum) FILTER (sum < 1) FROM t1").rows == (("123456789.85", "0.3"),)


def test_the_time_of_day_is_kept() -> None:
    sheet = Sheet("", ("day",), (("2024-01-01 09:10",), ("2024-01-01 18:30:05",), ("2024-01-02",)))
    assert run_query([sheet], "SELECT day FROM t1 WHERE hour(day) = 18").rows == (("2024-01-01 18:30:05",),)
    assert run_query([sheet], "SELECT count(*) FROM t1 WHERE day = '2024-01-01'").rows == (("0",),)


def test_columns_that_bear_the_name_of_another_with_its_number_are_told_apart() -> None:
    assert name_columns(["a", "a 3", "a", "a 4"]) == ["a", "a 3", "a 4", "a 4 4"]
    assert run_query([Sheet("", ("a", "a 3", "a"), (("1", "2", "3"),))], 'SELECT "a 4" FROM t1').rows == (("3",),)


def test_the_name_of_the_rows_number_is_no_promise(reader: Reader) -> None:
    named = reader.query("a", [SHEET], 'SELECT "Customer" AS _row FROM t1 LIMIT 2')
    assert (named.rows, named.used_count) == ((("Kim",), ("Lee",)), 31)
    joined = reader.query(
        "a", [SHEET], "SELECT b._row FROM t1 a LEFT JOIN t1 b ON a._row = b._row AND b._row < 4 ORDER BY a._row"
    )
    assert (joined.rows[:3], joined.used) == ((("2",), ("3",), ("",)), (2, 3))


def test_what_python_cannot_hold_is_an_error_of_the_query(reader: Reader) -> None:
    with pytest.raises(TableQueryFailed, match="surrogates"):
        reader.query("a", [SHEET], "SELECT '\ud800'")


def test_a_table_is_filled_by_the_types_that_are_known_of_it() -> None:
    sheet = replace(SHEET, kinds=(("VARCHAR", ""),) * 4, numbers=tuple(range(10, 10 + len(SHEET.rows))))
    found = run_query([sheet], """SELECT "Amount" FROM t1 WHERE "Day" = '2026-03-09'""")
    assert (found.rows, found.used) == ((("8,000원",),), (11,))


def test_rows_have_the_numbers_that_a_spreadsheet_shows() -> None:
    (found,) = load_file("a.csv", b'\nmonth,sales\nJanuary,100\n\n\n"Feb\nruary",200\nMarch,300\n', 10**6).sheets
    assert run_query([found], "SELECT _row, sales FROM t1").rows == (("3", "100"), ("6", "200"), ("7", "300"))
    grid = [["Sales of 2024", ""], ["", ""], ["month", "sales"], ["January", "100"], ["", ""], ["March", "200"]]
    _, sheet = _write_grid("S", grid)
    assert run_query([sheet], "SELECT _row FROM t1 WHERE sales = 200").used == (6,)


def test_the_sections_of_a_long_table_are_named_by_the_same_numbers() -> None:
    lines = "".join(f"{at},{at}\n" for at in range(600))
    text = load_file("a.csv", f"\nn,m\n\n{lines}".encode(), 10**6).text
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert (headings[0].startswith("## 4–"), headings[-1].endswith("–603")) == (True, True)
