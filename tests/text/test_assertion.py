"""What a text states: no questions, but what stands before one."""

from __future__ import annotations

import pytest

from text.assertion import assertions


@pytest.mark.parametrize(
    "question",
    [
        "여행지는 어디야",
        "예산은 얼마예요",
        "우리 몇 명이었지",
        "예산이 150만 원 아니었나요",
        "예산을 올릴까",
        "what is my budget",
        "so is the budget $500",
        "여행지가 어디였는지 기억나?",
        "If my budget is $500, can you find a hotel?",
    ],
)
def test_a_question_states_nothing(question: str) -> None:
    assert assertions(question) == []


@pytest.mark.parametrize(
    "said",
    [
        "나는 뭐든 잘 먹어.",
        "언제나 행복해.",
        "회의는 3시에 끝나요.",
        "제주도에 가요.",
        "바쁘니까.",
        "When I was 5 we moved.",
    ],
)
def test_what_only_looks_like_one_is_stated(said: str) -> None:
    assert assertions(said) == [said]


def test_what_stands_before_a_question_is_stated() -> None:
    assert assertions("My budget is $500, can you find a hotel?") == ["My budget is $500"]
    assert assertions("여행지가 서울인데 뭐 하지?") == ["여행지가 서울인데"]
