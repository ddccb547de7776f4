"""What is remembered and forgotten without a model: the user's own words, and what the user picks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from graph.tool import wish
from graph.tool.question.ask import read_memory_ask
from memory.state import PIN_CHARS
from tests.graph.tool.calls import reaching
from tests.stub.memory import ListedMemory

LINES = ["address: 45 Elm Street", "sister: Hannah", "dog: Barley", "rent: $1,800", "job: nurse", "tea: barley", "x: y"]


def scoring(*scores: float) -> wish.Near:
    return lambda _, texts: scores[: len(texts)]


@pytest.mark.parametrize(("language", "said"), [("en", "I will remember this"), ("ko", "기억해 두었습니다")])
def test_what_the_user_said_is_pinned_word_for_word_and_told(language: str, said: str) -> None:
    memory, message = ListedMemory(), "Save that my locker is B-17, will you?"
    told = wish.pin_wish_message(reaching(memory, language), message)
    assert memory.pins == [message]
    assert told.text.startswith(said)
    assert message in told.text
    assert told.artifact is None


def test_of_a_long_message_the_first_sentences_are_kept_and_told() -> None:
    memory = ListedMemory()
    first = "Remember that my locker is B-17. The key lies in the blue bowl."
    told = wish.pin_wish_message(reaching(memory), f"{first} {'And so on ' * 40}until the end.")
    assert memory.pins == [first]
    assert told.text.endswith(f"“{first}”")


def test_of_one_long_sentence_the_beginning_is_kept_and_told() -> None:
    memory = ListedMemory()
    wish.pin_wish_message(reaching(memory), "word " * 200)
    assert len(memory.pins[0]) <= PIN_CHARS
    assert memory.pins[0].endswith("word…")


def test_what_cannot_be_kept_is_told() -> None:
    memory = ListedMemory(full=True)
    told = wish.pin_wish_message(reaching(memory, "ko"), "내 사물함은 B-17이야, 기억해 줘")
    assert memory.pins == []
    assert "20" in told.text
    assert "못했습니다" in told.text


def test_the_user_picks_among_the_lines_that_come_near() -> None:
    memory = ListedMemory([*LINES])
    told = wish.ask_to_forget(reaching(memory), "drop the dog", scoring(0.80, 0.84, 0.85, 0.83, 0.7, 0.6, 0.5))
    ask = read_memory_ask(told.artifact)
    assert ask is not None
    assert ask["arguments"] == {"lines": ["dog: Barley", "sister: Hannah", "rent: $1,800"], "pick": True}
    assert memory.texts == LINES


def test_one_line_is_asked_about_with_yes_and_no_and_no_more_than_five_are_listed() -> None:
    one = read_memory_ask(
        wish.ask_to_forget(reaching(ListedMemory([*LINES])), "dog", scoring(0.9, *[0.8] * 6)).artifact
    )
    assert one is not None
    assert one["arguments"] == {"lines": LINES[:1]}
    many = read_memory_ask(wish.ask_to_forget(reaching(ListedMemory([*LINES])), "dog", scoring(*[0.8] * 7)).artifact)
    assert many is not None
    assert many["arguments"] == {"lines": LINES[:5], "pick": True}


@pytest.mark.parametrize(
    ("texts", "near"), [([], scoring()), (LINES, scoring(*[0.5] * 7))], ids=["empty memory", "nothing near"]
)
def test_where_nothing_comes_near_nobody_is_asked(
    texts: Sequence[str], near: Callable[[str, Sequence[str]], Sequence[float]]
) -> None:
    told = wish.ask_to_forget(reaching(ListedMemory([*texts]), "ko"), "여권 번호 지워 줘", near)
    assert (told.text, told.artifact) == ("말씀하신 내용은 기억에 없어서 지운 것이 없습니다.", None)


@pytest.mark.parametrize(("language", "said"), [("en", "What shall I remember?"), ("ko", "무엇을 기억할까요?")])
def test_a_wish_that_names_nothing_is_asked_back_and_pins_nothing(language: str, said: str) -> None:
    memory = ListedMemory()
    assert wish.pin_wish_message(reaching(memory, language), "").text.startswith(said)
    assert memory.pins == []
