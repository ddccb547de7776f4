"""What the user wants back after it was forgotten stays: the last word counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.messages import BaseMessage

from memory import Memory, Turn
from model import scripted
from tests.memory.models import faithful

TOLD = {
    "en": ("My passport number is M1234567.", "My dog is Rex.", "my passport number", "passport number"),
    "ko": ("내 여권 번호는 M1234567이야.", "우리 강아지 이름은 초코야.", "내 여권 번호", "여권 번호"),
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


def fold(memory: Memory, language: str, small: bool = False) -> str:
    """The text after a fold that was not rejected; a model that writes well puts in what is pinned."""

    def noting(messages: list[BaseMessage]) -> str:
        return "[]" if len(messages) > 3 else '{"notes": ["A walk was fine."], "new_topic": false}'

    def writing(messages: list[BaseMessage]) -> str:
        pinned = TOLD[language][0] if TOLD[language][0] in str(messages[-1].content) else ""
        return f"{pinned}\n{faithful(messages)}"

    models = scripted.models(utility=noting, decide=()) if small else scripted.models(utility=writing)
    assert memory.fold("acme", "s1", models=models, language=language).status == "folded"
    return memory.context("acme", "s1", language, count=lambda text: 0).text


def forgotten(memory: Memory, language: str) -> None:
    """A memory of six turns, from which something told in the first one was forgotten."""
    talk(memory, 1, 6, *TOLD[language][:2])
    assert "M1234567" in fold(memory, language)
    assert memory.forget("acme", "s1", TOLD[language][2], turn=6)
    assert "M1234567" not in memory.context("acme", "s1", language).text


@pytest.mark.parametrize("small", [False, True], ids=["good", "small"])
@pytest.mark.parametrize("how", BACK)
@pytest.mark.parametrize("language", TOLD)
def test_what_is_put_back_by_hand_outlives_the_next_fold(memory: Memory, language: str, how: str, small: bool) -> None:
    forgotten(memory, language)
    BACK[how](memory, language)
    talk(memory, 7, 11 if how != "undo" else 12)
    assert "M1234567" in fold(memory, language, small)


@pytest.mark.parametrize("language", TOLD)
def test_a_value_that_is_set_after_the_old_one_was_forgotten_stays_alone(memory: Memory, language: str) -> None:
    talk(memory, 1, 5, *TOLD[language][:2])
    memory.forget("acme", "s1", TOLD[language][2], turn=6)
    memory.remember("acme", "s1", TOLD[language][3], "M777", turn=6)
    talk(memory, 6, 6)
    assert "M1234567" not in fold(memory, language)
    assert memory.context("acme", "s1", language).entity_text == f"{TOLD[language][3]}: M777"


def test_going_back_in_the_conversation_leaves_what_was_written_down_again(memory: Memory) -> None:
    forgotten(memory, "en")
    memory.edit("acme", "s1", "\n".join(TOLD["en"][:2]))
    talk(memory, 7, 11)
    fold(memory, "en")
    turns = [Turn(number, f"Walk {number} was fine.", "OK.") for number in range(1, 11)]
    turns[:2] = [Turn(1, TOLD["en"][0], "OK."), Turn(2, TOLD["en"][1], "OK.")]
    turns[7] = Turn(8, "It rained.", "OK.")
    assert memory.follow("acme", "s1", lambda first: turns[first - 1 :], 10)
    assert memory.context("acme", "s1", "en").text.splitlines() == [*TOLD["en"][:2]]
