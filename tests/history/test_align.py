"""Histories laid over stored turns: what a client does to its history, and what is known of it after that."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from history.align import Exchange, choose_pairs, find_changed
from tests.history.laying import lay, places

NOTE = "[Author's note: keep the tone dark.]"
THINGS = ("a brass key", "a torn map", "a blue candle", "a fish hook", "a wax seal", "a clay whistle", "a bent coin")


def turn(number: int, version: int = 0) -> Exchange:
    thing = THINGS[(number + version) % len(THINGS)]
    question = f"I walk on to the {number}th milestone of the road. What do I find?"
    answer = f"*The wind drops at milestone {number}.* Somebody left {thing} there, version {version}, for you to take."
    return Exchange(question, answer)


def story(count: int) -> list[Exchange]:
    return [turn(number) for number in range(1, count + 1)]


def test_a_history_that_is_sent_as_it_is_stored() -> None:
    alignment = lay(story(12), story(12))
    assert places(alignment) == [(at, at + 1) for at in range(12)]
    assert {pair.kind for pair in alignment.pairs} == {"same"}
    assert (alignment.known_count, alignment.ends, alignment.missing) == (12, True, ())


def test_a_swipe_is_another_answer_and_new_where_nothing_known_follows() -> None:
    told = [*story(4), turn(5, version=1)]
    assert places(lay(told, story(5))) == [(at, at + 1) for at in range(4)]


def test_an_edit_with_known_turns_behind_it_is_seen_as_one() -> None:
    told = story(8)
    told[3] = replace(told[3], answer=told[3].answer.replace("milestone 4", "milestone 44"))
    alignment = lay(told, story(8))
    assert places(alignment) == [(at, at + 1) for at in range(8)]
    assert [pair.kind for pair in alignment.pairs] == ["same"] * 3 + ["edited"] + ["same"] * 4


def test_an_edited_question_of_a_turn_that_is_known_by_its_answer() -> None:
    told = story(5)
    told[4] = replace(told[4], question="I wait.")
    assert lay(told, story(5)).known_count == 4
    assert lay(told, story(5), by_answer=True).known_count == 5


def test_turns_with_the_same_words_are_taken_where_they_stand_close_together() -> None:
    ok = Exchange("ok", "fine")
    stored = [ok, turn(2), ok, turn(4), ok, turn(6)]
    assert places(lay([ok, turn(6)], stored)) == [(0, 5), (1, 6)]
    assert places(lay(stored[:3], stored)) == [(0, 1), (1, 2), (2, 3)]


def test_answers_that_were_joined_are_the_last_of_them() -> None:
    stored = story(4)
    joined = replace(stored[2], answer=f"{stored[2].answer}\n\n{stored[3].answer}")
    alignment = lay([*stored[:2], joined], stored)
    assert places(alignment)[-1] == (2, 4)
    assert alignment.missing == (3,)


def test_two_questions_whose_answer_between_them_was_deleted() -> None:
    stored = story(4)
    joined = replace(stored[2], question=f"{stored[1].question}\n\n{stored[2].question}")
    assert places(lay([stored[0], joined, stored[3]], stored)) == [(0, 1), (1, 3), (2, 4)]


def test_a_longest_chain_is_found_among_many_pairs_in_any_order() -> None:
    weights = {(sent, number): 1.0 for sent in range(30) for number in range(1, 31) if (sent * 7 + number) % 3}
    weights |= {(sent, sent + 1): 5.0 for sent in range(30)}
    chain, _ = choose_pairs(weights)
    assert chain == [(at, at + 1) for at in range(30)]


def test_a_turn_that_was_made_from_another_one_is_no_swipe_of_it() -> None:
    stored = {1: turn(1), 2: turn(2)}
    assert find_changed(replace(turn(2), answer=turn(2).answer.replace("milestone", "marker")), stored) == 2
    assert find_changed(Exchange(turn(2).question, "Nobody is there, and it begins to rain again."), stored) is None
    assert find_changed(Exchange("I wait.", turn(2).answer), stored) is None


# --- any client -------------------------------------------------------------------------------------

DRESSES: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "asterisks away": lambda text: text.replace("*", ""),
    "names": lambda text: f"Mina: {text}",
    "label": lambda text: f"번역: {text}",
    "time": lambda text: f"[27 Nov, 15:04] {text}",
    "other quotes": lambda text: text.replace("'", "’"),
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "CRLF": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "thoughts": lambda text: f"<think>\nI must not say it.\n</think>\n\n{text}",
    "upper case": lambda text: text.upper(),
    "wrapped": lambda text: re.sub(r" (\w+ \w+) ", r"\n\1 ", text),
}
NOTES: dict[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "note before": lambda text: f"{NOTE}\n\n{text}",
    "lore behind": lambda text: f"{text}\nThe Order of the Lantern keeps every ford.",
}
numbers = st.integers(0, 19)


@settings(max_examples=150, deadline=None)
@given(
    count=st.integers(1, 20),
    dress=st.sampled_from(sorted(DRESSES)),
    note=st.sampled_from(sorted(NOTES)),
    noted=st.sets(numbers, max_size=4),
    swiped=st.sets(numbers, max_size=2),
    deleted=st.sets(numbers, max_size=3),
    first=st.integers(0, 10),
)
def test_what_any_client_sends_is_known_turn_by_turn(
    count: int, dress: str, note: str, noted: set[int], swiped: set[int], deleted: set[int], first: int
) -> None:
    """Every turn that the client still shows is paired with its own and no other, whatever the text looks like."""
    stored, told, origin = story(count), list[Exchange](), list[int]()
    for at in range(min(first, count - 1), count):
        if at in deleted and at != count - 1:
            continue
        shown = turn(at + 1, version=1) if at in swiped else stored[at]
        question, answer = DRESSES[dress](shown.question), DRESSES[dress](shown.answer)
        told.append(Exchange(NOTES[note](question) if at in noted else question, answer))
        origin.append(at + 1)
    alignment = lay(told, stored)
    right = dict(enumerate(origin))
    assert all(right[pair.sent] == pair.number for pair in alignment.pairs)
    same = {pair.number for pair in alignment.pairs if pair.kind != "edited"}
    assert same == {number for number in origin if number - 1 not in swiped}, "known are those that were not swiped"
    edited = {pair.number for pair in alignment.pairs if pair.kind == "edited"}
    assert edited <= {number + 1 for number in swiped}


@settings(max_examples=100, deadline=None)
@given(
    stored=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1, max_size=12),
    told=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1, max_size=12),
)
def test_pairs_rise_on_both_sides_even_where_everybody_says_the_same(
    stored: list[tuple[str, str]], told: list[tuple[str, str]]
) -> None:
    laid = places(lay([Exchange(*one) for one in told], [Exchange(*one) for one in stored]))
    assert laid == sorted(laid)
    for side in (0, 1):
        assert len({pair[side] for pair in laid}) == len(laid)
    whole = places(lay([Exchange(*one) for one in stored], [Exchange(*one) for one in stored]))
    assert whole == [(at, at + 1) for at in range(len(stored))]
