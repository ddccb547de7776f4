"""Files as the usual office programs write them: workbooks, slides, OpenDocument, books, mails, notebooks and RTF."""

from __future__ import annotations

from pathlib import Path

import pytest

from errors import DocumentError
from retrieval.read.format.loaded import Sheet
from retrieval.read.load import load_file
from tests.retrieval.file import LIMIT, pieces, zipped

FILES = Path(__file__).parents[3] / "bench" / "data" / "files"


def read(name: str) -> list[tuple[tuple[str, ...], str]]:
    return pieces(name, (FILES / name).read_bytes())


def sheets(name: str) -> tuple[Sheet, ...]:
    return load_file(name, (FILES / name).read_bytes(), LIMIT).sheets


def test_a_workbook_is_read_by_its_visible_sheets_with_titles_dates_and_merged_cells() -> None:
    found = read("orders.xlsx")
    assert found[0] == (("Orders",), "Orders of 2026")
    assert found[1][1] == "Date: 2026-02-02  \nCustomer: Customer 1  \nAmount: 12.5  \nPaid: FALSE"
    assert (("가격표", "목재"), "분류: 목재  \n품목: 소나무  \n단가: 12900") in found
    assert not any("hidden" in text for _, text in found)
    orders, prices = sheets("orders.xlsx")
    assert (orders.name, orders.columns, len(orders.rows)) == ("Orders", ("Date", "Customer", "Amount", "Paid"), 40)
    assert prices.rows == (("목재", "참나무", "38500"), ("목재", "소나무", "12900"), ("철물", "볼트", "120"))


def test_old_workbooks_those_of_libreoffice_and_pages_named_as_workbooks_are_read() -> None:
    assert read("stock.xls")[0] == (("재고", "연필"), "품목: 연필  \n수량: 120")
    assert read("costs.ods") == [
        (("Costs", "Rent"), "Item: Rent  \nCost: 900"),
        (("Costs", "Power"), "Item: Power  \nCost: 80"),
    ]
    assert read("export.xls") == [((), "| 이름 | 점수 |\n| --- | --- |\n| 가영 | 91 |")]
    assert pieces("a.xls", "이름\t점수\n가영\t91\n".encode()) == [(("가영",), "이름: 가영  \n점수: 91")]


def test_slides_have_their_number_title_table_and_notes() -> None:
    assert read("plan.pptx") == [
        (("1. Launch plan",), "- Beta in May\n- Launch in September\n\nMention the budget of 40,000."),
        (
            ("2. Budget",),
            "| Team | 2025 | 2026 |\n| --- | --- | --- |\n| Design  Code | 10 | 12 |\n| Design  Code | 20 | 31 |",
        ),
    ]


def test_an_opendocument_text_keeps_headings_lists_and_tables() -> None:
    assert read("handbook.odt") == [
        ((), "Welcome to the team."),
        (
            ("Holidays",),
            "- 30 days a year\n- Ask two weeks before\n\n"
            "| Level | Days |\n| --- | --- |\n| Junior | 30 |\n| Senior | 32 |",
        ),
    ]


def test_a_presentation_of_libreoffice_is_read_by_its_pages() -> None:
    names = "office text draw presentation table"
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names.split())
    boxes = [f"<draw:text-box><text:p>{text}</text:p></draw:text-box>" for text in ("Plan", "Begin in May")]
    title = f'<draw:frame presentation:class="title">{boxes[0]}</draw:frame>'
    page = f"<draw:page>{title}<draw:frame>{boxes[1]}</draw:frame></draw:page>"
    content = f"<office:document-content {spaces}><office:body>{page}</office:body></office:document-content>"
    kind = "application/vnd.oasis.opendocument.presentation"
    data = zipped({"mimetype": kind, "content.xml": content}, stored=("mimetype",))
    assert pieces("a.odp", data) == [(("1. Plan",), "Begin in May")]


