"""Hangul documents keep headings and tables, in both of their formats."""

from __future__ import annotations

import pytest

from errors import DocumentError
from retrieval.read.load import load_file
from tests.retrieval.file import LIMIT, pieces, zipped
from tests.retrieval.hangul_file import document, ole, paragraph, record, table

ROWS = [
    [("구분", 1, 2), ("단가(원)", 2, 1)],
    [("소량", 1, 1), ("대량", 1, 1)],
    [("볼트", 1, 1), ("120", 1, 1), ("95", 1, 1)],
    [("너트", 1, 1), ("협의", 2, 1)],
]
READ = "| 구분 | 단가(원) 소량 | 단가(원) 대량 |\n| --- | --- | --- |\n| 볼트 | 120 | 95 |\n| 너트 | 협의 | 협의 |"


@pytest.mark.parametrize("packed", [True, False])
def test_a_hangul_document_keeps_its_headings_and_merged_cells(packed: bool) -> None:
    parts = [paragraph("출장비 규정", 1), paragraph("다음과 같다."), paragraph("단가", 2), table(ROWS, 3)]
    data = document(*parts, packed=packed)
    assert load_file("a.hwp", data, LIMIT).title == "출장비 규정"
    assert pieces("a.hwp", data) == [((), "다음과 같다."), (("단가",), READ)]


def test_control_characters_are_no_text() -> None:
    tab = "\t" + "\0" * 6 + "\t"
    assert pieces("a.hwp", document(paragraph(f"이름{tab}값\n둘째 줄 – 끝"))) == [((), "이름 값  \n둘째 줄 – 끝")]


def test_a_long_paragraph_has_a_length_of_its_own() -> None:
    assert len(load_file("a.hwp", document(paragraph("가나다라 " * 2000)), LIMIT).text) > 9000


@pytest.mark.parametrize("flags", [2, 4], ids=["password", "for print"])
def test_a_locked_document_says_so(flags: int) -> None:
    with pytest.raises(DocumentError) as caught:
        load_file("a.hwp", document(paragraph("비밀"), flags=flags), LIMIT)
    assert caught.value.code == "document_encrypted"


def test_a_document_that_unpacks_to_too_much_or_lies_too_deep_or_is_cut_is_refused() -> None:
    bomb = document(paragraph("가" * 500_000))
    deep = document(*(record(0x48, level, b"") for level in range(1000)))
    header = b"HWP Document File".ljust(32, b"\0") + b"\0\0\0\5\1\0\0\0" + bytes(216)
    broken = ole(header, b"\xff" * 50, b"\xff" * 50)
    for data, limit, code in ((bomb, 10_000, "too_large"), (deep, LIMIT, "broken"), (broken, LIMIT, "broken")):
        with pytest.raises(DocumentError) as caught:
            load_file("a.hwp", data, limit if len(data) <= limit else len(data))
        assert caught.value.code == f"document_{code}"
    with pytest.raises(DocumentError):
        load_file("a.hwp", document(paragraph("가"))[:3000], LIMIT)


_HEAD = 'xmlns:hp="http://www.hancom.co.kr/hwpml/2011/paragraph" xmlns:hh="http://www.hancom.co.kr/hwpml/2011/head"'


def hwpx(section: str) -> bytes:
    styles = "".join(
        f'<hh:style id="{number}" name="{name}" engName="{english}"/>'
        for number, (name, english) in enumerate(
            [("바탕글", "Normal"), ("개요 1", "Outline 1"), ("개요 2", "Outline 2")]
        )
    )
    return zipped(
        {
            "mimetype": "application/hwp+zip",
            "Contents/header.xml": f"<hh:head {_HEAD}><hh:refList>{styles}</hh:refList></hh:head>",
            "Contents/section0.xml": f"<hs {_HEAD}>{section}</hs>",
        },
        stored=("mimetype",),
    )


def hwpx_paragraph(text: str, style: int = 0) -> str:
    return f'<hp:p styleIDRef="{style}"><hp:run><hp:t>{text}</hp:t></hp:run></hp:p>'


def test_the_zipped_format_keeps_the_same() -> None:
    rows = "".join(f"<hp:tr>{''.join(_cell(*cell) for cell in row)}</hp:tr>" for row in ROWS)
    section = (
        hwpx_paragraph("출장비 규정", 1)
        + hwpx_paragraph("다음과<hp:lineBreak/>같다.")
        + hwpx_paragraph("단가", 2)
        + f"<hp:p><hp:run><hp:tbl>{rows}</hp:tbl></hp:run></hp:p>"
    )
    assert load_file("a.hwpx", hwpx(section), LIMIT).title == "출장비 규정"
    assert pieces("a.hwpx", hwpx(section)) == [((), "다음과  \n같다."), (("단가",), READ)]


def _cell(text: str, columns: int, rows: int) -> str:
    span = f'<hp:cellSpan colSpan="{columns}" rowSpan="{rows}"/>'
    return f"<hp:tc><hp:subList>{hwpx_paragraph(text)}</hp:subList>{span}</hp:tc>"
