"""The fold by code: dated lines of the user's own words, chosen by what they carry."""

from __future__ import annotations

import pytest

from memory.fold import MOST_SENTENCES, Folded
from memory.fold.extracted import MOST_OF_TURN, SHARE, fold_by_code
from memory.fold.fold_input import FoldInput
from memory.line import parse_dated_line, split_memory_lines, statements_of
from memory.state import MemoryTurn
from model.call.token import estimate_tokens
from model.scripted import count_scripted_tokens
from tests.steps import count_lines

WORDS = ("parsnip", "quartz", "lilac", "ferry", "violin", "cobalt")


def said(*questions: str, first: int = 1) -> tuple[MemoryTurn, ...]:
    return tuple(MemoryTurn(number, question, "Noted.") for number, question in enumerate(questions, first))


def fold(*questions: str, text: str = "", room: int = 500, first: int = 1, pins: tuple[str, ...] = ()) -> Folded:
    return fold_by_code(
        FoldInput(text, (), said(*questions, first=first), pins, default="en"), count_scripted_tokens, room
    )


def statements(text: str) -> list[str]:
    """The statements of a memory without their turns, oldest first."""
    return [each.text for line in split_memory_lines(text) for each in statements_of(line)]


def test_each_statement_has_its_turn_and_its_own_words() -> None:
    assert fold("My dog is Rex.").text == "turn 1: My dog is Rex."
    assert fold("우리 강아지 이름은 초코야.", first=7).text == "7턴: 우리 강아지 이름은 초코야."


def test_short_statements_of_neighbouring_turns_share_a_line() -> None:
    made = fold("My dog is Rex.", "Thanks!", "The rent is $900.", text="The user likes tea.")
    assert made.text.splitlines() == [
        "The user likes tea.",
        "turns 1-2: My dog is Rex · Thanks",
        "turn 3: The rent is $900.",
    ]
    again = fold("My cat is Tom.", text=made.text, first=4)
    assert again.text.splitlines()[2] == "turns 3-4: The rent is $900 · My cat is Tom"
    far = fold("My cat is Tom.", text=made.text, first=9)
    assert far.text.splitlines()[2:] == ["turn 3: The rent is $900.", "turn 9: My cat is Tom."]


def test_from_a_line_of_several_statements_the_turn_of_each_can_be_told() -> None:
    made = fold("My dog is Rex. He is 3.", "Thanks!", "Ok.", "My cat is Tom. He is 5. He is grey.")
    told = [each for line in made.text.splitlines() for each in statements_of(line)]
    assert [(each.first, each.text.rstrip(".!")) for each in told] == [
        (1, "My dog is Rex"),
        (1, "He is 3"),
        (2, "Thanks"),
        (4, "My cat is Tom"),
        (4, "He is 5"),
        (4, "He is grey"),
    ]


def test_a_question_is_remembered_for_its_values_alone() -> None:
    made = fold("What should I do first?", "Can you book a table for 4 people on May 3?", "Ok?")
    assert made.text == "turn 2: Can you book a table for 4 people on May 3?"


def test_the_answers_are_no_memory() -> None:
    made = fold_by_code(
        FoldInput("", (), (MemoryTurn(1, "My dog is Rex.", "Rex is 7 years old."),), default="en"),
        count_scripted_tokens,
        500,
    )
    assert "7" not in made.text


def test_the_same_fact_told_three_times_is_remembered_once_with_its_latest_turn() -> None:
    made = fold("My dog is Rex.", "My dog is Rex. My dog is Rex! My dog is Rex.", "My dog is Rex.")
    assert made.text == "turn 3: My dog is Rex."


def test_a_liking_that_was_replaced_stands_before_the_one_of_now_each_with_its_turn() -> None:
    """Code does not read what words mean: the order and the turns tell a model which one counts."""
    made = fold("I love Chinese food.", "The rent is $900.", "Ok.", "I hate Chinese food now.")
    assert made.text.splitlines() == [
        "turns 1-2: I love Chinese food · The rent is $900",
        "turn 4: I hate Chinese food now.",
    ]


@pytest.mark.parametrize("again", ["My dog is Rex!", "my dog is rex"])
def test_a_repeated_statement_keeps_its_latest_turn(again: str) -> None:
    made = fold("My dog is Rex.", "The rent is $900.", again)
    assert statements(made.text) == ["The rent is $900", again.rstrip("!.")]


@pytest.mark.parametrize(
    "later",
    ["My sister is allergic to walnuts.", "The rent is $950 a month.", "I do not like spicy food very much."],
)
def test_a_statement_that_differs_in_a_word_or_a_value_repeats_nothing(later: str) -> None:
    earlier = ("My brother is allergic to walnuts.", "The rent is $900 a month.", "I like spicy food very much.")
    assert len(statements(fold(*earlier, later).text)) == 4


