"""The answers that code words from what tools gave."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from langchain_core.messages import HumanMessage, ToolMessage

from graph.answer.by_code import render_answer_by_code


def result(
    name: str,
    text: str = "",
    artifact: dict[str, Any] | None = None,
    status: Literal["success", "error"] = "success",
    call: str = "",
) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call or name, name=name, artifact=artifact, status=status)


def answered(question: str, *results: ToolMessage, language: str = "en") -> str | None:
    return render_answer_by_code([HumanMessage(question), *results], language)


NOW = {"now": "2026-11-23T09:05:00+09:00", "zone": "Asia/Seoul"}


def test_a_sum_is_shown_as_people_write_it() -> None:
    assert answered("?", result("calculate", "950000+2400000 = 3,350,000")) == "950,000 + 2,400,000 = **3,350,000**"
    assert answered("?", result("calculate", "1/3 ≈ 0.333")) == "1 ÷ 3 ≈ **0.333**"


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "In Seoul it is 09:05 on Monday, November 23, 2026."),
        ("ko", "서울: 지금 2026년 11월 23일 월요일 09:05입니다."),
    ],
)
def test_the_time_of_a_place_names_the_place(language: str, told: str) -> None:
    assert answered("?", result("current_time", artifact=NOW), language=language) == told


@pytest.mark.parametrize(
    ("language", "question", "day", "distance", "told"),
    [
        (
            "en",
            "What day is December 5?",
            "2026-12-05",
            "12",
            "That is Saturday, December 5, 2026, 12 days from today.",
        ),
        ("en", "Which weekday was yesterday?", "2026-11-22", "-1", "That is Sunday, November 22, 2026, 1 day ago."),
        ("ko", "12월 5일은?", "2026-12-05", "12", "2026년 12월 5일 토요일입니다. 오늘부터 12일 뒤입니다."),
    ],
)
def test_a_day_is_told_with_its_weekday_and_its_distance(
    language: str, question: str, day: str, distance: str, told: str
) -> None:
    here = result("calculate", artifact={"day": day, "distance": distance})
    assert answered(question, here, language=language) == told


@pytest.mark.parametrize("question", ["What day is our wedding on December 5?", "12월 5일에 뭘 하면 좋을까?"])
def test_the_time_does_not_answer_a_question_that_asks_for_more(question: str) -> None:
    assert answered(question, result("current_time", artifact={**NOW, "zone": "", "dates": ["2026-12-05"]})) is None


@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("en", "The day you wrote about is Saturday, December 5, 2026, 12 days from today."),
        ("ko", "말씀하신 날은 2026년 12월 5일 토요일, 오늘부터 12일 뒤입니다."),
    ],
)
def test_a_question_that_may_mean_a_day_of_before_is_told_both(language: str, told: str) -> None:
    here = result("current_time", artifact={**NOW, "zone": "", "dates": ["2026-12-05"]})
    answer = answered("?", here, language=language)
    assert answer is not None
    first, second = answer.splitlines()
    assert "09:05" in first
    assert second == told


def test_documents_are_quoted_with_their_number_or_the_nearest_sections_are_named() -> None:
    found = {"passages": [{"number": 1, "text": "Pears ripen in September."}]}
    quoted = answered("?", result("search_documents", artifact=found))
    assert quoted is not None
    assert quoted.endswith("Pears ripen in September.")
    assert "[1]" in quoted
    nothing = {"passages": [], "fallback": {"text": "No related document was found."}}
    assert answered("?", result("search_documents", artifact=nothing)) == "No related document was found."
    far = {**nothing, "trace": [{"reason": "unrelated", "hits": [{"label": "guide.md › 1"}]}]}
    assert answered("?", result("search_documents", artifact=far)) is None
    near = {
        **nothing,
        "trace": [{"reason": "unsure", "hits": [{"label": f"guide.md › {number}"} for number in range(5)]}],
    }
    unsure = answered("?", result("search_documents", artifact=near))
    assert unsure is not None
    assert unsure.startswith("No related document was found.")
    assert unsure.count("- guide.md ›") == 3


def test_the_model_answers_where_a_tool_failed_or_has_no_wording() -> None:
    assert answered("?") is None
    assert answered("?", result("calculate", "no sum", status="error")) is None
    assert answered("?", result("recall_memory", "- wifi code: hunter2")) is None


def test_two_results_make_two_sentences() -> None:
    both = answered("?", result("remember", "Kept."), result("calculate", "2*3 = 6"))
    assert both == "Kept.\n\n2 × 3 = **6**"
