"""Time passes in a story: a block says the day and the time of day in any form, and the state keeps both."""

from __future__ import annotations

from typing import Any

from tests.table import table
from world.block import check_block_fields, read_answer_blocks
from world.block.reading.hidden import read_whole_answer
from world.lore.lorebook import Lorebook
from world.story.live import live_state
from world.story.state import StoryState

NO_BOOK = Lorebook.of(())
BEFORE = ("day 2", "evening")


def after(lines: str, state: StoryState) -> StoryState:
    """The state after a turn with these lines in its block."""
    for fields in read_answer_blocks(f"…\n```state\n{lines}\n```"):
        checked = check_block_fields(fields, state, NO_BOOK, state.turn + 1, "…", "en")
        assert checked.refusals == ()
        state = state.after(checked.changes, state.turn + 1)
    return state


def passed(*blocks: str) -> tuple[str, str]:
    """The time after turns with these lines in their blocks."""
    state = StoryState("Aria")
    for lines in blocks:
        state = after(lines, state)
    return state.time.day, state.time.time_of_day


@table(
    ("lines", "time"),
    [
        ("time: evening, day 2", ("day 2", "evening")),
        ("time: Day 3 - Morning", ("Day 3", "Morning")),
        ("time: 2일째 저녁", ("2일째", "저녁")),
        ("time: 둘째 날 아침", ("둘째 날", "아침")),
        ("time: 사흘째, 밤", ("사흘째", "밤")),
        ("time: the third day, noon", ("the third day", "noon")),
        ("time: late at night", ("", "late at night")),
        ("time: day breaks", ("", "day breaks")),
        ("time: 21:30", ("", "21:30")),
        ("시간: 오후 3시\n날짜: 5월 3일", ("5월 3일", "오후 3시")),
        ("day: 2\ntime_of_day: evening", ("day 2", "evening")),
        ("일차: 2\n시간대: 저녁", ("2일째", "저녁")),
        ("time: {day: 2, time: dusk}", ("day 2", "dusk")),
        ("date: 1203-05-03\ntime: dawn", ("1203-05-03", "dawn")),
        ("location: 숲\ntime: [evening, day 2", ("day 2", "[evening")),
    ],
)
def test_the_time_is_read_in_every_form(lines: str, time: tuple[str, str]) -> None:
    assert passed(lines) == time


@table(
    ("lines", "time"),
    [
        ("time: night", ("day 2", "night")),
        ("time: day 3", ("day 3", "")),
        ("time: day 2", BEFORE),
        ("time: next morning", ("day 3", "morning")),
        ("time: the next day, dawn", ("day 3", "dawn")),
        ("time: 다음 날 아침", ("day 3", "아침")),
        ("time: none", BEFORE),
        ("time: day, time of day", BEFORE),
        ("mood: calm", BEFORE),
    ],
)
def test_what_a_turn_does_not_say_of_the_time_stays(lines: str, time: tuple[str, str]) -> None:
    assert passed("time: evening, day 2", lines) == time


def test_the_day_after_is_counted_in_korean_too() -> None:
    assert passed("time: 2일째 저녁", "time: 이튿날 아침") == ("3일째", "아침")
    assert passed("time: 첫째 날 저녁", "time: 다음 날 새벽") == ("2일째", "새벽")
    assert passed("time: 사흘째 밤", "time: 다음날 새벽", "time: 이튿날") == ("5일째", "")
    assert passed("time: the third day, noon", "time: the following morning") == ("day 4", "morning")
    assert passed("time: 저녁", "time: 다음 날 아침") == ("", "다음 날 아침")


def test_the_prompt_says_when_it_is() -> None:
    state = after("location: the mill\ntime: evening, day 2", StoryState("Aria"))
    assert "\nTime: day 2, evening" in live_state(state, "en")
    assert "Time:" not in live_state(after("location: the mill", StoryState("Aria")), "en")


def test_a_time_that_is_too_long_is_refused_and_the_rest_counts() -> None:
    given: Any = {"time": "x" * 81, "mood": "calm"}
    checked = check_block_fields(given, StoryState("Aria"), NO_BOOK, 1, "…", "en")
    assert [one.partition(":")[0] for one in checked.refusals] == ["time"]
    assert (checked.changes.times, checked.changes.mood) == ((), "calm")


@table(
    "text",
    [
        "Location: the docks\nTime: midnight\n\nThe fog comes.",
        "The fog comes.\n\nLocation: the docks\nTime: midnight",
        "```\nLocation: the docks\nTime: midnight\nWeather: fog\n```",
        '{"date": "3 May", "from": "Vane"}\n\nThe letter ends.',
        "Date: 3 May\nTime: noon\nDay: Monday",
    ],
)
def test_the_head_of_a_scene_is_shown(text: str) -> None:
    assert read_whole_answer(text).visible_text.strip() == text.strip()


@table("text", ["```state\ntime: evening\n```", "location: the mill\ntime: evening\nmood: calm"])
def test_a_block_with_a_time_is_hidden(text: str) -> None:
    assert read_whole_answer(f"The fog comes.\n\n{text}").visible_text.strip() == "The fog comes."
