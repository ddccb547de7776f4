"""The time where the reader is, not where the server is: midnight, the year's end, daylight saving."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from graph.context.clock import find_zone, now_text, set_zone
from graph.context.preview import build_upcoming_prompt
from graph.tool.calculation.expression import reckon_expression
from model.profile import STRONG
from store import Session
from tests.graph.conftest import OpenAgent
from tests.table import table
from text.date.calendar import find_single_days


@table(
    ("moment", "zone", "told"),
    [
        ("2026-11-27T15:30:00", "Asia/Seoul", "2026-11-28 (Sat) 00:30"),
        ("2026-12-31T16:00:00", "Asia/Seoul", "2027-01-01 (Fri) 01:00"),
        ("2027-01-01T02:00:00", "America/New_York", "2026-12-31 (Thu) 21:00"),
        ("2027-03-14T06:59:00", "America/New_York", "2027-03-14 (Sun) 01:59"),
        ("2027-03-14T07:00:00", "America/New_York", "2027-03-14 (Sun) 03:00"),
        ("2026-10-25T00:30:00", "Europe/Berlin", "2026-10-25 (Sun) 02:30"),
        ("2026-10-25T01:30:00", "Europe/Berlin", "2026-10-25 (Sun) 02:30"),
        ("2026-11-27T23:00:00", "Pacific/Kiritimati", "2026-11-28 (Sat) 13:00"),
    ],
)
def test_the_prompt_tells_the_readers_time(moment: str, zone: str, told: str) -> None:
    clock = set_zone(lambda: datetime.fromisoformat(moment).replace(tzinfo=UTC), find_zone(zone))
    assert now_text("en", clock()) == f"Now: {told}"


def test_tomorrow_is_the_readers_tomorrow() -> None:
    late = datetime(2026, 12, 31, 15, 30, tzinfo=UTC)
    for zone, tomorrow in (("Asia/Seoul", "2027-01-02"), ("Europe/London", "2027-01-01")):
        there = late.astimezone(ZoneInfo(zone))
        assert [str(day) for day in find_single_days("tomorrow", there.date())] == [tomorrow]
        assert reckon_expression("today + 1 day", there).facts["day"] == tomorrow


@pytest.mark.parametrize("name", ["", "Seoul", "../etc/passwd", "/etc/localtime", "\0", "Asia/" + "x" * 300])
def test_what_is_no_zone_is_none(name: str) -> None:
    assert find_zone(name) is None


def test_two_readers_of_one_agent_have_their_own_time(agent: OpenAgent) -> None:
    bot = replace(agent(profile=STRONG), now=lambda: datetime(2026, 12, 31, 16, tzinfo=UTC))
    session: Session = bot.store.create_session("en", 0.3)
    shown = [
        str(build_upcoming_prompt(bot.in_zone(ZoneInfo(zone)), session.id, "Hello")[0].messages)
        for zone in ("Asia/Seoul", "America/New_York")
    ]
    assert "2027-01-01 (Fri) 01:00" in shown[0]
    assert "2026-12-31 (Thu) 11:00" in shown[1]
    assert bot.in_zone(None) is bot
