"""The view: budgets in tokens, cut by rule."""

from __future__ import annotations

import time
from dataclasses import replace

from memory.recollect import without
from memory.state import Entity, State, Turn, put
from memory.view import view
from memory.write import written
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


def test_entities_that_are_told_elsewhere_leave_before_the_oldest() -> None:
    entities = (Entity("manager", "Tom Lee", 1), Entity("rent", "$900", 2), Entity("deposit", "$1,500", 3))
    room = count("manager: Tom Lee, deposit: $1,500")
    made = view(State(text="The rent is $900.", entities=entities), None, count, 500, room, 0.0)
    assert made.cut_entities == entities[1:2]
    twice = (Entity("manager", "Tom Lee", 1), Entity("pill", "10mg", 2), Entity("dose of pill", "10mg", 3))
    made = view(State(entities=twice), None, count, 500, count("manager: Tom Lee, dose of pill: 10mg"), 0.0)
    assert made.cut_entities == twice[1:2]


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
    assert made.text == "A pin.\nFrom before."
    assert made.entity_text == "name: Kim, Colour: green"
    assert made.from_user


def test_a_value_that_was_changed_since_the_last_fold_is_told_as_it_is_now() -> None:
    short = (Turn(6, "The budget of the trip rose to $3,800.", "Noted."), Turn(7, "We fly on May 9.", "Fine."))
    state = State(
        text="The budget of the trip is $3,200.\nThe user likes trains.",
        entities=(Entity("trip budget", "$3,200", 2), Entity("train", "KTX", 3)),
        short=short,
        folded=((1, 5),),
    )
    made = view(state, None, count, 500, 200, 0.0)
    assert made.text == "The budget of the trip is $3,800.\nThe user likes trains."
    assert made.entity_text == "trip budget: $3,800, train: KTX"
    assert made.whole == state.text
    pinned = view(replace(state, pins=("The budget of the trip is $3,200.",)), None, count, 500, 200, 0.0)
    assert "$3,200" in pinned.text
    korean = replace(
        state, text="여행 예산은 120만 원이다.", entities=(), short=(Turn(6, "여행 예산이 150만 원으로 늘었어.", ""),)
    )
    assert view(korean, None, count, 500, 200, 0.0).text == "여행 예산은 150만 원이다."


def test_what_was_denied_since_the_last_fold_is_told_no_more() -> None:
    known = (Entity("치과 예약", "3월 5일", 1), Entity("치과", "강남치과", 2))
    said = Turn(6, "치과 예약 취소했어.", "네.")
    made = view(State(text="치과 예약은 3월 5일이야.", entities=known, short=(said,)), None, count, 500, 200, 0.0)
    assert made.entities == known[1:]
    assert made.text == "치과 예약은 3월 5일이야."


def test_a_long_list_of_prices_that_waits_takes_no_time() -> None:
    listed = [
        "\n".join(f"항목{100 * turn + number} 가격은 {number}00원이야." for number in range(100)) for turn in range(6)
    ]
    state = State(text=listed[0], short=tuple(Turn(number, said, "") for number, said in enumerate(listed, 1)))
    begun = time.thread_time()
    view(state, None, count, 500, 200, 0.0)
    assert time.thread_time() - begun < 2.0


KNOWN = State(
    text="The budget of the trip is $3,200.\nThe hotel deposit is $3,200.\nThe user likes trains.",
    entities=(Entity("trip budget", "$3,200", 2),),
)


def remembered(state: State, key: str, value: str) -> State:
    return written(state, "remember", "me", {"key": key, "value": value, "turn": 6})


def test_a_value_that_was_set_by_hand_is_told_in_the_text_at_once() -> None:
    made = view(remembered(KNOWN, "Trip_budget", "$3,800"), None, count, 500, 200, 0.0)
    assert made.text.splitlines()[:2] == ["The budget of the trip is $3,800.", "The hotel deposit is $3,200."]
    assert made.entity_text == "Trip_budget: $3,800"
    twice = remembered(remembered(remembered(KNOWN, "trip budget", "$3,800"), "trip budget", "$3,800"), "size", "XL")
    assert view(twice, None, count, 500, 200, 0.0).text == made.text
    back = remembered(twice, "trip budget", "$3,200")
    assert view(back, None, count, 500, 200, 0.0).text == KNOWN.text
    korean = State(text="여행 예산은 120만 원이야.\n월세는 120만 원이야.", entities=(Entity("예산", "120만 원", 2),))
    told = view(remembered(korean, "예산", "150만 원"), None, count, 500, 200, 0.0).text
    assert told == "여행 예산은 150만 원이야.\n월세는 120만 원이야."


def test_a_value_that_was_set_over_what_earlier_sessions_left_is_told_in_the_text_too() -> None:
    own = remembered(State(), "trip budget", "$3,800")
    made = view(own, KNOWN, count, 500, 200, 0.0)
    assert made.text.splitlines()[:2] == ["The budget of the trip is $3,800.", "The hotel deposit is $3,200."]


def test_what_is_forgotten_leaves_no_replaced_value_behind() -> None:
    state = remembered(KNOWN, "trip budget", "$3,800")
    assert state.replaced != ()
    assert without(state, "trip budget", 7).replaced == ()
