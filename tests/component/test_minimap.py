"""The map of a long conversation: its marks, what they say of the last answer, and the way to a turn."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from component.chat.minimap import KEY, LEAST, MOST, read_given_turns, split_turns
from tests.component.listing import send_event
from tests.conftest import Serve
from tests.test_app import filled, page, say, session_of, store

pytestmark = pytest.mark.usefixtures("fresh")


def marks(at: AppTest) -> list[dict[str, Any]]:
    """The marks that the page sent to the browser; none where there is no map."""
    sent = [each.proto for each in at.get("bidi_component") if each.key == KEY]
    return [mark for proto in sent for mark in json.loads(proto.bytes)["marks"]]


@pytest.mark.parametrize(("first", "last"), [(1, LEAST), (1, MOST), (1, MOST + 1), (1, 99), (1, 10_000), (0, 57)])
def test_every_turn_has_one_mark_and_there_are_never_too_many(first: int, last: int) -> None:
    ranges = list(split_turns(first, last))
    assert [number for start, end in ranges for number in range(start, end + 1)] == list(range(first, last + 1))
    assert len(ranges) == min(MOST, last - first + 1)
    sizes = {end - start for start, end in ranges}
    assert max(sizes) - min(sizes) <= 1


def test_a_report_tells_how_turns_were_given() -> None:
    report = {
        "turn": 30,
        "parts": [
            {"name": "summaries", "items": ["1-3", "7-9"]},
            {"name": "turns", "items": ["/0/5/0.87", "another/0/6/0.80"]},
            {"name": "pinned", "items": ["12"]},
            {"name": "recent", "items": ["28", "29"]},
            {"name": "retrieval", "items": ["guide/ko/install.md"]},
        ],
    }
    given = read_given_turns(report, "here")
    assert given == {"raw": {12, 28, 29, 30}, "found": {5}, "summary": {1, 2, 3, 7, 8, 9}}
    assert list(given) == ["raw", "found", "summary"], "the most comes first"


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
    report = store().turns(session_of(at), limit=1)[0].report
    assert report is not None
    given = read_given_turns(report, session_of(at))
    assert {mark["first"] for mark in shown if mark["kind"] == "raw"} == given["raw"]
    assert {mark["first"] for mark in shown if mark["kind"] == "summary"} == given["summary"] - given["raw"]
    assert given["raw"] >= {LEAST - 1, LEAST}
    assert given["summary"] >= {1, 2, 3}


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
    send_event(at, KEY, "chosen", {"turn": 101, "at": 2})
    assert not at.exception
