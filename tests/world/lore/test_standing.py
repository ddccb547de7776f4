"""Lore that comes again stands with its turn while its text and its author's rule allow it, within its room."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from store.world.record import LoreEntry, LoreMark
from tests.table import table
from world.lore.lorebook import Lorebook, ReadyEntry
from world.lore.rule import Rule
from world.lore.score import Scored, score_lore_candidates
from world.lore.standing import AGAIN, StandingLore, can_stand, choose_standing, read_standing
from world.story.state import StoryState

ENTRIES = [LoreEntry(id, f"entry {id}", f"What is so of {id}.", layer="A1") for id in (1, 2, 3)]
BOOK = Lorebook.of(ENTRIES)


def taken(*ids: int, book: Lorebook = BOOK) -> list[Scored]:
    found = {one.entry.id: one for one in score_lore_candidates(book, StoryState("A"), (), {}, 1)}
    return [found[id] for id in ids]


def play(*turns: tuple[int, ...], room: int = 1000) -> StandingLore:
    """What stands after turns whose prompts took these entries."""
    standing = StandingLore()
    for turn, ids in enumerate(turns, 1):
        standing = choose_standing(reread(standing), taken(*ids), BOOK, turn, room)
    return standing


def reread(standing: StandingLore, book: Lorebook = BOOK, first: int = 0, **marks: Any) -> StandingLore:
    return read_standing({"lore": {"standing": standing.plain}}, book, marks.get("marks", {}), first, 99)


def test_an_entry_stands_from_the_second_time_on_and_stays() -> None:
    assert play((1,)).turns == {}
    assert play((1, 2), (1,)).turns == {1: 2}
    assert play((1, 2), (1,), (), (2,)).turns == {1: 2, 2: 4}
    assert play((1, 2), (1, 2)).texts == ((2, f"{BOOK.entries[1].text}\n{BOOK.entries[2].text}"),)


def test_one_that_comes_again_after_many_turns_is_new() -> None:
    assert play((1,), *[()] * (AGAIN - 1), (1,)).turns == {1: AGAIN + 1}
    assert play((1,), *[()] * AGAIN, (1,)).turns == {}


def test_what_finds_no_room_does_not_stand() -> None:
    size = BOOK.entries[1].tokens
    assert play((1, 2), (1, 2), room=size).turns == {1: 2}
    assert play((1, 2), (1, 2), room=size).tokens == size


def test_a_turn_that_left_the_prompt_takes_its_lore_along() -> None:
    standing = play((1, 2), (1,), (2,))
    assert reread(standing, first=3).turns == {2: 3}


def test_one_that_was_changed_switched_off_or_removed_stands_no_more() -> None:
    standing = play((1, 2, 3), (1, 2, 3))
    book = Lorebook.of([replace(ENTRIES[0], content="It is otherwise."), replace(ENTRIES[1], enabled=False)])
    assert reread(standing, book).turns == {}
    told = {3: LoreMark(3, content="It has burned.")}
    assert reread(standing, marks=told).turns == {1: 2, 2: 2}, "nor one that the story tells otherwise"


@table(
    ("rule", "stands"),
    [
        (None, True),
        (Rule(), True),
        (Rule(constant=True), True),
        (Rule(secondary=("b",), logic="and_all"), True),
        (Rule(position="after", order=5), True),
        (Rule(secondary=("b",), logic="not_any"), False),
        (Rule(chance=50), False),
        (Rule(sticky=3), False),
        (Rule(cooldown=3), False),
        (Rule(delay=3), False),
        (Rule(groups=("mood",)), False),
        (Rule(position="depth"), False),
        (Rule(position="outlet"), False),
        (Rule(triggers=("swipe",)), False),
        (Rule(excluded=(("b",),)), False),
        (Rule(greeting=1), False),
    ],
)
def test_an_author_who_asks_for_a_moment_gets_it(rule: Rule | None, stands: bool) -> None:
    entry = LoreEntry(1, "a", "It rains.", keys=("a",), rule=None if rule is None else {"keyed": True, **rule.plain})
    assert can_stand(ReadyEntry.of(entry)) == stands
    assert not can_stand(ReadyEntry.of(replace(entry, content="{{random::rain::snow}}")))
