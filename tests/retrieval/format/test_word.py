"""Word files keep their structure."""

from __future__ import annotations

from retrieval.read.load import load_file
from tests.retrieval.file import LIMIT, pieces, word


def test_word_keeps_its_headings() -> None:
    data = word(("Heading 1", "Manual"), ("", "Intro."), ("Heading 2", "Start"), ("", "Press the button."))
    assert pieces("a.docx", data) == [((), "Intro."), (("Start",), "Press the button.")]


def test_a_word_files_title_is_its_own() -> None:
    data = word(("Title", "Refund rules"), ("", "Intro."), ("Heading 1", "Steps"), ("", "Log in."))
    assert load_file("a.docx", data, LIMIT).title == "Refund rules"
    assert pieces("a.docx", data) == [((), "Intro."), (("Steps",), "Log in.")]


def test_a_line_of_a_word_file_is_text_however_it_begins() -> None:
    data = word(("Heading 1", "A"), ("", "# pip install"), ("", "&lt;script> x"), ("Heading 2", "B"), ("", "b"))
    assert pieces("a.docx", data) == [((), "# pip install\n\n<script> x"), (("B",), "b")]
