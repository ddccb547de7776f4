"""The view: budgets in tokens, cut by rule."""

from __future__ import annotations

import time
from dataclasses import replace

from memory.state import Entity, MemoryTurn, State, put
from memory.view import view
from model.scripted import count

TEXT = "\n".join(f"Sentence number {number} says something." for number in range(1, 11))
ENTITIES = tuple(Entity(f"key {number}", f"value {number}", number) for number in range(1, 26))


def test_everything_is_shown_that_fits() -> None:
    made = view(State(text=TEXT, version=3, entities=ENTITIES), None, count, 500, 200, 0.0)
    assert made.text == TEXT
    assert made.entities == ENTITIES
    assert (made.cut, made.cut_entities) == ((), ())


def test_the_oldest_sentences_leave_and_the_budget_holds() -> None:
    made = view(State(text=TEXT), None, count, 40, 200, 0.0)
    assert 0 < made.tokens <= 40
    assert made.text.endswith("number 10 says something.")
    assert made.cut[0] == "Sentence number 1 says something."
    assert [*made.cut, *made.text.splitlines()] == TEXT.splitlines()
    assert made.whole == TEXT


def test_the_oldest_entities_leave() -> None:
    made = view(State(entities=ENTITIES), None, count, 500, 30, 0.0)
    assert 0 < made.entity_tokens <= 30
    assert made.entities[-1] == ENTITIES[-1]
    assert made.cut_entities + made.entities == ENTITIES


def test_entities_whose_value_the_text_tells_leave_before_the_oldest() -> None:
    entities = (Entity("manager", "Tom Lee", 1), Entity("rent", "$900", 2), Entity("deposit", "$1,500", 3))
    room = count("manager: Tom Lee, deposit: $1,500")
    made = view(State(text="The rent is $900.", entities=entities), None, count, 500, room, 0.0)
    assert made.cut_entities == entities[1:2]


def test_pinned_statements_stay_when_all_else_goes() -> None:
    state = State(text=TEXT, pins=("Sentence number 1 says something.", "I am Kim."))
    made = view(state, None, count, 16, 200, 0.0)
    assert made.text.splitlines() == ["I am Kim.", "Sentence number 1 says something."]


def test_a_budget_of_nothing_shows_nothing() -> None:
    made = view(State(text=TEXT, entities=ENTITIES, pins=("I am Kim.",)), None, count, 0, 0, 0.0)
    assert (made.text, made.entities) == ("", ())


def test_a_session_without_memory_shows_the_user_s_under_its_own() -> None:
    base = State(
        text="From before.", entities=(Entity("name", "Kim", 9), Entity("colour", "blue", 9)), pins=("A pin.",)
    )
    own = replace(State(), entities=put((), Entity("Colour", "green", 2)))
    made = view(own, base, count, 500, 200, 0.0)
    assert made.text == "A pin.\nearlier: From before."
    assert made.entity_text == "name: Kim, Colour: green"
    assert made.from_user


def test_text_and_entities_are_told_as_they_are_whatever_was_said_since() -> None:
    """Nothing edits a sentence: what waits stands beside it, with its turn."""
    short = (MemoryTurn(6, "The budget of the trip rose to $3,800.", "Noted."), MemoryTurn(7, "What else?", "Fine."))
    text = "The budget of the trip is $3,200.\nThe user likes trains."
    state = State(text=text, entities=(Entity("trip budget", "$3,200", 2),), short=short, folded=((1, 5),))
    made = view(state, None, count, 500, 200, 0.0, "en")
    assert made.text == text
    assert made.entity_text == "trip budget: $3,200"
    assert made.waiting == (6, 7)
    assert made.waiting_lines == ((6, "turn 6: The budget of the trip rose to $3,800."),)


def test_waiting_turns_take_the_room_that_the_memory_leaves() -> None:
    short = tuple(MemoryTurn(number, f"Shelf {number} holds the blue boxes of row {number}0.", "") for number in (1, 2))
    first = view(State(short=short), None, count, 15, 200, 0.0, "en")
    assert [number for number, _ in first.waiting_lines] == [2]
    assert first.tokens + count("\n".join(line for _, line in first.waiting_lines)) <= 15
    assert view(State(text=TEXT, short=short), None, count, 40, 200, 0.0).waiting_lines == ()


def test_waiting_lines_tell_neither_what_the_memory_tells_nor_what_was_forgotten() -> None:
    short = (MemoryTurn(3, "My dog is Rex. My cat is Tom.", ""), MemoryTurn(4, "I live in Busan.", ""))
    state = State(text="turn 1: My dog is Rex.", short=short, forgotten=(("My cat is Tom.", 3),))
    assert view(state, None, count, 500, 200, 0.0).waiting_lines == ((4, "turn 4: I live in Busan."),)


def test_what_earlier_sessions_left_says_so_in_place_of_the_numbers_of_their_turns() -> None:
    base = State(text="From before.\nturns 7-9: My dog is Rex · My cat is Tom\n12턴: 내 주소는 부산이야.", version=2)
    made = view(State(), base, count, 500, 200, 0.0)
    assert made.text == "earlier: From before.\nearlier: My dog is Rex · My cat is Tom\n이전: 내 주소는 부산이야."


def test_a_long_list_of_prices_that_waits_takes_no_time() -> None:
    listed = [
        "\n".join(f"항목{100 * turn + number} 가격은 {number}00원이야." for number in range(100)) for turn in range(6)
    ]
    state = State(text=listed[0], short=tuple(MemoryTurn(number, said, "") for number, said in enumerate(listed, 1)))
    begun = time.thread_time()
    view(state, None, count, 500, 200, 0.0)
    assert time.thread_time() - begun < 2.0
