"""Where an answer comes from."""

from __future__ import annotations

from typing import Any

import pytest

from component.answer.citation import cited_numbers, in_section, with_links
from retrieval.answer.tool import NAME
from store import TurnRow


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("Seven days [1]. Three more [2, 3].", {1, 2, 3}),
        ("7일입니다[1][4].", {1, 4}),
        ("See [1](https://example.org) and [a] and [2000].", set()),
        ("Nothing.", set()),
    ],
)
def test_numbers_in_brackets_are_citations_and_links_are_not(answer: str, numbers: set[int]) -> None:
    assert cited_numbers(answer) == numbers


@pytest.mark.parametrize(
    ("answer", "becomes"),
    [
        ("7일입니다 [1].", r"7일입니다 [\[1\]](#source-3-1)."),
        ("Both[1][2]; see [2, 1], [1,9].", r"Both[\[1\]](#source-3-1)[\[2\]](#source-3-2); see "
         r"\[[2](#source-3-2), [1](#source-3-1)\], \[[1](#source-3-1), 9\]."),
        ("**7일**[1]은 10:30[1]", r"**7일**[\[1\]](#source-3-1)은 10\:30[\[1\]](#source-3-1)"),
        ("No source [3], a link [1](https://a.example), an escape \\[1].", None),
        ("In code `x[1]` and $a[1]+b$ and\n```\nx[1]\n```\n", None),
        ("See [1].\n\n[1]: https://a.example", None),
    ],
)  # fmt: skip
def test_a_number_that_has_a_source_leads_to_it(answer: str, becomes: str | None) -> None:
    assert with_links(cited(answer)) == (answer if becomes is None else becomes)


def cited(answer: str) -> TurnRow:
    """Turn 3 with this answer and two sources."""
    passages = [{"number": number, "label": "a.md", "text": "7 days"} for number in (1, 2)]
    steps = [{"call": "c", "name": NAME, "artifact": {"passages": passages}}]
    blank: dict[str, Any] = dict.fromkeys(("messages", "error", "report", "usage", "feedback"))
    times: dict[str, Any] = dict.fromkeys(("finished", "seconds", "first_token_seconds"))
    return TurnRow("s", 3, "?", answer, "done", steps=steps, tokens=0, branch=0, started=0.0, **blank, **times)


def test_the_passage_is_marked_in_its_section_and_the_questions_words_in_it() -> None:
    section = "First.\n\nRefunds take 7 days.\n\nLast refunds."
    marked = in_section(section, "Refunds take 7 days.", "How long do refunds take?")
    assert marked == 'First.\n\n<mark class="passage"><b>Refunds</b> <b>take</b> 7 days.</mark>\n\nLast refunds.'


def test_a_korean_word_is_found_without_its_particle() -> None:
    assert in_section("압축률을 낮춥니다.", "압축률을 낮춥니다.", "압축률은 어떻게 바꿔?") == (
        '<mark class="passage"><b>압축률</b>을 낮춥니다.</mark>'
    )


def test_of_a_shortened_passage_what_was_given_is_marked() -> None:
    assert in_section("First. Refunds take 7 days.", "Refunds take …", "refunds") == (
        'First. <mark class="passage"><b>Refunds</b> take</mark> 7 days.'
    )


def test_a_passage_that_the_section_says_twice_is_marked_in_its_own_place() -> None:
    assert in_section("Save.\n\nOpen.\n\nSave.", "Save.", "x", 14) == (
        'Save.\n\nOpen.\n\n<mark class="passage">Save.</mark>'
    )


def test_a_text_that_is_not_in_the_section_is_not_marked_in_a_wrong_place() -> None:
    assert in_section("Refunds take 7 days.", "| Refunds | 7 |", "refunds") == (
        '<mark class="passage"><b>Refunds</b> take 7 days.</mark>'
    )
    assert in_section("Refunds take 7 days.", "", "refunds") == "Refunds take 7 days."


HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & <b>b</b>", "null \x00 and \ud800"]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_document_says_is_shown_and_never_run(text: str) -> None:
    marked = in_section(f"{text} before {text} after {text}", text, f"script alert img before {text}")
    plain = marked.replace('<mark class="passage">', "").replace("</mark>", "").replace("<b>", "").replace("</b>", "")
    assert "<" not in plain
    marked.encode("utf-8")
