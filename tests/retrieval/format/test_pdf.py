"""PDFs become paragraphs."""

from __future__ import annotations

import pytest

from tests.retrieval.file import CIPHERS, pdf, pieces


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