def test_what_a_later_statement_tells_too_leaves_first() -> None:
    old, new = "The budget of the trip is $3,200.", "The budget of the trip rose to $3,800."
    others = (
        "Our gate to the ferry opens at 9:30.",
        "Call my brother on 010-1234-5678 by night.",
        "The locker beside the swimming pool is B204.",
    )
    whole = fold(old, *others, new).text
    made = fold(old, *others, new, room=int(count_scripted_tokens(whole) / SHARE) - 1)
    assert "$3,200" in whole
    assert "$3,200" not in made.text
    assert all(value in made.text for value in ("$3,800", "9:30", "010-1234-5678", "B204"))


def test_what_has_no_value_keeps_half_of_the_room() -> None:
    """A summary of the chunk tells the values, and seldom the rest."""
    valued = [f"Shelf {number} of the {word} holds {number}7 jars." for number, word in enumerate(WORDS, 1)]
    plain = [f"I am fond of the {word} that grandmother made." for word in WORDS]
    made = statements(fold(*(each for pair in zip(plain, valued, strict=True) for each in pair), room=110).text)
    held = [part.startswith("I am") for part in made]
    assert 4 <= len(held) < 2 * len(WORDS)
    assert abs(sum(held) - len(held) / 2) <= 1


def test_what_may_tell_what_became_of_something_never_leaves_before_it() -> None:
    """Else the memory would go on telling what is no longer so."""
    told = [
        f"Box {number} of the {word} holds {number} jars." for number, word in enumerate(["attic", "cellar", "shed"])
    ]
    old, new = "We leave on May 9 with the whole family and the dog.", "Departure: May 16."
    for room in range(20, 200, 10):
        made = fold(old, *told, new, *told[::-1], room=room)
        assert "May 16" in made.text or "May 9 " not in made.text


def test_lines_and_tokens_are_bounded_and_the_newest_stays() -> None:
    many = [
        f"Shelf {number} of the {number}th room holds {number}00 blue boxes for the museum." for number in range(90)
    ]
    for counted in (count_scripted_tokens, estimate_tokens):
        made = fold_by_code(FoldInput("", (), said(*many), default="en"), counted, 500)
        assert len(made.text.splitlines()) <= MOST_SENTENCES
        assert counted(made.text) <= 500 * SHARE
        assert "Shelf 89 " in made.text


def test_a_memory_of_many_folds_holds_what_it_held_in_one() -> None:
    told = [
        "My dog is Rex.",
        "내 주소는 부산이야.",
        "The rent is $900.",
        "I like jazz.",
        "Juno is scared of the vacuum.",
    ]
    text = ""
    for number, each in enumerate(told, 1):
        text = fold(each, text=text, first=number).text
    assert [each.rstrip(".") for each in statements(text)] == [each.rstrip(".") for each in told]
    assert parse_dated_line(text.splitlines()[-1]).last == len(told)


def test_a_long_paste_does_not_push_out_all_else() -> None:
    rows = "\n".join(f"Row {number} costs ${number}17." for number in range(1, 300))
    made = fold("My dog is Rex.", f"Here it is:\n{rows}", "I like jazz.")
    assert "Rex" in made.text
    assert "jazz" in made.text
    assert made.text.count("Row") <= MOST_OF_TURN
    assert "$11717" in made.lost


def test_a_long_sentence_is_remembered_in_parts() -> None:
    long = f"We met {'and talked about this and that ' * 9}and then the budget of 42,500 dollars came up for Tom Reed."
    made = fold(long)
    assert "42,500" in made.text
    assert all(len(line) < 260 for line in made.text.splitlines())


def test_what_is_pinned_is_told_once_in_the_words_of_the_pin() -> None:
    made = fold("I am allergic to peanuts.", "My dog is Rex.", pins=("I am allergic to peanuts", "My cat is Tom."))
    assert made.text.count("peanuts") == 1
    assert made.text.startswith("My cat is Tom.")
    pin = "My dog is Rex · My cat is Tom"
    shared = fold("My dog is Rex.", "My cat is Tom.", pins=(pin,), text=pin)
    assert shared.text == pin


def test_a_fold_costs_in_proportion_to_what_was_pasted() -> None:
    def lines(items: int) -> int:
        pasted = "\n".join(
            f"항목 {number} 가격은 {number}00원이고 배송은 5월 {number % 28 + 1}일이야." for number in range(items)
        )
        return count_lines(lambda: fold(*[pasted] * 5))

    assert lines(800) < 12 * lines(100)
