"""Whole questions about days and times, read by code: what was asked is answered, and nothing else."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from langchain_core.messages import HumanMessage, ToolMessage

from graph.answer.by_code import render_answer_by_code
from graph.choice.question import has_unread, read_time_question
from graph.choice.routed import route_tool_calls
from graph.tool import TOOLS
from graph.tool.calculate import calculate
from graph.tool.time import configure_tool_clock
from tests.table import table

NOW = datetime(2026, 11, 27, 14, 30, tzinfo=ZoneInfo("Asia/Seoul"))  # a Friday


def answer(question: str, language: str = "en") -> str | None:
    """What code answers: None where the model must."""
    calls = route_tool_calls(question, [], TOOLS, now=lambda: NOW)
    results = []
    for call in calls:
        tool = next(tool for tool in TOOLS if tool.name == call["name"])
        result = tool.invoke(dict(call), configure_tool_clock(lambda: NOW))
        assert isinstance(result, ToolMessage)
        results.append(result)
    return render_answer_by_code([HumanMessage(question), *results], language)


@table(
    ("question", "expressions"),
    [
        ("How many days until Christmas if today is 1 May?", ["days(2027-05-01, 2027-12-25)"]),
        ("오늘이 5월 1일이면 크리스마스까지 며칠 남은 거야?", ["days(2027-05-01, 2027-12-25)"]),
        ("크리스마스까지 며칠 남았어?", ["days(today, 2026-12-25)"]),
        ("What date is 10 days after 3 March?", ["weekday(2027-03-13)"]),
        ("How many working days until December 31?", ["workdays(today + 1 day, 2026-12-31)"]),
        ("연말까지 영업일이 며칠 남았어?", ["workdays(today + 1 day, 2026-12-31)"]),
        ("What time will it be in Tokyo in 3 hours?", ["time(Asia/Tokyo) + 180 minutes"]),
        ("두 시간 전에 파리는 몇 시였어?", ["time(Europe/Paris) - 120 minutes"]),
        ("뉴욕이 오후 3시면 서울은 몇 시야?", ["time(15:00, America/New_York, Asia/Seoul)"]),
        ("If it's 3pm in New York, what time is it in Seoul?", ["time(15:00, America/New_York, Asia/Seoul)"]),
        ("내일모레가 무슨 요일이야?", ["weekday(2026-11-29)"]),
        ("What day of the week was 1 April?", ["weekday(2026-04-01)"]),
        ("What day of the week is 1 April?", ["weekday(2027-04-01)"]),
        ("How many days ago was 3 March?", ["days(2026-03-03, today)"]),
        ("2월 14일부터 오늘까지 며칠 지났어?", ["days(2026-02-14, today)"]),
        ("3월 1일부터 24일까지 며칠이야?", ["days(2027-03-01, 2027-03-24)"]),
        ("How many days from 20 December to 3 January?", ["days(2026-12-20, 2027-01-03)"]),
        ("How many days are in February 2028?", ["days(2028-01-31, 2028-02-29)"]),
        ("올해 며칠 남았어?", ["days(today, 2026-12-31)"]),
        ("다음 달 1일부터 20일까지 평일이 며칠이야?", ["workdays(2026-12-01, 2026-12-20)"]),
        ("How many working days are there in December?", ["workdays(2026-12-01, 2026-12-31)"]),
        ("What day does the 4th of July fall on next year?", ["weekday(2027-07-04)"]),
        ("What's today plus 45 days?", ["weekday(2027-01-11)"]),
        ("What is 20 weeks before 15 June 2027?", ["weekday(2027-01-26)"]),
        ("작년 오늘은 무슨 요일이었어?", ["weekday(2025-11-27)"]),
        ("시드니가 오전 8시 30분이면 서울은 몇 시인가요?", ["time(08:30, Australia/Sydney, Asia/Seoul)"]),
        ("How many weeks until New Year's Day?", ["weeks(today, 2027-01-01)"]),
        ("내년 5월 27일까지 몇 개월 남았어?", ["months(today, 2027-05-27)"]),
        ("내일이랑 모레는 무슨 요일이야?", ["weekday(2026-11-28)", "weekday(2026-11-29)"]),
        ("이번 주말이 며칠이야?", ["weekday(2026-11-28)", "weekday(2026-11-29)"]),
        ("２０２８년 ２월 ２９일은 무슨 요일이야?", ["weekday(2028-02-29)"]),
    ],
)
def test_a_whole_question_is_read(question: str, expressions: list[str]) -> None:
    assert read_time_question(question, NOW) == expressions


@table(
    "message",
    [
        "How many days until then if today is 1 May?",
        "How many days until my mother's birthday on 3 May?",
        "수능까지 며칠 남았어?",
        "2026-11-26",
        "5월 1일",
        "How many days until 3 March 2020?",
        "9시면 런던은 몇 시야?",
        "How many days does it take to drive from Seoul to Busan?",
        "독일은 법정 휴가가 며칠이야?",
        "Is 25 December a Friday?",
        "What happened in Berlin on 9 November 1989?",
        "How many weekdays between 1 and 31 December?",
        "What time is it?",
        "What is New Year's Eve?",
        "",
        "몇 " * 100 + "며칠",
    ],
)
def test_what_is_no_whole_question_is_left(message: str) -> None:
    assert read_time_question(message, NOW) == []


@table(
    ("language", "question", "words"),
    [
        ("en", "How many days until Christmas?", "That is 28 days, from Friday, November 27, 2026 to"),
        ("ko", "크리스마스까지 며칠 남았어?", "28일입니다. 2026년 11월 27일 금요일부터 2026년 12월 25일 금요일까지"),
        ("en", "How many weeks until 1 March 2027?", "That is 13 weeks 3 days, from"),
        ("ko", "내년 5월 27일까지 몇 개월 남았어?", "6개월입니다."),
        (
            "en",
            "How many working days until December 31?",
            "That is 24 working days, from Saturday, November 28",
        ),
        ("ko", "10영업일 뒤는 며칠이야?", "2026년 12월 11일 금요일입니다. 오늘부터 14일 뒤입니다."),
        ("en", "What time will it be in Tokyo in 3 hours?", "In Tokyo that is 17:30 on Friday, November 27, 2026."),
        ("ko", "베를린 저녁 7시는 서울 시간으로 몇 시예요?", "서울 시각으로 2026년 11월 28일 토요일 03:00입니다."),
        ("en", "What time will it be in 90 minutes?", "That is 16:00 on Friday, November 27, 2026."),
        ("en", "What time is it in London?", "In London it is 05:30 on Friday, November 27, 2026."),
    ],
)
def test_code_words_the_answer_of_a_whole_question(language: str, question: str, words: str) -> None:
    said = answer(question, language)
    assert said is not None
    assert said.startswith(words)


@pytest.mark.parametrize(
    "question",
    [
        "My train leaves for London in 3 hours, what time is it there then?",
        "What day is our wedding on 19 June 2027?",
        "우리 가게가 4월 1일에 문 열었는데 며칠 됐어?",
    ],
)
def test_a_question_with_other_words_is_left_to_the_model(question: str) -> None:
    assert answer(question) is None


@table(
    ("question", "is_more"),
    [
        ("What time is it in London and Paris?", False),
        ("지금 도쿄는 몇 시야?", False),
        ("I want to ring my aunt in Mumbai, what's the time there?", False),
        ("Will Tokyo still be open at 9pm?", True),
        ("What time is it in Tokyo when I land on Friday?", True),
    ],
)
def test_a_question_about_now_may_ask_for_more(question: str, is_more: bool) -> None:
    assert has_unread(question, NOW) is is_more


def test_the_clock_change_is_counted() -> None:
    before = datetime(2026, 10, 25, 1, 30, tzinfo=ZoneInfo("Europe/Berlin"))  # clocks go back an hour at three
    call = {"type": "tool_call", "name": "calculate", "args": {"expression": "time(here) + 3 hours"}, "id": "1"}
    assert "03:30" in str(calculate.invoke(call, configure_tool_clock(lambda: before)).content)


@pytest.mark.parametrize(
    "question",
    [
        "What was life like 10000 years ago?",
        "3000년 전 이집트는 어땠어?",
        "How many days from 1 March 2028 to 29 February?",
    ],
)
def test_what_lies_beyond_the_calendar_ends_no_turn(question: str) -> None:
    route_tool_calls(question, [], TOOLS, now=lambda: NOW)


@pytest.mark.parametrize(
    "question",
    [
        "두 시간 시간 있어?",
        "30분 쉬는 시간 있어?",
        "How many days do I work next week?",
        "When do I work next week?",
        "다음 주에 며칠 쉬어?",
        "크리스마스에 며칠 쉬어?",
        "내일 언제 하는 거야?",
        "When did I say Monday?",
        "오후 3시에 서울에서 시간 있어?",
        "When is Friday the 13th?",
        "지금 시간 있어?",
        "Do you have time?",
    ],
)
def test_what_somebody_plans_is_left_to_the_model(question: str) -> None:
    assert answer(question, "ko") is None


@pytest.mark.parametrize(
    "question", ["What date is that?", "What time is it there now?", "그날이 무슨 요일이야?", "거기는 지금 몇 시야?"]
)
def test_what_points_back_to_another_message_is_left_to_the_model(question: str) -> None:
    assert answer(question) is None
