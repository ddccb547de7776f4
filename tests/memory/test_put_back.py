"""What the user wants back after it was forgotten stays: the last word counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory import Memory, MemoryTurn
from model.modelset import ModelSet
from tests.memory.models import good, small
from tests.memory.test_memory import forget

TOLD = {
    "en": ("My passport number is M1234567.", "My dog is Rex.", "passport number"),
    "ko": ("내 여권 번호는 M1234567이야.", "우리 강아지 이름은 초코야.", "여권 번호"),
}
BACK: dict[str, Callable[[Memory, str], object]] = {
    "pin": lambda memory, language: memory.pin("acme", "s1", TOLD[language][0]),
    "edit": lambda memory, language: memory.edit("acme", "s1", "\n".join(TOLD[language][:2])),
    "undo": lambda memory, language: memory.undo("acme", "s1"),
}


def talk(memory: Memory, first: int, last: int, *said: str) -> None:
    for number in range(first, last + 1):
        question = said[number - first] if number - first < len(said) else f"Walk {number} was fine."
        memory.note_turn("acme", "s1", number, question, "OK.")


def fold(memory: Memory, language: str, models: ModelSet) -> str:
    """The text after a fold that was not rejected."""
    assert memory.fold("acme", "s1", models=models, language=language).status == "folded"
    return memory.context("acme", "s1", language, count=lambda text: 0).text


def forgotten(memory: Memory, language: str, models: ModelSet) -> None:
    """A memory of six turns, from which something told in the first one was forgotten."""
    talk(memory, 1, 6, *TOLD[language][:2])
    assert "M1234567" in fold(memory, language, models)
    assert forget(memory, "M1234567", 6)
    assert "M1234567" not in memory.context("acme", "s1", language).text


@pytest.mark.parametrize("models", [good, small])
@pytest.mark.parametrize("how", BACK)
@pytest.mark.parametrize("language", TOLD)
def test_what_is_put_back_by_hand_outlives_the_next_fold(
    memory: Memory, language: str, how: str, models: Callable[[], ModelSet]
) -> None:
    forgotten(memory, language, models())
    BACK[how](memory, language)
    talk(memory, 7, 11 if how != "undo" else 12)
    assert "M1234567" in fold(memory, language, models())


@pytest.mark.parametrize("language", TOLD)
def test_a_value_that_is_set_after_the_old_one_was_forgotten_stays_alone(memory: Memory, language: str) -> None:
    talk(memory, 1, 5, *TOLD[language][:2])
    forget(memory, "M1234567", 6)
    memory.remember("acme", "s1", TOLD[language][2], "M777", turn=6)
    talk(memory, 6, 6)
    assert "M1234567" not in fold(memory, language, good())
    assert memory.context("acme", "s1", language).entity_text == f"{TOLD[language][2]}: M777"


def test_going_back_in_the_conversation_leaves_what_was_written_down_again(memory: Memory) -> None:
    forgotten(memory, "en", good())
    memory.edit("acme", "s1", "\n".join(TOLD["en"][:2]))
    talk(memory, 7, 11)
    fold(memory, "en", good())
    turns = [MemoryTurn(number, f"Walk {number} was fine.", "OK.") for number in range(1, 11)]
    turns[:2] = [MemoryTurn(1, TOLD["en"][0], "OK."), MemoryTurn(2, TOLD["en"][1], "OK.")]
    turns[7] = MemoryTurn(8, "It rained.", "OK.")
    assert memory.follow("acme", "s1", lambda first: turns[first - 1 :], 10)
    assert memory.context("acme", "s1", "en").text.splitlines() == [*TOLD["en"][:2]]
