"""Which facts the warning «facts missing from the summary» names."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from graph.summary.original import Original
from graph.tool.calculation.arithmetic import solve_expression


def names(*messages: AnyMessage) -> list[str]:
    return [one.text for one in Original(messages, (1, 2, 3), 0.3, "en").told_facts]


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


def sums(question: str, formula: str, answer: str) -> list[AnyMessage]:
    result = ToolMessage(solve_expression(formula), tool_call_id="c", name="calculate")
    return [HumanMessage(question), result, AIMessage(answer)]


@pytest.mark.parametrize(
    ("question", "formula", "answer", "named"),
    [
        (
            "연봉 3600만 원이면 한 달에?",
            "36000000/12",
            "36,000,000 ÷ 12 = 3,000,000원입니다.",
            ["3600만 원", "3,000,000"],
        ),
        ("월급 300만 원의 12배는?", "3000000*12", "3,000,000 * 12 = 36,000,000", ["300만 원", "12배", "36,000,000"]),
        ("How far in m/s is 420 km?", "420*1000/(5*3600)", "420 * 1000 / (5 * 3600) is 23.33.", ["420 km", "23.33"]),
        ("What year gap?", "2024-1999", "It is 2024 - 1999 = 25 years, since 1999.", ["25", "1999"]),
        ("Rent?", "900*12", "$10,800 a year: 900 * 12. Book 30 - 45 days ahead.", ["10,800", "30", "45 days"]),
    ],
)
def test_operands_of_the_calculator_s_formula_were_told_by_nobody(
    question: str, formula: str, answer: str, named: list[str]
) -> None:
    assert names(*sums(question, formula, answer)) == named


def test_an_operand_in_a_tool_s_formula_is_no_fact_of_the_turns() -> None:
    found = Original(tuple(sums("Root?", "sqrt(144)+12-3", "It is 21.")), (1, 2, 3), 0.3, "en").facts
    assert [each.text for each in found] == ["21"]


def test_another_tool_s_numbers_stay() -> None:
    tool = ToolMessage("rows 144 + 12 = 156", tool_call_id="c", name="seats")
    found = Original((HumanMessage("Seats?"), tool, AIMessage("Some.")), (1, 2, 3), 0.3, "en").facts
    assert [each.text for each in found] == ["144", "12", "156"]
