"""The lines of a memory: their turns, their statements, and which say the same."""

from __future__ import annotations

import pytest

from memory.line import (
    DatedStatement,
    has_whole_value,
    parse_dated_line,
    render_dated_line,
    says_again,
    statements_of,
)
from tests.table import table


@table("language", ["ko", "en"])
@table("told", [DatedStatement(7, 7, "A dog."), DatedStatement(7, 9, "A dog · A cat"), DatedStatement(0, 0, "A dog.")])
def test_a_line_is_read_as_it_was_written(told: DatedStatement, language: str) -> None:
    assert parse_dated_line(render_dated_line(told, "ko" if language == "ko" else "en")) == told


def test_a_line_names_its_turns_in_the_language_of_the_conversation() -> None:
    assert render_dated_line(DatedStatement(7, 7, "강아지"), "ko") == "7턴: 강아지"
    assert render_dated_line(DatedStatement(7, 9, "A dog"), "en") == "turns 7-9: A dog"


def test_a_line_may_hold_several_statements() -> None:
    assert statements_of("turns 7-9: My dog is Rex · My cat is Tom") == [
        DatedStatement(7, 7, "My dog is Rex"),
        DatedStatement(9, 9, "My cat is Tom"),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My item 2 costs $200.", "turn 4: My item 2 costs $200"),
        ("나는 땅콩 알레르기가 있어", "7턴: 나는 땅콩 알레르기가 있어!"),
        ("passport number: M123", "My passport number is M123."),
        ("My item 2 costs $200.", "User said: My item 2 costs $200."),
    ],
)
def test_the_same_words_and_values_say_it_again(one: str, other: str) -> None:
    assert says_again(one, other)
    assert says_again(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("My item 2 costs $200.", "My item 3 costs $300."),
        ("The rent is $900 a month.", "The car loan is $900 a month."),
        ("My passport number is M123.", "My passport number is M124."),
        ("나는 부산에 살아.", "나는 커피를 좋아해."),
    ],
)
def test_other_words_or_values_say_something_else(one: str, other: str) -> None:
    assert not says_again(one, other)


def test_a_value_is_told_as_a_whole() -> None:
    assert has_whole_value("예산은 150만 원이야", "150만 원")
    assert has_whole_value("Her name is Ann.", "ann")
    assert not has_whole_value("It costs $500.", "$50")
    assert not has_whole_value("My locker code is 12-34.", "12")
    assert not has_whole_value("Anna called.", "Ann")
