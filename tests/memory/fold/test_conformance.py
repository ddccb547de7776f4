"""What holds whoever folds: a strong model, or code."""

from __future__ import annotations

import pytest

from memory import fold
from memory.fold import MOST_SENTENCES, Folded
from memory.fold.fold_input import FoldInput
from memory.line import parse_dated_line
from memory.state import MOST_ENTITIES, Entity, MemoryTurn
from model.modelset import ModelSet
from tests.memory.models import good, small
from text import sentence

FOLDERS = {"by_model": good, "extracted": small}
TURNS = (
    MemoryTurn(1, "The budget is 100 million won.", "Noted."),
    MemoryTurn(2, "My name is Sarah Kim.", "Hello, Sarah."),
)


@pytest.fixture(params=FOLDERS)
def models(request: pytest.FixtureRequest) -> ModelSet:
    return FOLDERS[request.param]()


def make(models: ModelSet, turns: tuple[MemoryTurn, ...] = TURNS, room: int = 500, **values: object) -> Folded:
    source = FoldInput(**{"text": "", "entities": (), "turns": turns, "default": "en", **values})  # type: ignore[arg-type]
    return fold.fold_memory(source, models, room)


def test_what_the_user_said_is_in_the_memory(models: ModelSet) -> None:
    made = make(models)
    assert "The budget is 100 million won" in made.text
    assert "My name is Sarah Kim" in made.text
    assert made.lost == ()
    assert "Sarah Kim" in made.kept


def test_the_later_statement_stands_later(models: ModelSet) -> None:
    made = make(models, (*TURNS, MemoryTurn(3, "The budget rose to 150 million won.", "Noted.")))
    assert made.text.index("100 million") < made.text.index("150 million")


def test_what_was_remembered_stays_before_what_is_new(models: ModelSet) -> None:
    made = make(models, text="The user lives in Portland.\nThe user likes tea.")
    assert made.text.splitlines()[:2] == ["The user lives in Portland.", "The user likes tea."]


def test_what_is_pinned_stays_whatever_must_go(models: ModelSet) -> None:
    many = tuple(
        MemoryTurn(number, f"Shelf {number} holds {number}00 blue boxes.", "Noted.") for number in range(1, 60)
    )
    made = make(models, many, room=300, pins=("I am allergic to peanuts",))
    assert "I am allergic to peanuts" in made.text


def test_a_memory_keeps_within_its_sentences(models: ModelSet) -> None:
    many = tuple(
        MemoryTurn(number, f"Shelf {number} holds {number}00 blue boxes.", "Noted.") for number in range(1, 60)
    )
    made = make(models, many)
    assert 0 < len(sentence.split_sentences(made.text)) <= MOST_SENTENCES
    assert "5900" in made.text


def test_what_was_forgotten_does_not_come_in(models: ModelSet) -> None:
    made = make(models, forgotten=(("The budget is 100 million won.", 2),))
    assert "million" not in made.text
    assert "Sarah Kim" in made.text


def test_what_was_said_again_after_it_was_forgotten_comes_in(models: ModelSet) -> None:
    again = (*TURNS, MemoryTurn(3, "The budget is 100 million won.", "Noted."))
    assert "100 million won" in make(models, again, forgotten=(("The budget is 100 million won.", 2),)).text


def test_values_that_are_kept_by_name_stay(models: ModelSet) -> None:
    held = tuple(Entity(f"key {number}", f"value {number}", 1) for number in range(MOST_ENTITIES))
    assert make(models, entities=held).entities == held


def test_lines_with_turns_are_kept_in_their_order(models: ModelSet) -> None:
    text = "From before.\nturn 3: My rent is $900.\nturn 4: My dog is Rex."
    made = make(models, (MemoryTurn(7, "The budget is $500.", "Noted."),), text=text)
    told = [line for line in made.text.splitlines() if parse_dated_line(line).first]
    assert made.text.startswith("From before.")
    assert "My rent is $900" in told[0]
    assert made.text.index("Rex") < made.text.index("$500")
