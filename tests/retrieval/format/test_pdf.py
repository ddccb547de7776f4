"""PDFs become sections with their pages, tables and paragraphs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from errors import DocumentError
from retrieval.document import name_place
from retrieval.read.format import picture_text
from retrieval.read.load import load_file
from tests.retrieval.file import CIPHERS, LIMIT, objects, pdf, pieces
from tests.table import table

FILES = Path(__file__).parents[3] / "bench" / "data" / "files"


def test_a_pdf_is_split_by_its_pages() -> None:
    assert pieces("a.pdf", pdf("First page here.", "", "Third one.")) == [
        (("p. 1",), "First page here."),
        (("p. 3",), "Third one."),
    ]


@pytest.mark.parametrize("cipher", CIPHERS)
def test_a_pdf_that_is_only_protected_from_changes_is_read(cipher: str) -> None:
    assert pieces("a.pdf", pdf("Open to all.", password="", cipher=cipher)) == [(("p. 1",), "Open to all.")]


def test_steps_and_bullets_of_a_page_are_paragraphs() -> None:
    lines = ("1. Log in to the page", "2. Open settings and", "choose the key", "3. Save", "\\267 one", "- two")
    assert pieces("a.pdf", pdf(") Tj 0 -14 Td (".join(lines))) == [
        (
            ("p. 1",),
            "1. Log in to the page\n\n2. Open settings and choose the key\n\n3. Save\n\n• one\n\n- two",
        )
    ]


def test_a_line_is_text_however_it_begins() -> None:
    for line in ("# here", "<script> x", "~~~", "- item"):
        assert pieces("a.pdf", pdf(line, "text")) == [(("p. 1",), line), (("p. 2",), "text")]


def read(name: str) -> tuple[str, list[tuple[tuple[str, ...], str]]]:
    data = (FILES / name).read_bytes()
    return load_file(name, data, LIMIT).title, pieces(name, data)


def place(found: list[tuple[tuple[str, ...], str]], words: str) -> tuple[str, ...]:
    return next(path for path, text in found if words in text)


@pytest.mark.parametrize("name", ["two.pdf", "outline.pdf"])
def test_two_columns_are_read_one_after_the_other_under_their_headings(name: str) -> None:
    _, found = read(name)
    text = "\n".join(text for _, text in found)
    marks = ["LEFTMARK one", "LEFTMARK two", "RIGHTMARK", "SAMPLEMARK", "RESULTMARK", "ENDMARK"]
    assert sorted(map(text.index, marks)) == list(map(text.index, marks))
    assert place(found, "SAMPLEMARK")[-3:] == ("2 Method", "2.1 Sampling", "p. 1")
    assert place(found, "ENDMARK")[-2] == "4 Conclusion"
    assert "| Ours | 78.9 | 11 |" in text
    assert "J. Sched. Sys." not in text


def test_three_columns_are_read_one_after_the_other() -> None:
    text = "\n".join(text for _, text in read("three.pdf")[1])
    marks = [f"COL{number} {what}" for number in (1, 2, 3) for what in ("begins", "ends")]
    assert sorted(map(text.index, marks)) == list(map(text.index, marks))


@table(
    ("name", "title", "rows"),
    [
        ("ruled.pdf", "Timber price list", ("| Oak board | 3.0 m | 47.20 |", "All prices include tax.")),
        (
            "open.pdf",
            "Hardware",
            ("| Code | Description | Unit | Price |", "| K-003 | Wall plug 8 mm | 50 pcs | 2.45 |"),
        ),
        ("wide.pdf", "Report", ("| Quarter | Sales Home | Sales Abroad | Costs Home | Costs Abroad |",)),
        ("korean.pdf", "이용 안내", ("| 성인 | 12,000 | 주말 14,000 |",)),
        ("invoice.pdf", "Invoice 2026-118", ("| 2 | Bulb E14 warm white | 6 | 21.00 |", "Pay within 30 days")),
        ("form.pdf", "Request for leave", ("| Department | Purchasing |",)),
        ("slides.pdf", "Roadmap 2026", ("• One supplier for the display",)),
    ],
)
def test_tables_of_a_page_are_tables_and_no_title_of_a_program_is_taken(
    name: str, title: str, rows: tuple[str, ...]
) -> None:
    found_title, found = read(name)
    text = "\n".join(text for _, text in found)
    assert found_title == title
    assert [row for row in rows if row not in text] == []


def test_a_manual_has_the_sections_of_its_outline_without_running_heads() -> None:
    _, found = read("manual.pdf")
    assert place(found, "MARK-22") == ("2 Setup", "2.2 Network", "p. 2")
    assert not any("Page 2" in text for _, text in found)


def test_a_citation_names_the_section_and_the_page() -> None:
    assert name_place(("2 Setup", "2.2 Network", "p. 2")) == ("2.2 Network", "p. 2")
    assert name_place(("Setup", "Network")) == ("Network",)
    assert name_place(()) == ()


def test_a_word_that_is_parted_at_the_end_of_a_line_is_one_word() -> None:
    lines = ") Tj 0 -14 Td (".join(("A long enough line ends in the middle of a manip-", "ulation of words."))
    assert "a manipulation of words." in pieces("a.pdf", pdf(lines))[0][1]


def scan() -> bytes:
    """A PDF whose only page is a picture that says «HELLO 42»."""
    wide, high = 400, 60
    rows = {"H": "55755", "E": "74747", "L": "44447", "O": "75557", " ": "00000", "4": "55711", "2": "71747"}
    shape = {letter: "".join(f"{int(row):03b}" for row in digits) for letter, digits in rows.items()}
    dots = [[255] * wide for _ in range(high)]
    for at, letter in enumerate("HELLO 42"):
        for spot, bit in enumerate(shape[letter]):
            if bit == "1":
                for y in range(8):
                    for x in range(8):
                        dots[10 + spot // 3 * 8 + y][20 + at * 36 + spot % 3 * 8 + x] = 0
    picture = bytes(dot for row in dots for dot in row).hex()
    about = f"/Width {wide} /Height {high} /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /ASCIIHexDecode"
    head = f"<< /Type /XObject /Subtype /Image {about} /Length {len(picture) + 1} >>"
    draw = "q 400 0 0 60 50 600 cm /I Do Q"
    return objects(
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        " /Resources << /XObject << /I 5 0 R >> >> >>",
        f"<< /Length {len(draw)} >>\nstream\n{draw}\nendstream",
        f"{head}\nstream\n{picture}>\nendstream",
    )


def test_a_scanned_page_says_that_its_text_must_be_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    picture_text.find_tool.cache_clear()
    try:
        with pytest.raises(DocumentError) as caught:
            load_file("scan.pdf", scan(), LIMIT)
    finally:
        picture_text.find_tool.cache_clear()
    assert (caught.value.code, "Tesseract" in str(caught.value)) == ("document_scanned", True)
    with pytest.raises(DocumentError) as caught:
        load_file("blank.pdf", pdf(""), LIMIT)
    assert caught.value.code == "document_empty"


@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
def test_a_scanned_page_is_read_where_tesseract_is_installed() -> None:
    ((path, text),) = pieces("scan.pdf", scan())
    assert path == ("p. 1",)
    assert "42" in text
