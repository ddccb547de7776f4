from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from graph.choice.routed import route_tool_calls
from retrieval.answer.tool import QUOTABLE
from tests.table import table

NOW = datetime(2026, 11, 27, 14, 30, tzinfo=ZoneInfo("Asia/Seoul"))
NAMES = ("current_time", "calculate", "search_documents", "recall", "remember", "forget")


def _tools(*names: str) -> list[BaseTool]:
    return [StructuredTool.from_function(lambda text: text, name=name, description=name) for name in names]


@table(
    ("question", "previous", "name", "arguments"),
    [
        ("지금 몇 시야?", None, "current_time", {"zone": "local"}),
        ("부산은 지금 몇 시야?", None, "current_time", {"zone": "Asia/Seoul"}),
        ("What time is it in New Delhi?", None, "current_time", {"zone": "Asia/Kolkata"}),
        ("And in Osaka?", "What time is it in London?", "current_time", {"zone": "Asia/Tokyo"}),
        ("24 곱하기 18은?", None, "calculate", {"expression": "24*18"}),
        ("내 주소는 기억에서 지워 줘", None, "forget", {"message": "내 주소는 기억에서 지워 줘"}),
        ("What did I say my budget was?", None, "recall", {"query": "What did I say my budget was?"}),
    ],
)
def test_a_call_has_the_arguments_that_the_message_states(
    question: str, previous: str | None, name: str, arguments: dict[str, Any]
) -> None:
    (call,) = route_tool_calls(question, [previous] if previous else [], _tools(*NAMES))
    assert (call["name"], call["args"]) == (name, arguments)


def test_two_places_are_two_calls() -> None:
    calls = route_tool_calls("What time is it in London and Paris?", [], _tools(*NAMES))
    assert [call["args"]["zone"] for call in calls] == ["Europe/London", "Europe/Paris"]
    assert len({call["id"] for call in calls}) == 2


def test_there_means_the_place_of_the_question_before() -> None:
    (call,) = route_tool_calls("거기는 오늘 무슨 요일이야?", ["도쿄는 지금 몇 시야?"], _tools(*NAMES))
    assert call["args"] == {"zone": "Asia/Tokyo"}


def test_only_a_tool_that_is_there_is_chosen() -> None:
    assert route_tool_calls("지금 몇 시야?", [], _tools("calculate")) == []


def test_the_model_writes_the_expression_of_a_sum_in_words_and_code_that_of_a_sum_in_signs() -> None:
    question, tools = "환율 1350원이면 80달러가 얼마인지 계산해 줘", _tools(*NAMES)
    (call,) = route_tool_calls(question, [], tools, lambda: "1350*80")
    assert (call["name"], call["args"]) == ("calculate", {"expression": "1350*80"})
    assert route_tool_calls(question, [], tools, lambda: None) == []
    (call,) = route_tool_calls("24 곱하기 18은?", [], tools, lambda: "1+1")
    assert call["args"] == {"expression": "24*18"}


def test_a_question_about_a_day_brings_the_dates_that_the_user_has_just_written() -> None:
    earlier = ["가게는 2027년 3월 14일에 열어.", "간판은 무슨 색이 좋을까?"]
    (call,) = route_tool_calls("그날은 무슨 요일이야?", earlier, _tools(*NAMES))
    assert call["args"] == {"zone": "local", "dates": ["2027-03-14"]}


def test_a_date_of_the_past_is_brought_as_a_past_date() -> None:
    (call,) = route_tool_calls(
        "What day of the week was that?", ["We opened the shop on 1 April."], _tools(*NAMES), now=lambda: NOW
    )
    assert call["args"] == {"zone": "local", "dates": ["2026-04-01"]}


def test_the_days_of_a_question_that_code_cannot_read_are_brought_as_dates() -> None:
    question, tools = "우리 아들 생일이 5월 3일인데 며칠 남았어?", _tools(*NAMES)
    (call,) = route_tool_calls(question, [], tools, now=lambda: NOW)
    assert (call["name"], call["args"]) == ("current_time", {"zone": "local", "dates": ["2027-05-03"]})
    (call,) = route_tool_calls(question, [], tools, lambda: "days(today, 2027-05-03)", lambda: NOW)
    assert (call["name"], call["args"]) == ("calculate", {"expression": "days(today, 2027-05-03)"})


@pytest.mark.parametrize(
    "question",
    ["다음 주 토요일에 제주도 여행 가요. 며칠 남았죠?", "I'm flying to Lisbon next Saturday. How many days is that?"],
)
def test_a_place_beside_a_day_does_not_take_the_day_away(question: str) -> None:
    calls = route_tool_calls(question, [], _tools(*NAMES), now=lambda: NOW)
    assert calls[0]["name"] == "current_time"
    assert calls[0]["args"]["dates"]


def test_the_model_writes_no_expression_for_a_plain_question_about_the_time() -> None:
    (call,) = route_tool_calls("What time is it in Lisbon?", [], _tools(*NAMES), lambda: "1+1", lambda: NOW)
    assert call["name"] == "current_time"


def test_a_message_about_something_else_brings_no_dates_and_old_dates_are_left() -> None:
    dated = "The shop opens on March 14, 2027."
    assert route_tool_calls("Which colour suits a bakery?", [dated], _tools(*NAMES)) == []
    (call,) = route_tool_calls("What time is it now?", [dated, "a", "b", "c"], _tools(*NAMES))
    assert call["args"] == {"zone": "local"}


def test_the_time_of_a_place_brings_no_dates() -> None:
    (call,) = route_tool_calls("What time is it in Osaka?", ["The shop opens on March 14, 2027."], _tools(*NAMES))
    assert call["args"] == {"zone": "Asia/Tokyo"}


@table(
    ("question", "is_near", "found"),
    [
        ("Is my data safe with you?", True, True),
        ("Is my data safe with you?", False, False),
        ("검색 색인이 손상됐대. 어떻게 해야 해?", True, True),
        ("더 짧게 요약해줘", True, False),  # near a section about summaries, and no question about the documents
        ("내가 전에 말한 것 기억해?", True, False),
    ],
)
def test_a_message_that_may_mean_the_documents_is_looked_up_where_a_section_is_near(
    question: str, is_near: bool, found: bool
) -> None:
    (tool,) = _tools("search_documents")
    tool.metadata = {QUOTABLE: lambda message: is_near and message == question}
    calls = route_tool_calls(question, [], [tool])
    assert [(call["name"], call["args"]) for call in calls] == [("search_documents", {"query": question})] * found
