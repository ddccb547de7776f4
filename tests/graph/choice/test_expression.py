from __future__ import annotations

import threading
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from errors import ModelUnreachable, RequestRejected
from graph.choice.expression import (
    Sum,
    ask_model_expression,
    build_expression_prompt,
    is_expression_faithful,
    read_stated_expression,
    write_dates,
)
from model.call.stream import Stopped
from model.scripted import ScriptedModel
from tests.table import table


@table(
    ("message", "formula"),
    [
        ("24 곱하기 18은?", "24*18"),
        ("8만의 15%는?", "80000*(15/100)"),
        ("12*(3+4)", "12*(3+4)"),
        ("3,000 - 1,200 = ?", "3000-1200"),
        ("120만원 더하기 35만원은?", "1200000+350000"),
        ("15% of 80 dollars", "(15/100)*80"),
        ("sqrt(144)", "sqrt(144)"),
    ],
)
def test_a_message_that_is_an_expression_is_read_by_code(message: str, formula: str) -> None:
    assert read_stated_expression(message) == formula


@table(
    "message",
    [
        "17 나누기 5의 나머지는?",
        "2의 10승은?",
        "What is 12 / 0?",
        "12 / 0",
        "150",
        "2026-11-26",
        "2026-11-26 - 2026-11-20",
        "오늘은 11월 24일이야",
        "Two shirts at 30 dollars, how much is that?",
        "1+" * 300 + "1",
        "",
    ],
)
def test_other_words_are_left_to_the_model(message: str) -> None:
    assert read_stated_expression(message) is None


@table(
    ("formula", "message"),
    [
        ("300*12000", "책 300권을 권당 12,000원에 사면?"),
        ("3200000*(1-3.3/100)", "월급 320만 원에서 세금 3.3% 떼면?"),
        ("64.50*1.20", "Add a 20% tip to 64.50."),
        ("35*7*3", "If I read 35 pages a day, how many is that in three weeks?"),
        ("700000*12", "월세 70만 원을 1년 내면?"),
        ("10000-6250", "Our budget is 10,000 and we used 6,250, how much remains?"),
    ],
)
def test_an_expression_of_the_numbers_of_the_message_holds(formula: str, message: str) -> None:
    assert is_expression_faithful(formula, Sum(message))


@table(
    ("formula", "message"),
    [
        ("1500*20", "버스비 1,500원에 환승 200원이면 20일에 얼마야?"),  # a number is left out
        ("80*1350", "80달러는 몇 원이야?"),  # an exchange rate is made up
        ("85000*26", "하루 85만 원이면 26일에?"),  # copied wrongly
        ("150", "150은?"),  # no operation
        ("12/0", "12를 0으로 나누면?"),
        ("none", "안녕"),
        ("", ""),
    ],
)
def test_any_other_expression_is_refused(formula: str, message: str) -> None:
    assert not is_expression_faithful(formula, Sum(message))


def test_the_sum_before_may_lend_its_numbers() -> None:
    before = ("59,000원짜리를 20% 할인하면?", "59000*(1-20/100)")
    assert is_expression_faithful("59000*(1-20/100)*(1-10/100)", Sum("거기서 10% 더 깎으면?", before))
    assert not is_expression_faithful("59000*(1-20/100)*(1-10/100)", Sum("거기서 10% 더 깎으면?"))


def test_the_request_stands_behind_the_conversation_and_ends_with_the_sum_before_and_the_message() -> None:
    conversation: list[AnyMessage] = [SystemMessage("You are helpful."), HumanMessage("Hello"), AIMessage("Hello!")]
    asked = Sum("거기에 3천 원 더하면?", ("8,500원짜리 3개면?", "8500*3"))
    messages = build_expression_prompt(asked, "ko", conversation)
    assert messages[:3] == conversation
    assert [message.text for message in messages[-3:]] == ["8500원짜리 3개면?", "8500*3", "거기에 3000원 더하면?"]


def test_a_server_that_refuses_the_request_or_says_nothing_gives_no_expression() -> None:
    messages = [HumanMessage("2 and 3?")]
    refusing = ScriptedModel(answers=lambda _: RequestRejected(url="http://x", status=400, reason="grammar"))
    assert ask_model_expression(refusing, messages, None) is None
    with pytest.raises(ModelUnreachable):
        ask_model_expression(ScriptedModel(answers=lambda _: ModelUnreachable(url="http://x")), messages, None)


def test_a_stop_ends_the_call() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        ask_model_expression(ScriptedModel(answers=["2+3"]), [HumanMessage("2 and 3?")], stop)


NOW = datetime(2026, 11, 27, 14, 30, tzinfo=ZoneInfo("Asia/Seoul"))  # a Friday


@table(
    ("message", "formula"),
    [
        ("How many days until my mother's birthday on 3 May?", "days(today, 2027-05-03)"),
        ("Our shop opened on 1 April. How many days has it been open?", "days(2026-04-01, today)"),
        ("The parcel was sent on 20 November and takes 10 working days.", "2026-11-20 + 10 working days"),
        ("12월 3일에 출국해서 16박 하면 며칠에 돌아와?", "2026-12-03 + 16 days"),
        ("베를린 팀이 오전 9시에 회의하자는데 서울에서는 몇 시야?", "time(09:00, Berlin, Seoul)"),
        ("What weekday is our wedding on 19 June 2027?", "weekday(2027-06-19)"),
        ("뉴욕에 있는 딸이 저녁 8시에 전화하면 여기는 몇 시지?", "time(20:00, New York, Seoul)"),
    ],
)
def test_an_expression_of_the_days_of_the_message_holds(message: str, formula: str) -> None:
    assert is_expression_faithful(formula, Sum.read(message, None, NOW))


@table(
    ("message", "formula"),
    [
        ("How many days until my mother's birthday on 3 May?", "days(today, 2027-05-04)"),  # another day
        ("How many days until my mother's birthday on 3 May?", "2*3"),
        ("From 3 May to 9 May, what do we pay?", "weekday(2027-05-03)"),  # a day is left out
        ("The parcel was sent on 20 November and takes 10 working days.", "2026-11-20 + 1 week"),
        ("The parcel was sent on 20 November and takes 10 working days.", "weekday(2026-11-20)"),
        ("The call with Berlin is at 9am, when is that in Seoul?", "time(09:00, Paris, Seoul)"),
        ("The call with Berlin is at 9am, when is that in Seoul?", "time(10:00, Berlin, Seoul)"),
        ("What weekday is our wedding on 19 June 2027?", "next(friday)"),
        ("What happened in Berlin on 9 November 1989?", "weekday(1989-11-09)"),  # a place is left out
    ],
)
def test_an_expression_with_other_days_places_or_numbers_is_refused(message: str, formula: str) -> None:
    assert not is_expression_faithful(formula, Sum.read(message, None, NOW))


@table(
    "message",
    [
        "If I read 40 pages a day, how many pages in two weeks?",  # a sum of numbers
        "What can we do next week?",  # no one day
        "2,400 a month, what is that a year?",
        "What time is it?",
    ],
)
def test_other_messages_are_about_no_days(message: str) -> None:
    assert Sum.read(message, None, NOW).named is None


def test_the_model_is_shown_dates_in_place_of_words_for_days() -> None:
    named = Sum.read("우리 아들 생일이 다음 달 3일 오후 2시인데 며칠 남았어?", None, NOW).named
    assert named is not None
    assert write_dates(named) == "우리 아들 생일이 2026-12-03 14:00인데 며칠 남았어?"
    (*_, last) = build_expression_prompt(Sum("…", None, named), "ko", [])
    assert last.text == write_dates(named)
