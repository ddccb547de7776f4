"""The numbers of passages after an answer that lacks them."""

from __future__ import annotations

import pytest

from retrieval.cite import marks
from retrieval.kind import asks
from retrieval.lookup import Cited
from tests.retrieval.test_loop import passage


def given(*texts: str) -> list[Cited]:
    return [Cited(number, passage(number), text) for number, text in enumerate(texts, 1)]


RATE = "Move the slider in the sidebar to change the compression rate. It holds from the next summary on."
KEY = "Put the line OPENAI_API_KEY into a file .env in Gieok's folder and start again."
RATE_KO = "사이드바의 슬라이더를 움직이면 압축률이 바뀝니다. 다음 요약부터 적용됩니다."


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("You can change the compression rate by moving the slider in the sidebar.", " [1]"),
        ("Put OPENAI_API_KEY into the file .env and start again.", " [2]"),
        ("슬라이더를 움직이면 다음 요약부터 압축률이 바뀝니다.", " [3]"),
        ("It is in the file .env [1].", ""),
        ("I could not find this in the documents.", ""),
        ("문서에 없는 내용입니다.", ""),
        ("Paris is the capital of France.", ""),
        ("", ""),
    ],
)
def test_an_answer_gets_the_number_of_the_passage_it_comes_from(answer: str, number: str) -> None:
    assert marks(answer, given(RATE, KEY, RATE_KO)) == number


def test_without_passages_there_is_none() -> None:
    assert marks("You can change the rate.", []) == ""


@pytest.mark.parametrize(
    ("text", "asking"),
    [
        ("How do I change the rate?", True),
        ("압축률 바꾸는 방법 알려줘", True),
        ("폴더에 있는 문서를 한꺼번에 넣고 싶어", True),
        ("I want to add a whole folder", True),
        ("월세로 65만 원을 내고 있어", False),
        ("I pay 650 a month in rent", False),
        ("My budget rose to $900.", False),
    ],
)
def test_a_message_that_asks_is_told_from_one_that_tells(text: str, asking: bool) -> None:
    assert asks(text) is asking
