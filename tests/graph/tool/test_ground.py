"""Arguments that have nothing to do with the question are not used: a small model makes them up."""

from __future__ import annotations

import time

import pytest
from langchain_core.messages import ToolCall
from model.decide import grounded

from graph.tool import TOOLS


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
    ("question", "expression", "right"),
    [
        ("1년치 월세는 얼마야? 70만 * 12", "70000*12", "700000*12"),
        ("월 70만 원씩 12달이면 얼마야?", "70*12", "700000*12"),
        ("1억 2천만 원을 4명이 나누면?", "12000000/4", "120000000/4"),
        ("3만 km는 몇 m야?", "30000*1000", "30000*1000"),
        ("3km는 몇 m야?", "3*1000", "3*1000"),
    ],
)
def test_zeros_that_a_small_model_miscounted_are_put_right(question: str, expression: str, right: str) -> None:
    assert used("calculate", question, expression=expression) == {"expression": right}


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
        ("I'm in Seoul. What time is it in New York?", "America/New_York", "America/New_York"),
        ("서울에 사는데 뉴욕은 지금 몇 시야?", "New_York", "New_York"),
        ("서울에 사는데 뉴욕은 지금 몇 시야?", "local", "뉴욕"),
        ("What's the time in San Francisco now?", "Cairo", "San Francisco"),
        ("My aunt moved to Mumbai, is it late there?", "local", "Mumbai"),
        ("방콕 사는 친구는 자려나? 거기 몇 시야", "local", "방콕"),
        ("What time is it in Nice?", "local", "Nice"),
        ("지금 파리는 몇 시야?", "카이로", "파리"),
        ("서울 말고 런던에서는 지금 몇 시야?", "local", "런던"),
        ("I'm in Seoul. What time is it in the UK?", "local", "UK"),
    ],
)
def test_the_place_in_the_question_counts(question: str, chosen: str, zone: str) -> None:
    assert used("current_time", question, zone=chosen) == {"zone": zone}


@pytest.mark.parametrize(
    "question",
    [
        "I have to wake up at 7. What time is it now?",
        "I met Tom yesterday. What time is it now?",
        "It's wet outside. What time is it?",
        "It's a nice day. What day of the week is it?",
        "I'm in nice company, what time is it?",
        "What time is it? I should act now",
        "What time is it on the west coast?",
        "Is it Easter today?",
        "What's the date today? I have an oral exam",
        "What day is today? I go to the gym with Santiago",
        "파리가 많네. 지금 몇 시야?",
        "오늘 무슨 요일이지? 인도적 지원 행사가 있어",
        "지금 몇 시야? 니스 칠 해야 하는데",
        "오늘 며칠이야? 터키석 반지 사려고",
        "세부 일정은 정했는데 오늘 며칠이지?",
    ],
)
def test_everyday_words_are_no_places(question: str) -> None:
    assert used("current_time", question, zone="local") == {"zone": "local"}


@pytest.mark.parametrize("sign", ["1", " ", "1,", "a", "(", "1만 ", "\n", "in la "])
def test_a_long_message_is_grounded_at_once(sign: str) -> None:
    question = f"a{sign * (200_000 // len(sign))} 12 곱하기 4는?"
    started = time.thread_time()
    assert used("calculate", question, expression="12*4")
    used("current_time", question, zone="Asia/Seoul")
    assert time.thread_time() - started < 1
