"""The map of a long conversation: its marks, what they say of the last answer, and the way to a turn."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from component.chat.minimap import KEY, LEAST, MOST, read_given_turns, split_turns
from graph.tool.recall import TURNS
from store import TurnRow
from tests.component.listing import send_event
from tests.conftest import Serve
from tests.test_app import filled, page, say, session_of, store

pytestmark = pytest.mark.usefixtures("fresh")


def marks(at: AppTest) -> list[dict[str, Any]]:
    """The marks that the page sent to the browser; none where there is no map."""
    sent = [each.proto for each in at.get("bidi_component") if each.key == KEY]
    names = ("first", "last", "kind", "label")
    return [dict(zip(names, mark, strict=True)) for proto in sent for mark in json.loads(proto.bytes)["marks"]]


@pytest.mark.parametrize(("first", "last"), [(1, LEAST), (1, MOST), (1, MOST + 1), (1, 99), (1, 10_000), (0, 57)])
def test_every_turn_has_one_mark_and_there_are_never_too_many(first: int, last: int) -> None:
    ranges = list(split_turns(first, last))
    assert [number for start, end in ranges for number in range(start, end + 1)] == list(range(first, last + 1))
    assert len(ranges) == min(MOST, last - first + 1)
    sizes = {end - start for start, end in ranges}
    assert max(sizes) - min(sizes) <= 1


def answered(serve: Serve, **parts: list[str]) -> TurnRow:
    """The last of thirty turns, whose prompt held these parts."""
    serve()
    page()
    turn = store().turn(filled(30), 30)
    assert turn is not None
    return replace(turn, report={"parts": [{"name": name, "items": items} for name, items in parts.items()]})


def test_a_report_tells_how_turns_were_given(serve: Serve) -> None:
    turn = answered(
        serve,
        summaries=["1-3", "7-9"],
        turns=["/0/5/0.87", "another/0/6/0.80"],
        pinned=["12"],
        recent=["28", "29"],
        retrieval=["guide/ko/install.md"],
    )
    turn = replace(turn, steps=[{"name": "recall", "artifact": {TURNS: ["/0/4/0.71"]}}])
    given = read_given_turns(turn)
    assert given == {"raw": {12, 28, 29, 30}, "found": {4, 5}, "summary": {1, 2, 3, 7, 8, 9}}
    assert list(given) == ["raw", "found", "summary"], "the most comes first"


def test_what_an_import_made_of_a_report_is_passed_over(serve: Serve) -> None:
    given = read_given_turns(answered(serve, summaries=["1-x", "weird", "", "2-99999999"], recent=["29"]))
    assert given == {"raw": {29, 30}, "found": set(), "summary": set(range(2, 31))}


def test_the_marks_say_what_the_last_answer_was_given(serve: Serve) -> None:
    serve()
    at = page()
    for number in range(1, LEAST):
        say(at, f"질문 {number}")
    assert marks(at) == []
    say(at, "마지막\n질문")
    shown = marks(at.run())
    assert [(mark["first"], mark["last"]) for mark in shown] == [(number, number) for number in range(1, LEAST + 1)]
    assert (shown[0]["label"], shown[-1]["label"]) == ("질문 1", "마지막 질문")
    (turn,) = store().turns(session_of(at), limit=1)
    given = read_given_turns(turn)
    assert {mark["first"] for mark in shown if mark["kind"] == "raw"} == given["raw"]
    assert {mark["first"] for mark in shown if mark["kind"] == "summary"} == given["summary"] - given["raw"]
    assert given["raw"] >= {LEAST - 1, LEAST}
    assert given["summary"] >= {1, 2, 3}
    store().begin_turn(session_of(at), "답을 기다리는 질문")
    assert marks(at.run())[-1]["kind"] == "plain", "nothing is known of its prompt yet"


def test_without_a_report_nothing_is_claimed(serve: Serve) -> None:
    serve()
    page()
    shown = marks(page(s=filled(MOST + 10)))
    assert {mark["kind"] for mark in shown} == {"plain"}
    assert len(shown) == MOST


def test_a_press_goes_to_the_turn(serve: Serve) -> None:
    serve()
    page()
    at = page(s=filled(100))
    send_event(at, KEY, "chosen", {"turn": 11, "at": 1})
    assert {f"질문 {number}" for number in (10, 11, 12)} <= {each.value for each in at.text}
    before = {each.value for each in at.text}
    send_event(at, KEY, "chosen", {"turn": 101, "at": 2})
    assert {each.value for each in at.text} == before, "there is no such turn"
