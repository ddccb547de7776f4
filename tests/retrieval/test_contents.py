"""A table of contents of any kind of files lends no words to the search: it has those of every heading, and answers
none."""

from __future__ import annotations

import pytest

from retrieval.index.word import cut_passage_words
from retrieval.read.contents import LONGEST, link_contents_entries
from tests.retrieval.file import objects, pieces, word
from tests.table import table

HEADINGS = ("Which owl sleeps?", "2.1 What do foxes read", "여우는 무엇을 읽나요?")
TEXT = "By day, in a tree."


def _write_html(entries: str) -> bytes:
    sections = "".join(f"<h2>{heading}</h2><p>{TEXT}</p>" for heading in HEADINGS)
    return f"<meta charset=utf-8><title>Owls</title><h2>Contents</h2>{entries}{sections}".encode()


def _write_markdown() -> bytes:
    entries = "\n".join(f"- {heading}" for heading in HEADINGS)
    return "\n\n".join(["# Contents", entries, *(f"## {heading}\n\n{TEXT}" for heading in HEADINGS)]).encode()


def _write_word() -> bytes:
    entries = [("", f"{number}.\t{heading}\t{number + 3}") for number, heading in enumerate(HEADINGS, 1)]
    sections = [part for heading in HEADINGS for part in (("Heading 1", heading), ("", TEXT))]
    return word(("Title", "Owls"), ("", "Contents"), *entries, *sections)


def _write_pdf(bold: bool) -> bytes:
    """A PDF of two pages: entries with dots that lead to their pages, and sections with larger headings."""
    headings = ("Which owl sleeps?", "2.1 What do foxes read", "Where mice live")
    first = [(12, 740, "Contents")]
    first += [(11, 700 - 14 * at, f"{heading} {'. ' * 30}{at + 2}") for at, heading in enumerate(headings)]
    second = [
        line
        for at, heading in enumerate(headings)
        for line in ((18, 700 - 90 * at, heading), (11, 680 - 90 * at, TEXT), (11, 666 - 90 * at, TEXT))
    ]
    streams = [
        "\n".join(f"BT /F1 {size} Tf 60 {y} Td ({text}) Tj ET" for size, y, text in page) for page in (first, second)
    ]
    fonts = [f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>" for name in ("Helvetica-Bold", "Helvetica")]
    pages = [
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {at + 5} 0 R "
        f"/Resources << /Font << /F1 {fonts[at if bold else 1]} >> >> >>"
        for at in range(2)
    ]
    bodies = [f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream" for stream in streams]
    root = ("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>")
    return objects(*root, *pages, *bodies)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (
            "list.html",
            _write_html("<ul>" + "".join(f"<li><a href='#x'>{each}</a></li>" for each in HEADINGS) + "</ul>"),
        ),
        ("plain.html", _write_html("".join(f"<p>{each}</p>" for each in HEADINGS))),
        (
            "table.html",
            _write_html(f"<table>{''.join(f'<tr><td>{each}<td>4' for each in ('Part', *HEADINGS))}</table>"),
        ),
        ("plain.md", _write_markdown()),
        ("owls.docx", _write_word()),
        ("owls.pdf", _write_pdf(bold=False)),
        ("bold.pdf", _write_pdf(bold=True)),
    ],
)
def test_a_table_of_contents_lends_no_words(name: str, data: bytes) -> None:
    found = pieces(name, data)
    answers = [path for path, text in found if TEXT in text]
    entries = [text for _, text in found if TEXT not in text]
    assert len(answers) == 3, "each heading stands above its text"
    assert any("Which owl sleeps?" in text for text in entries), "the entries stay in the text"
    words = {word for text in entries for word in cut_passage_words(text, "ngram")}
    assert not words & {"owl", "sleep", "foxes", "fox", "mice", "여우"}


@table(
    "text",
    [
        "# A\n\n- Tea\n- Milk\n\n# Tea\n\n# Milk",  # two lines: a list like any other
        "# A\n\n- Tea …… 4\n- Milk …… 5\n- Rice …… 6\n\n# Prices",  # a price list names no heading
        "# A\n\n```\nTea\nMilk\nRice\n```\n\n# Tea\n\n# Milk\n\n# Rice",  # code
        "# A\n\nTea and milk\nMilk, then rice\nRice with tea\n\n# Tea\n\n# Milk\n\n# Rice",
    ],
)
def test_what_is_no_table_of_contents_stays_as_it_is(text: str) -> None:
    assert link_contents_entries(text) == text


def test_a_long_line_of_dots_is_read_at_once() -> None:
    line = "." * 200_000 + "x"
    assert link_contents_entries(f"# Tea\n\n{line}\n{line[-LONGEST:]}") == f"# Tea\n\n{line}\n{line[-LONGEST:]}"
