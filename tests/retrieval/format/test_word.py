"""Word files keep their structure."""

from __future__ import annotations

from tests.retrieval.file import pieces, word


def test_word_keeps_its_headings() -> None:
    data = word(("Heading 1", "Manual"), ("", "Intro."), ("Heading 2", "Start"), ("", "Press the button."))
    assert pieces("a.docx", data) == [((), "Intro."), (("Start",), "Press the button.")]
