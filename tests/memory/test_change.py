"""A changed value leaves only the new one as current."""

from __future__ import annotations

import pytest

from memory import change
from memory.change import Change


@pytest.mark.parametrize(
    ("before", "said", "after"),
    [
        ("예산은 1억 원이다.", "예산이 1억 5천만 원으로 올랐어.", "예산은 1억 5천만 원이다."),
        ("The budget is $10,000.", "Actually, the budget rose to $15,000.", "The budget is $15,000."),
        ("The budget is 100 million won.", "The budget rose to 150 million won.", "The budget is 150 million won."),
        ("마감은 3월 5일이다.", "마감이 3월 20일로 미뤄졌어.", "마감은 3월 20일이다."),
        ("The launch is on March 14.", "We moved the launch to April 2.", "The launch is on April 2."),
        ("회의는 화요일 10시에 한다.", "회의 시간이 14시로 바뀌었어.", "회의는 화요일 14시에 한다."),
        ("예산은 1억 원이다.", "예산이 1억 원에서 2억 원으로 늘었어.", "예산은 2억 원이다."),
        ("담당자는 김민수이다.", "담당자가 김민수에서 이지은으로 바뀌었어.", "담당자는 이지은이다."),
    ],
)
def test_the_new_value_takes_the_place_of_the_old_one(before: str, said: str, after: str) -> None:
    assert change.apply(before, change.said([before], [said])) == after


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("예산은 1억 원이다.", "직원이 8명으로 늘었어."),  # another kind of number
        ("The rent is $900.", "The budget rose to $15,000."),  # another thing
        ("마감은 3월 5일이다.", "출장이 3월 20일로 미뤄졌어."),
        ("The budget is $10,000.", "The budget is fine."),
        ("Tom set the budget.", "Sarah raised the budget."),
    ],
)
def test_other_things_keep_their_values(before: str, said: str) -> None:
    assert change.apply(before, change.said([before], [said])) == before


def test_of_several_values_the_one_next_to_the_shared_word_changes() -> None:
    before = "The budget is $10,000, of which marketing takes $2,000."
    changes = change.said([before], ["Marketing rose to $3,000."])
    assert change.apply(before, changes) == "The budget is $10,000, of which marketing takes $3,000."


def test_a_sentence_that_tells_the_history_stays() -> None:
    line = "The budget rose from $10,000 to $15,000."
    assert change.apply(line, [Change("$10,000", "$15,000", frozenset({"budget"}))]) == line


def test_an_entity_s_new_value_reaches_the_sentences_about_it() -> None:
    made = change.replaced("blue", "green", ["My favourite colour is green now."])
    assert change.apply("The favourite colour is blue.", [made]) == "The favourite colour is green."


def test_digits_inside_a_longer_number_are_not_touched() -> None:
    assert change.apply("Cost 1100.", [Change("100", "150", frozenset({"cost"}))]) == "Cost 1100."
