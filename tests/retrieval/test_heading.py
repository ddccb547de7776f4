"""Sections are ranked by heading and text together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from model.embedding import BuiltIn, Vectors, built_in
from retrieval.answer.heading import (
    LEAD,
    WORDS,
    build_heading_text,
    measure_nearness,
    measure_vector_nearness,
    rank_sections,
)
from retrieval.product_docs import first_run
from tests.retrieval.conftest import Opened
from tests.retrieval.test_loop import hit

X, Y, BOTH = (np.asarray(each, np.float32) for each in ([1, 0], [0, 1], [0.8, 0.6]))


def rows(*vectors: Vectors) -> Vectors:
    return np.stack(vectors)


def test_the_heading_counts_as_much_as_the_text() -> None:
    found = rank_sections([hit(1), hit(2)], X, rows(Y, Y), rows(Y, X))
    assert [each.passage.id for each in found] == [2, 1]
    assert found[0].heading == pytest.approx(1.0)


def test_a_section_comes_once_by_its_best_passage() -> None:
    one = hit(1)
    other = replace(one, passage=replace(one.passage, id=9))
    (found,) = rank_sections([one, other], X, rows(Y, X), rows(X, X))
    assert found.passage.id == 9


def test_nearness_is_the_mean_cosine_and_parts_of_the_lead_and_of_the_words() -> None:
    first, second = (
        replace(hit(each), cosine=0.9, heading=0.8, cover=0.3, score=score) for each, score in ((1, 0.5), (2, 0.3))
    )
    assert measure_nearness([]) == -1.0
    assert measure_nearness([replace(first, cover=0.0)]) == pytest.approx(0.85)
    assert measure_nearness([first]) == pytest.approx(0.85 + WORDS * 0.3)
    assert measure_nearness([first, second]) == pytest.approx(0.85 + WORDS * 0.3 + LEAD * 0.2)


def test_nearness_by_the_vectors_alone_leaves_the_words_out_of_the_lead_too() -> None:
    vectors = rows(Y, BOTH)
    plain, worded = (rank_sections([hit(1), replace(hit(2), cover=cover)], X, vectors, vectors) for cover in (0.5, 0.9))
    assert measure_nearness(worded) > measure_nearness(plain)
    assert measure_vector_nearness(worded) == pytest.approx(measure_vector_nearness(plain))
    assert measure_vector_nearness([]) == -1.0


@pytest.mark.parametrize(
    ("title", "path", "text"), [("Fruit", ("Pears",), "Fruit › Pears"), ("", (), "Green."), ("Fruit", (), "Fruit")]
)
def test_headings_are_one_text(title: str, path: tuple[str, ...], text: str) -> None:
    assert build_heading_text(title, path, "Green.") == text


@pytest.mark.parametrize(
    ("question", "label"),
    [
        ("does anything I write leave my computer?", "faq/en/data.md › Does anything leave my machine?"),
        ("how do I get longer summaries", "faq/en/summaries.md › How do I make summaries longer or shorter?"),
        ("is there a dark mode", "faq/en/chat.md › How do I switch to dark mode, or change the language of the page?"),
        ("요약이 너무 짧게 나와요", "faq/ko/summaries.md › 요약을 더 길게 하거나 짧게 하려면 어떻게 하나요?"),
        (
            "can i keep typing while its still answering or do i have to wait",
            "guide/en/first-conversation.md › While an answer is coming",
        ),
        ("터미널에서 대화 파일로 저장하는 명령어 뭐였지", "guide/ko/terminal.md › 대화하기"),
    ],
)
def test_people_s_own_words_find_the_section_that_answers_them(opened: Opened, question: str, label: str) -> None:
    library = opened(built_in())
    first_run(library)
    hits = library.sections(question)
    assert hits[0].passage.label == label
    assert measure_nearness(hits) >= library.near


def test_the_products_own_headings_come_with_their_vectors(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    library = opened(built_in())
    first_run(library)
    monkeypatch.setattr(BuiltIn, "passages", lambda *_: pytest.fail("nothing is left to embed"))
    assert library.sections("where are my chats?")
