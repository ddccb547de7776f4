from __future__ import annotations

import json
from collections import Counter

import pytest

from bench import answer
from model.scripted import build_scripted_models


def _conversations() -> list[dict[str, object]]:
    return [json.loads(line) for line in answer.QUESTIONS.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("마감은 11월 28일입니다.", True),
        ("**11월28일**이에요", True),
        ("11월 27일입니다.", False),
        ("저는 11월 28일에 마감해요", False),
    ],
)
def test_an_answer_needs_an_accepted_form_and_no_rejected_one(said: str, expected: bool) -> None:
    assert answer.right({"accept": ["11월 28일"], "reject": ["저는"]}, said) is expected


def test_there_are_twenty_questions_ten_held_out_and_some_without_an_answer() -> None:
    counted: Counter[tuple[object, object]] = Counter()
    for each in _conversations():
        counted[each["set"], each["language"]] += len(each["questions"])  # type: ignore[arg-type]
    assert counted["main", "ko"] == counted["main", "en"] == 10
    assert counted["held_out", "ko"] == counted["held_out", "en"] == 5
    assert counted["absent", "ko"] == counted["absent", "en"] == 2


def test_the_prompt_is_built_as_in_a_turn_and_holds_the_summaries_and_the_question_last() -> None:
    conversation = _conversations()[0]
    system, *recent, last = answer.prompt(build_scripted_models(), conversation, {"question": "이름이 뭐야?"})
    assert "[4-6턴]" in system.text
    assert len(recent) == 2
    assert last.text.endswith("이름이 뭐야?")


def test_a_tool_result_follows_the_question() -> None:
    conversation = next(each for each in _conversations() if each["set"] == "tool")
    asked = conversation["questions"][0]  # type: ignore[index]
    *_, question, call, result = answer.prompt(build_scripted_models(), conversation, asked)
    assert [question.type, call.type, result.type] == ["human", "ai", "tool"]
    assert result.text == asked["call"]["result"]
