"""Questions about tables: code answers the simple ones for a small model, a strong one writes SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.tools import ToolException

from model import scripted
from model.profile import SMALL
from retrieval import Library
from retrieval.answer.lookup import LookUp
from retrieval.calculation.query import add_kinds
from retrieval.calculation.question import read_table_question
from retrieval.calculation.tool import describe_sheets, query_tool
from retrieval.document import SearchScope
from retrieval.index.sheet import KnownSheet, build_sheet_rows, drop_sheets, put_sheets
from retrieval.read.content import read_content
from retrieval.read.format.loaded import Sheet

FILES = Path(__file__).parents[3] / "bench" / "data" / "files"
ORDERS = ("orders.xlsx", (FILES / "orders.xlsx").read_bytes())
PRICES = ("prices.csv", "품목,단가\n참나무,38500\n소나무,12900\n자작나무,38500\n".encode())


def answer(library: Library, question: str, language: str = "en") -> LookUp:
    return library.look_up(question, scripted.build_scripted_models(profile=SMALL), language)


def calculated(library: Library, question: str, language: str = "en") -> str:
    found = answer(library, question, language)
    assert found.trace[0].tool == "query_table"
    (passage,) = found.passages
    return passage.text


def test_code_answers_rows_columns_extremes_and_sums_for_a_small_model(library: Library) -> None:
    library.add([ORDERS, PRICES])
    assert calculated(library, "How many rows does the sheet Orders have?") == "«orders.xlsx › Orders» has **40** rows."
    assert calculated(library, "Which columns are in Orders?") == (
        "«orders.xlsx › Orders» has 4 columns: Date, Customer, Amount, Paid."
    )
    assert calculated(library, "What is the sum of the Amount?").startswith(
        "The sum of «Amount» in «orders.xlsx › Orders» is **10250**. Rows 4–43 (40)"
    )
    assert "| 43 | 2026-05-14 | Customer 5 | 500 | TRUE |" in calculated(library, "What is the highest amount?")
    text = calculated(library, "prices.csv의 단가 중 최댓값은?", "ko")
    assert "**38500**" in text
    assert "| 2 | 참나무 | 38500 |\n| 4 | 자작나무 | 38500 |" in text
    assert text.endswith("Rows 2, 4 (2)")
    assert "**12900**" in calculated(library, "prices 표에서 단가의 최소값은 얼마야?", "ko")


@pytest.mark.parametrize(
    "question",
    [
        "What is the sum of the Amount for March?",
        "What is the highest amount of Customer 3?",
        "What is the highest mountain?",
        "How many rows of houses are there in the street?",
        "What is the sum of the Customer?",
        "Who is the Customer with the lowest rating?",
        "얼마까지 환불돼?",
        "가장 높은 산은 뭐야?",
        "단가가 뭐야?",
    ],
)
def test_code_answers_nothing_that_it_has_not_read_whole(library: Library, question: str) -> None:
    library.add([ORDERS, PRICES])
    assert read_table_question(question, library.sheets()) is None


def test_two_tables_that_fit_are_told_apart_by_their_names_or_not_at_all() -> None:
    kinds = (("DOUBLE", "1"),)
    tables = [
        KnownSheet(number, 0, f"{name}.csv", "", ("price",), kinds, 3) for number, name in enumerate(("a1", "b2"))
    ]
    assert read_table_question("What is the highest price?", tables) is None
    found = read_table_question("What is the highest price in b2.csv?", tables)
    assert found is not None
    assert found.sheet.document == "b2.csv"


def test_a_table_goes_with_its_document_and_stays_in_its_conversation(library: Library) -> None:
    library.add([ORDERS])
    assert [sheet.label for sheet in library.sheets()] == ["orders.xlsx › Orders", "orders.xlsx › 가격표"]
    assert library.sheets(SearchScope(("product",))) == []
    library.add([("orders.xlsx", PRICES[1].replace(b",", b"\t"))])
    assert [sheet.columns for sheet in library.sheets()] == [("품목", "단가")]
    library.remove(*(document.id for document in library.documents()))
    assert library.sheets() == []


def test_a_strong_model_asks_in_sql_and_cites_the_rows(library: Library) -> None:
    library.add([ORDERS])
    sheets = library.sheets()
    tool = query_tool(library, sheets, "en", lambda found: found)
    assert "t1 is 'orders.xlsx › Orders' with 40 rows: \"Date\" DATE (such as '2026-02-02')" in describe_sheets(sheets)
    message = tool.invoke(
        {
            "type": "tool_call",
            "id": "1",
            "name": tool.name,
            "args": {"sql": 'SELECT sum("Amount") AS total FROM t1 WHERE month("Date") = 3'},
        }
    )
    assert "| 1000 |" in str(message.content)
    assert "Rows 5, 17, 29, 41 (4)" in str(message.content)
    (passage,) = message.artifact["passages"]
    assert (passage["label"], passage["number"]) == ("orders.xlsx › Orders", 1)
    with pytest.raises(ToolException, match="nothing"):
        tool.func("SELECT nothing FROM t1")  # type: ignore[attr-defined]


def test_the_table_that_a_query_names_is_cited_whatever_its_columns_are_called(library: Library) -> None:
    library.add([("costs.csv", b"name,cost1\na,10\n"), PRICES])
    sheets = sorted(library.sheets(), key=lambda sheet: sheet.document != "prices.csv")
    tool = query_tool(library, sheets, "en", lambda found: found)
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"sql": "SELECT cost1 FROM T2"}}
    (passage,) = tool.invoke(call).artifact["passages"]
    assert passage["label"] == "costs.csv"


def test_a_large_table_can_be_asked_and_hinders_no_other(library: Library) -> None:
    library.add([*((f"{at}.csv", b"n\n1\n") for at in range(3)), PRICES])
    place = "in the warehouse beside the {}th river"
    rows = tuple((f"2026-03-{at % 28 + 1:02}", f"Customer {at}", str(at), place.format(at)) for at in range(180_000))
    large = add_kinds(Sheet("", ("day", "customer", "amount", "place"), rows))
    with library._store.transaction() as connection:
        for sheet in library.sheets():
            if sheet.document != "prices.csv":
                drop_sheets(connection, [sheet.document_id])
                put_sheets(connection, build_sheet_rows(sheet.document_id, [large]))
    sheets = sorted(library.sheets(), key=lambda sheet: sheet.document)
    assert library.query_sheets(sheets, 'SELECT max("단가") FROM t4').rows == (("38500",),)
    assert library.query_sheets(sheets, "SELECT sum(amount) FROM t1").rows == (("16199910000",),)
    assert library.query_sheets(sheets, "SELECT 1").rows == (("1",),)


def test_a_table_has_its_types_before_it_is_published() -> None:
    (sheet,) = read_content("prices.csv", PRICES[1], 10**6).sheets
    assert (sheet.columns, sheet.kinds) == (("품목", "단가"), (("VARCHAR", "참나무"), ("DOUBLE", "38500")))


def test_a_document_of_an_earlier_version_gets_its_tables_when_it_is_added_again(library: Library) -> None:
    plain = ("settings.json", b'{"color": "blue"}')
    library.add([ORDERS, PRICES, plain])
    before = library.sheets()
    with library._store.transaction() as connection:
        drop_sheets(connection, [document.id for document in library.documents()])
    again = library.add([ORDERS, PRICES, plain])
    assert (again.changed, again.unchanged) == (("orders.xlsx", "prices.csv"), ("settings.json",))
    assert sorted(sheet.label for sheet in library.sheets()) == sorted(sheet.label for sheet in before)
    assert len(library.add([ORDERS, PRICES, plain]).unchanged) == 3
