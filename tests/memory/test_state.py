"""The rules of one memory: first in, first out; once is once; overwriting moves to the end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from errors import TooLong
from memory.state import (
    MOST_ENTITIES,
    TURN_BYTES,
    Entity,
    MemoryTurn,
    Rejection,
    State,
    Version,
    added,
    entity,
    fitted,
    note,
    put,
    removed,
    trimmed,
    undone,
)


def turn(number: int, text: str = "") -> MemoryTurn:
    return MemoryTurn(number, text or f"question {number}", f"answer {number}")


def noted(*numbers: int) -> State:
    state = State()
    for number in numbers:
        state = note(state, turn(number))
    return state


def folded(state: State) -> State:
    return trimmed(replace(state, folded=added(state.folded, (each.number for each in state.batch))))


def numbers(turns: tuple[MemoryTurn, ...]) -> list[int]:
    return [each.number for each in turns]


def test_five_turns_are_kept_and_nothing_is_due() -> None:
    state = noted(1, 2, 3, 4, 5)
    assert numbers(state.short) == [1, 2, 3, 4, 5]
    assert not state.due


def test_the_sixth_turn_makes_a_fold_of_the_first_five_due() -> None:
    state = noted(*range(1, 7))
    assert state.due
    assert numbers(state.batch) == [1, 2, 3, 4, 5]


def test_after_a_fold_the_last_five_turns_stay_word_for_word() -> None:
    state = folded(noted(*range(1, 7)))
    assert numbers(state.short) == [2, 3, 4, 5, 6]
    assert numbers(state.waiting) == [6]


def test_folds_come_every_five_turns() -> None:
    state, due = State(), []
    for number in range(1, 31):
        state = note(state, turn(number))
        if state.due:
            due.append(number)
            state = folded(state)
    assert due == [6, 11, 16, 21, 26]
    assert state.folded == ((1, 25),)


def test_turns_stay_until_a_fold_takes_them() -> None:
    assert numbers(noted(*range(1, 20)).short) == list(range(1, 20))


def test_a_turn_is_noted_once_also_after_it_was_folded() -> None:
    state = folded(noted(*range(1, 7)))
    assert note(state, turn(3)) == state
    assert note(state, turn(6)) == state


def test_a_turn_that_waits_is_replaced_when_it_was_answered_again() -> None:
    state = note(noted(1, 2), turn(2, "asked anew"))
    assert [each.question for each in state.short] == ["question 1", "asked anew"]


def test_a_late_turn_takes_its_place_although_later_ones_are_folded() -> None:
    state = noted(1, 2, 4, 5, 6, 7)
    state = note(folded(state), turn(3))
    assert numbers(state.waiting) == [3, 7]
    assert state.folded == ((1, 2), (4, 6))


def test_a_rejected_fold_is_due_again_after_a_later_turn_with_fewer_turns() -> None:
    state = replace(noted(*range(1, 7)), rejection=Rejection("lost", 1, 5, 1, 6, 0.0))
    assert not state.due
    state = note(state, turn(7))
    assert state.due
    assert numbers(state.batch) == [1, 2]


def test_a_fold_that_code_will_make_takes_all_five_turns_again() -> None:
    """Else a model that writes no memory would let more turns wait with every turn."""
    sizes = [
        len(replace(noted(*range(1, 10)), rejection=Rejection("lost", 1, 5, times, 8, 0.0)).batch)
        for times in range(1, 6)
    ]
    assert sizes == [2, 1, 5, 5, 5]


def test_an_overwritten_entity_moves_to_the_end() -> None:
    known = (Entity("provider", "aws", 3), Entity("budget", "$10,000", 5), Entity("top_service", "ec2", 7))
    assert put(known, Entity("provider", "gcp", 9)) == (known[1], known[2], Entity("provider", "gcp", 9))


def test_two_spellings_of_a_key_are_one_key() -> None:
    assert put((Entity("Top Service", "ec2", 1),), Entity("top_service", "s3", 2)) == (Entity("top_service", "s3", 2),)
    assert len(put((Entity("C version", "23", 1),), Entity("C++ version", "26", 2))) == 2


def test_the_oldest_entity_leaves_when_there_are_more_than_25() -> None:
    known: tuple[Entity, ...] = ()
    for number in range(30):
        known = put(known, Entity(f"key {number}", "value", number))
    assert len(known) == MOST_ENTITIES
    assert known[0].key == "key 5"


@pytest.mark.parametrize(("key", "value"), [("k" * 101, "v"), ("k", "v" * 1001), ("k", "v" * 1_000_000)])
def test_an_entity_that_is_too_large_is_an_error_that_says_the_limit(key: str, value: str) -> None:
    with pytest.raises(TooLong, match=r"limit is 1(00|,000)\b"):
        entity(key, value, 1)


def test_a_huge_turn_keeps_beginning_and_end() -> None:
    made = fitted(MemoryTurn(1, "start" + "가" * 2_000_000 + "end", "short", ""))
    assert made.question.startswith("start")
    assert made.question.endswith("end")
    assert len((made.question + made.answer).encode()) <= TURN_BYTES


def test_what_no_json_takes_does_not_come_in() -> None:
    assert fitted(MemoryTurn(1, "a\ud800b\x00c", "ok")).question == "a\ufffdbc"


def test_ranges_join_and_split() -> None:
    assert added(((1, 3), (7, 8)), [4, 5, 6, 10]) == ((1, 8), (10, 10))
    assert removed(((1, 8),), [3, 8]) == ((1, 2), (4, 7))


def test_undoing_a_version_makes_its_turns_wait_and_takes_its_entities_back() -> None:
    before, after = (Entity("budget", "100", 1),), (Entity("budget", "150", 4), Entity("name", "Kim", 5))
    state = folded(noted(*range(1, 7)))
    version = Version(
        1, "M1", "fold", 0.0, turns=tuple(turn(number) for number in range(1, 6)), before=before, after=after
    )
    state = replace(state, text="M1", entities=(*after, Entity("color", "red", 6)))
    back = undone(state, version, "")
    assert back.text == ""
    assert numbers(back.waiting) == [1, 2, 3, 4, 5, 6]
    assert back.entities == (Entity("budget", "100", 1), Entity("color", "red", 6))
