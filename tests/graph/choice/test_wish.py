"""What a message wants remembered: only what it asks for in words."""

from __future__ import annotations

import pytest
from langchain_core.tools import StructuredTool

from graph.choice.routed import route_tool_calls
from graph.choice.wish import find_wish, is_wish
from tests.graph.choice.wished import MORE_WISHES, OWN_ACTS, PLAIN, WISHES
from tests.table import table

TOOL = StructuredTool.from_function(lambda text: text, name="remember", description="remember")


def kept(message: str, *earlier: str) -> str | None:
    """What ``remember`` is called with; None when it is not called."""
    calls = route_tool_calls(message, earlier, [TOOL])
    return str(calls[0]["args"]["message"]) if calls else None


def test_no_plain_statement_is_kept_and_nearly_every_wish_is() -> None:
    assert [message for message in PLAIN if kept(message) is not None] == []
    assert len(PLAIN) == 200
    missed = [message for message in WISHES if (what := kept(message)) is None or what not in message]
    assert len(missed) <= 2, missed
    assert len(WISHES) == 100


def test_what_people_keep_themselves_is_no_wish() -> None:
    assert [message for message in OWN_ACTS if kept(message) is not None] == []
    assert [message for message in MORE_WISHES if kept(message) is None] == []


@table(
    ("message", "earlier", "statement"),
    [
        ("Please remember it.", ["My shoe size is 43."], "My shoe size is 43."),
        ("save that", ["It is my turn. My shoe size is 43. Is that large?"], "It is my turn. My shoe size is 43."),
        ("그거 기억해 둬", ["내 신발은 275야"], "내 신발은 275야"),
        ("내가 방금 말한 거 꼭 기억해 줘", ["우리 개 이름은 나래야."], "우리 개 이름은 나래야."),
        ("Please remember it.", [], ""),
        ("기억해 줘", [], ""),
        ("기억해 줘", ["오늘 며칠이야?"], ""),
        ("My shoe size is 43.", ["Please remember it."], "My shoe size is 43."),
        ("내 신발은 275야", ["오늘 며칠이야?", "기억해 줘"], "내 신발은 275야"),
        ("내 신발은 275야", ["나는 광주에 살아", "기억해 줘"], None),
        ("My shoe size is 43.", ["Please remember that I live in Leeds."], None),
    ],
)
def test_a_wish_that_names_nothing_means_the_statement_before_it(
    message: str, earlier: list[str], statement: str | None
) -> None:
    assert kept(message, *earlier) == statement


@table(
    "question",
    [
        "기억해?",
        "내 이름 기억해?",
        "너 기억하고 있어?",
        "저장했어?",
        "Do you remember my name?",
        "Did you note that?",
        "Tell me everything you remember about me",
        "list what you remember of my trip",
    ],
)
def test_a_question_about_memory_is_no_wish(question: str) -> None:
    assert not is_wish(question)
    assert find_wish(question, ["My name is Sue."], 1.0) is None


@table("message", ["기억해 줄래?", "Can you remember that I live in Leeds?", "Save that my locker is B-17, will you?"])
def test_a_request_in_the_form_of_a_question_is_a_wish(message: str) -> None:
    assert is_wish(message)


@table(
    "message", ["I remember my first school.", "I saved 300 euros.", "아무도 그 번호를 기억 못 해.", "적금을 넣었어"]
)
def test_a_statement_with_a_word_of_keeping_is_no_wish(message: str) -> None:
    assert not is_wish(message)


def test_without_any_likeness_to_a_wish_the_words_alone_keep_nothing() -> None:
    assert find_wish("Record: 9.8 seconds", [], 0.01) is None


@pytest.mark.parametrize(
    ("message", "fact"),
    [
        ("My policy number is HL-55231. Please remember it.", "My policy number is HL-55231."),
        ("내 혈액형은 RH- B형이야. 기억해 줘.", "내 혈액형은 RH- B형이야."),
        ("Please remember that my policy number is HL-55231.", "Please remember that my policy number is HL-55231."),
    ],
)
def test_a_fact_is_kept_without_the_sentence_that_only_wants_it_kept(message: str, fact: str) -> None:
    assert kept(message) == fact
