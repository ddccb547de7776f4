from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from langchain_core.messages import ToolMessage

from graph.tool.calculation import zone
from graph.tool.time import configure_tool_clock, current_time
from tests.table import table


def _result(place: str) -> ToolMessage:
    message = current_time.invoke({"type": "tool_call", "name": "current_time", "args": {"zone": place}, "id": "1"})
    assert isinstance(message, ToolMessage)
    return message


@table(
    ("place", "expected"),
    [
        ("Asia/Seoul", "Asia/Seoul"),
        ("asia/seoul", "Asia/Seoul"),
        ("서울", "Asia/Seoul"),
        ("뉴욕", "America/New_York"),
        ("London", "Europe/London"),
        ("new york", "America/New_York"),
        ("America/Buenos_Aires", "America/Buenos_Aires"),
        ("Paris, France", "Europe/Paris"),
        ("독일", "Europe/Berlin"),
        ("UTC", "UTC"),
    ],
)
def test_a_place_is_found_in_korean_and_english(place: str, expected: str) -> None:
    assert zone.find_place_zone(place) == expected


def test_the_time_is_that_of_the_zone() -> None:
    said = str(_result("서울").content)
    now = datetime.now(ZoneInfo("Asia/Seoul"))
    assert said.startswith(f"{now:%Y-%m-%d}")
    assert said.endswith(", Asia/Seoul")


def test_without_a_place_it_is_the_local_time() -> None:
    assert "local time" in str(_result("local").content)


def test_an_unknown_zone_names_near_ones() -> None:
    message = _result("Asia/Soul")
    assert message.status == "error"
    assert "Asia/Seoul" in str(message.content)


@table("place", ["xyzzy", "../../etc/passwd", "/etc/localtime", "\0", "' OR 1=1 --", "🙂" * 16])
def test_hostile_or_unknown_places_are_an_error_text(place: str) -> None:
    message = _result(place)
    assert message.status == "error"
    assert "no time zone" in str(message.content)


def test_a_lone_surrogate_is_an_error_text() -> None:
    assert _result("\ud800").status == "error"


def test_an_overlong_place_is_refused_by_the_schema() -> None:
    message = _result("a" * 65)
    assert message.status == "error"
    assert "64" in str(message.content)


def test_other_days_are_told_with_weekday_and_distance() -> None:
    now = datetime(2026, 11, 24, 10, 20, tzinfo=ZoneInfo("Asia/Seoul"))
    call = {
        "type": "tool_call",
        "name": "current_time",
        "args": {"dates": ["2027년 3월 14일", "May 1, 2026"]},
        "id": "1",
    }
    message = current_time.invoke(call, configure_tool_clock(lambda: now))
    assert isinstance(message, ToolMessage)
    first, *days = str(message.content).splitlines()
    assert first.startswith("2026-11-24 Tuesday")
    assert days == [
        "2027-03-14 Sunday (일요일), in 110 days (110일 뒤)",
        "2026-05-01 Friday (금요일), 207 days ago (207일 전)",
    ]
    assert message.artifact["dates"] == ["2027-03-14", "2026-05-01"]
