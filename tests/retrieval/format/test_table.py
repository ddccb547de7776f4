"""Every row of a CSV becomes a section."""

from __future__ import annotations

import pytest

from errors import DocumentBroken
from retrieval.read.load import load_file
from tests.retrieval.file import LIMIT, pieces
from tests.table import table


def test_a_table_of_questions_becomes_one_section_per_question() -> None:
    assert pieces("faq.csv", "질문,답변\n환불은?,14일 안에 됩니다.\n배송은?,이틀 걸립니다.\n".encode()) == [
        (("환불은?",), "14일 안에 됩니다."),
        (("배송은?",), "이틀 걸립니다."),
    ]


def test_columns_beside_question_and_answer_are_kept_below_the_answer() -> None:
    assert pieces("faq.csv", "질문,답변,담당부서\n환불은?,14일 안에 됩니다.,고객지원\n".encode()) == [
        (("환불은?",), "14일 안에 됩니다.\n\n담당부서: 고객지원"),
    ]
    assert pieces("shop.csv", b"title,content,price\nBolt,Of steel.,3\nNut,,2\n") == [
        (("Bolt",), "Of steel.\n\nprice: 3"),
        (("Nut",), "price: 2"),
    ]
    assert pieces("faq.csv", b"title,question,answer\nPay,How?,By card.,really\n") == [
        (("How?",), "By card.\n\ntitle: Pay  \nreally"),
    ]


def test_a_tables_quoting_is_the_usual_one_whatever_its_first_rows_show() -> None:
    plain = "".join(f'"How do I do thing {at}?","Open the settings, then press {at}."\n' for at in range(200))
    table = f'question,answer\n{plain}"What does it say?","It says ""hello"", and that is all."\n'
    assert pieces("faq.csv", table.encode())[-1] == (("What does it say?",), 'It says "hello", and that is all.')
    quotes = "question;answer\n'When'?;It's \"soon\", isn't it\n"
    assert pieces("faq.csv", quotes.encode()) == [(("'When'?",), "It's \"soon\", isn't it")]


def test_columns_of_one_name_are_all_kept() -> None:
    assert pieces("a.csv", "질문,답변,비고,비고,\n하나?,네.,첫째,둘째,셋째\n".encode()) == [
        (("하나?",), "네.\n\n비고: 첫째  \n비고: 둘째  \n셋째"),
    ]


def test_another_table_gives_a_section_per_row_with_its_columns() -> None:
    assert pieces("parts.tsv", b"part\tprice\nbolt\t3\n") == [(("bolt",), "part: bolt  \nprice: 3")]


@table(
    "cell",
    [
        "Run this:\n# pip install x\nthen",
        "Use\n```\ncode",
        "<script> is no tag",
        "<!-- open",
        "Price\n---\n5",
        "[1]: x",
    ],
)
def test_a_cell_spoils_no_other(cell: str) -> None:
    assert pieces("a.csv", f'question,answer\nq1,"{cell}"\nq2,a2\n'.encode()) == [(("q1",), cell), (("q2",), "a2")]
    assert pieces("a.csv", f'price,\np1,"{cell}"\np2,a2\n'.encode())[1] == (("p2",), "price: p2  \na2")


def test_code_that_is_closed_stays_whole_and_is_code() -> None:
    code = "```sh\n" + "# comment.\n\n" * 100 + "```"
    assert pieces("a.csv", f'question,answer\nq1,"Run:\n\n{code}"\n'.encode())[-1] == (("q1",), code)
    for fences in ("```a\n```b\n```", "```a```\n```", "```\nx\n```\n```"):
        assert pieces("a.csv", f'question,answer\nq1,"{fences}\nx"\nq2,a2\n'.encode())[1] == (("q2",), "a2")


def test_a_question_is_a_heading_as_it_is_written() -> None:
    asked = "#1: what are <div>, *args and [x](y)?"
    assert pieces("a.csv", f'question,answer\n"{asked}",a\n'.encode()) == [((asked,), "a")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_excel_writes_is_read(delimiter: str) -> None:
    rows = [["question", "answer"], ["How?", '"So" '], ["Where?", '"There"  ']]
    plain = "".join(f"{delimiter.join(row)}\n" for row in rows)
    for data in (plain, f"sep={delimiter}\n{plain}"):
        assert pieces("a.csv", data.encode()) == [(("How?",), "So"), (("Where?",), "There")]
    assert pieces("a.tsv", b'q\tother\ta\n"x"\t\t"y"\n') == [(("x",), "y")]


def test_a_long_cell_is_read() -> None:
    assert len(pieces("a.csv", b'question,answer\nq1,"' + b"word " * 40_000 + b'"\n')) > 100


@pytest.mark.parametrize(("row", "line"), [('"Widget "large"",5', 3), ('"not\nclosed', 3), ('"a\nb",1\n"x"y', 5)])
def test_a_row_that_cannot_be_read_is_named(row: str, line: int) -> None:
    for first in ("", "sep=,\n"):
        with pytest.raises(DocumentBroken) as caught:
            load_file("a.csv", f"{first}name,price\nB,6\n{row}\nC,7\n".encode(), LIMIT)
        assert caught.value.values["line"] == line + bool(first)
