"""Arguments that have nothing to do with the question are not used: a small model makes them up."""

from __future__ import annotations

import time

import pytest
from langchain_core.messages import ToolCall

from graph.tool import TOOLS
from model.decide import grounded


def used(name: str, question: str, **arguments: str) -> dict[str, str] | None:
    made = grounded([ToolCall(name=name, args=arguments, id="call", type="tool_call")], TOOLS, question)
    return made[0]["args"] if made else None


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("연봉 4,800만 원이면 한 달에 얼마야?", "48000000/12"),
        ("320의 45%가 얼마인지 계산해줘", "45% of 320"),
        ("What's 1,436 minus 579?", "1436 - 579"),
        ("And if we add 50?", "17*10+50"),
        ("What is two plus two?", "2+2"),
        ("열둘을 셋으로 나누면?", "12/3"),
    ],
)
def test_an_expression_with_the_questions_numbers_is_calculated(question: str, expression: str) -> None:
    assert used("calculate", question, expression=expression) == {"expression": expression}


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("How long did the Roman Empire fall before the Renaissance?", "415-287"),
        ("What was the last digit of my phone number?", "last digit of my phone number"),
        ("Explain vaccines in a paragraph", "1 paragraph explaining vaccines"),
        ("Can you sum up the plot in one sentence?", "500/500"),
    ],
)
def test_an_expression_from_nowhere_is_no_call(question: str, expression: str) -> None:
    assert used("calculate", question, expression=expression) is None


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("We live on floor 4 and have 12 neighbours", "4*12"),
        ("우리 반은 24명이고 교실은 2층이야", "24*2"),
        ("어제 산 책은 3권이었어", "3*1"),
    ],
)
def test_what_the_user_only_tells_is_not_calculated(question: str, expression: str) -> None:
    assert used("calculate", question, expression=expression) is None


@pytest.mark.parametrize("question", ["Who built the first lighthouse?", "모래시계는 무엇으로 만들어?"])
def test_a_question_of_neither_place_nor_time_needs_no_clock(question: str) -> None:
    assert used("current_time", question, zone="local") is None


@pytest.mark.parametrize(
    ("question", "chosen", "zone"),
    [
        ("And in Toronto?", "Madrid", "Toronto"),
        ("시드니는?", "로스앤젤레스", "시드니"),
        ("지금 서울은 몇 시야?", "서울", "서울"),
        ("지금 몇 시야?", "local", "local"),
        ("What day is it?", "local", "local"),
        ("What time is it in the Big Apple?", "New York", "New York"),
    ],
)
def test_the_place_in_the_question_counts(question: str, chosen: str, zone: str) -> None:
    assert used("current_time", question, zone=chosen) == {"zone": zone}


@pytest.mark.parametrize("sign", ["1", " ", "1,", "a", "(", "1만 ", "\n"])
def test_a_long_message_is_grounded_at_once(sign: str) -> None:
    question = f"a{sign * 200_000} 12 곱하기 4는?"
    started = time.thread_time()
    assert used("calculate", question, expression="12*4")
    used("current_time", question, zone="Asia/Seoul")
    assert time.thread_time() - started < 1
