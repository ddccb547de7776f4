"""Which facts the warning «facts missing from the summary» names."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from graph.summary.original import Original


def names(*messages: AnyMessage) -> list[str]:
    return [one.text for one in Original(messages, (1, 2, 3), 0.3, "en").told]


@pytest.mark.parametrize(
    ("question", "answer", "named"),
    [
        ("How do I move on June 14?", "1. **Compare** quotes: $900.\n2. Start, Label boxes.", ["June 14", "$900"]),
        ("My sister Hannah lives in Bristol.", "Bristol is lovely. Visit Clifton.", ["Hannah", "Bristol"]),
        ("제 이름은 박지훈이고 iPad를 써요.", "박지훈 님, Apple Watch도 있나요?", ["박지훈", "iPad"]),
        ("OST 들려줘. 3월 5일에 샀어.", "BGM도 있어요.", ["3월 5일"]),
        ("'벌거벗은 임금님 1부' 틀어줘", "12곡을 들려드려요.", ["12"]),
        ("예산은 “120만 원”이야.", "네.", ["120만 원"]),
        ("143am 노래 틀어줘", "네.", []),
    ],
)
def test_only_what_is_surely_a_fact_is_named(question: str, answer: str, named: list[str]) -> None:
    assert names(HumanMessage(question), AIMessage(answer)) == named


def test_what_only_a_tool_gave_was_told_by_nobody() -> None:
    tool = ToolMessage('{"price": 412, "seat": "12A"}', tool_call_id="c")
    assert names(HumanMessage("A flight?"), tool, AIMessage("It costs $412.")) == ["412"]
