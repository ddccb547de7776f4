"""Token F1 against figures computed by hand."""

from __future__ import annotations

import pytest

from bench.public import f1
from bench.public.dataset.dataset import DatasetQuestion, Scoring
from tests.table import table


def asked(*answers: str, scoring: Scoring = "whole") -> DatasetQuestion:
    return DatasetQuestion("1", "?", answers, "c", (), scoring=scoring)


@table(
    "answer, wanted, figure",
    [
        ("The adoption agencies.", "adoption agencies", 1.0),
        ("adoption", "Adoption agencies", 2 / 3),  # precision 1, recall 1/2
        ("she researched adoption agencies", "adoption agencies", 2 / 3),  # precision 2/4, recall 1
        ("on 7 May 2023", "7 May, 2023", 6 / 7),  # precision 3/4, recall 1
        ("red red", "red", 2 / 3),  # a word counts as often as it is wanted
        ("1,200", "1200", 1.0),
        ("dogs", "cats", 0.0),
        ("", "cats", 0.0),
        ("the", "a", 0.0),
        ("친구 두 명", "친구 세 명", 2 / 3),
    ],
)
def test_f1_of_a_whole_answer(answer: str, wanted: str, figure: float) -> None:
    assert f1.token_f1(answer, wanted) == pytest.approx(figure)


@table(
    "answer, wanted, figure",
    [
        ("pottery, camping", "camping, pottery", 1.0),
        ("pottery", "camping, pottery", 0.5),
        ("camping trips, pottery", "camping, pottery, painting", (2 / 3 + 1 + 0) / 3),
    ],
)
def test_f1_part_by_part(answer: str, wanted: str, figure: float) -> None:
    assert f1.parts_f1(answer, wanted) == pytest.approx(figure)


@table(
    "question, answer, figure",
    [
        (asked("35", "thirty five"), "Thirty-five", 0.0),
        (asked("35", "thirty five"), "thirty five years", 4 / 5),
        (asked("camping, pottery", scoring="parts"), "pottery", 0.5),
        (asked(scoring="refusal"), "That is not mentioned.", 1.0),
        (asked(scoring="refusal"), "No information available", 1.0),
        (asked("x", scoring="refusal"), "x", 0.0),
        (asked(), "anything", None),
    ],
)
def test_the_best_of_several_answers(question: DatasetQuestion, answer: str, figure: float | None) -> None:
    assert f1.score_answer(question, answer) == (None if figure is None else pytest.approx(figure))