def test_a_book_is_read_in_its_order() -> None:
    assert load_file("boat.epub", (FILES / "boat.epub").read_bytes(), LIMIT).title == "The small boat"
    assert read("boat.epub") == [
        (("Casting off",), "The rope was wet."),
        (("The storm",), "Waves of four metres came at noon."),
    ]


def test_a_mail_says_who_wrote_it_and_what_is_attached() -> None:
    assert load_file("change.eml", (FILES / "change.eml").read_bytes(), LIMIT).title == "회의 일정 변경"
    ((_, text),) = read("change.eml")
    assert "From: Nora Lind <nora@x.example>" in text
    assert "Attachment: 안건.pdf" in text
    assert text.endswith("회의를 **4월 3일 오후 2시**로 옮깁니다.")


def test_a_notebook_has_its_text_code_and_results() -> None:
    assert read("survey.ipynb") == [
        ((), "We asked 120 people.\n\n```python\nprint(df.mean())\n```\n\n```\nage 41.5\n```")
    ]


def test_rtf_is_read_in_the_encoding_that_it_names() -> None:
    ((_, text),) = read("letter.rtf")
    assert text.startswith("Notice\n\nThe office is closed on 월요일 6 July.\n\n감사합니다.")
    assert "Kim|204" in text


def test_merged_cells_of_a_word_table_stand_in_every_place() -> None:
    ((_, text),) = read("offer.docx")
    assert "| Bolt  Nut | 3 | 5 |\n| Bolt  Nut | 2 | 2 |" in text


def test_records_in_json_yaml_and_xml_are_tables_and_other_values_stand_below_their_keys() -> None:
    assert read("config.json") == [
        ((), "service: billing"),
        (("limits",), "retries: 3  \ntimeout_s: 30"),
        (("plans", "Basic"), "name: Basic  \nprice: 9"),
        (("plans", "Pro"), "name: Pro  \nprice: 29"),
    ]
    assert sheets("config.json") == (Sheet("plans", ("name", "price"), (("Basic", "9"), ("Pro", "29"))),)
    assert (("spec", "containers", "app"), "name: app  \nimage: web:1.4  \nenv: A, B") in read("deploy.yaml")
    assert read("feed.xml")[0] == (
        ("catalog", "book", "Tides"),
        "id: b1  \ntitle: Tides  \nprice: 12.50  \nprice currency: EUR",
    )
    assert pieces("a.jsonl", b'{"a": 1}\n{"a": 2}\n') == [(("1",), "a: 1"), (("2",), "a: 2")]


def test_source_code_is_split_by_what_it_defines() -> None:
    body = "\n".join(f"    value_{number} = compute(number={number})" for number in range(12))
    pool = f'class Pool:\n    """Keeps connections."""\n\n{body}'
    code = f"import time\n\n\n{pool}\n\n\n# Ends all.\ndef close_all(pool):\n{body}\n"
    found = pieces("pool.py", code.encode())
    assert [path for path, _ in found] == [("class Pool",), ("def close_all(pool)",)]
    assert found[1][1].startswith("```py\n# Ends all.\ndef close_all(pool):")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", "이름,점수\n".encode()),
        ("a.csv", b"name,price\n,\n"),
    ],
)
def test_a_table_of_columns_alone_says_that_its_rows_are_missing(name: str, data: bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        load_file(name, data, LIMIT)
    assert caught.value.code == "document_rowless"


def test_a_long_table_is_a_section_for_a_few_rows_and_a_table_to_calculate_with() -> None:
    rows = "".join(f"K-{number:04},part {number},{number / 10}\n" for number in range(3000))
    loaded = load_file("parts.csv", f"code,part,price\n{rows}".encode(), LIMIT)
    found = pieces("parts.csv", f"code,part,price\n{rows}".encode())
    assert 100 < len(found) < 600
    assert found[0][0] == ("2–29",)
    assert "| K-0007 | part 7 | 0.7 |" in found[0][1]
    assert len(loaded.sheets[0].rows) == 3000
    asked = "".join(f"How {number}?,So {number}.\n" for number in range(600))
    assert len(pieces("faq.csv", f"question,answer\n{asked}".encode())) == 600
