"""Which values of memory an answer shows: those of its prompt that the question did not tell."""

from __future__ import annotations

from typing import Any

from graph.context.use import ShownValue, find_shown_values, list_memory_marks
from tests.table import table

ENTITIES = "[Values]\nbudget: $10,000, city: 부산, room: 7, rent: 850,000 (800,000 until 2026-03-02)"
MEMORY = "[Long-term memory]\nturn 3: The hotel costs 360 dollars.\nI like quiet places."
PROFILE = "[About the user]\n- 2026-03-02: name: 김민수\n- 2026-03-05: The meeting is on 12 May."


def parts(**texts: str) -> dict[str, Any]:
    return {"parts": [{"name": name, "text": text, "tokens": 1} for name, text in texts.items()]}


def values(answer: str, question: str = "그래서?") -> list[str]:
    report = parts(profile=PROFILE, memory=MEMORY, entities=ENTITIES, recent="[Recent]\ncode: 4711")
    return [shown.value for shown in find_shown_values(report, {}, question, answer)]


@table(
    ("answer", "shown"),
    [
        ("Your budget is $10,000.", ["$10,000"]),
        ("예산은 $10,000이고 부산으로 가시지요.", ["$10,000", "부산"]),
        ("The hotel costs 360 dollars, 김민수님.", ["김민수", "360 dollars"]),
        ("You pay 850,000.", ["850,000"]),
        ("It is $100,000.", []),
        ("There are 7 of them, and the code is 4711.", []),
        ("Quiet places are nice.", []),
    ],
)
def test_a_value_counts_that_stands_in_the_answer_as_a_whole(answer: str, shown: list[str]) -> None:
    assert values(answer) == shown


def test_what_the_question_tells_comes_from_the_question() -> None:
    assert values("With $10,000 you can go to 부산.", "What can I do with $10,000?") == ["부산"]
    assert values("The hotel costs 360 dollars.", "Does it cost 360 dollars?") == []


def test_a_value_of_several_lines_stands_once_and_the_texts_may_lie_apart() -> None:
    report = parts(profile="[About]\n- 2026-03-02: city: 부산", entities="[Values]\ncity: 부산")
    assert find_shown_values(report, {}, "", "부산입니다.") == [ShownValue("부산", "city: 부산")]
    marked = {"parts": [{"name": "memory", "mark": "m1", "tokens": 1}]}
    assert list_memory_marks(marked) == ["m1"]
    assert find_shown_values(marked, {"m1": MEMORY}, "", "360 dollars") == [
        ShownValue("360 dollars", "The hotel costs 360 dollars.")
    ]
    assert find_shown_values(marked, {}, "", "360 dollars") == [], "what was forgotten shows nothing"
    assert list_memory_marks({"parts": [{"name": "recent", "mark": "m2"}]}) == []
    assert list_memory_marks(None) == []
