"""The groups of the list of conversations, by the reader's own calendar."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from component.sidebar.session_list import classify_session_age
from store import Store
from tests.table import table


@table(
    ("now", "zone", "updated", "group"),
    [
        ("2026-11-28T00:10", "Asia/Seoul", "2026-11-27T23:50", "yesterday"),
        ("2026-11-28T00:10", "Asia/Seoul", "2026-11-28T00:05", "today"),
        ("2027-01-01T00:01", "America/New_York", "2026-12-31T23:59", "yesterday"),
        ("2027-03-15T00:30", "America/New_York", "2027-03-13T23:30", "week"),  # a day of 23 hours lies between
        ("2027-03-14T23:30", "America/New_York", "2027-03-14T00:30", "today"),
        ("2026-10-26T00:10", "Europe/Berlin", "2026-10-25T00:05", "yesterday"),  # a day of 25 hours
        ("2026-10-25T23:50", "Europe/Berlin", "2026-10-25T00:05", "today"),
        ("2027-01-07T00:10", "Asia/Seoul", "2026-12-31T23:50", "older"),
        ("2027-01-06T23:50", "Asia/Seoul", "2026-12-31T00:10", "week"),
    ],
)
def test_the_readers_calendar_groups_the_list(now: str, zone: str, updated: str, group: str) -> None:
    there = ZoneInfo(zone)
    moment = datetime.fromisoformat(now).replace(tzinfo=there)
    used = datetime.fromisoformat(updated).replace(tzinfo=there).timestamp()
    store = Store("sqlite://")
    session = replace(store.create_session("en", 0.3), updated=used)
    store.close()
    assert classify_session_age(session, moment) == group
    far = moment.astimezone(ZoneInfo("Pacific/Kiritimati"))
    assert classify_session_age(session, far) in ("today", "yesterday", "week", "older")


def test_the_same_moment_is_today_for_one_reader_and_yesterday_for_another() -> None:
    now = datetime(2026, 11, 28, 0, 30, tzinfo=ZoneInfo("Asia/Seoul"))
    store = Store("sqlite://")
    session = replace(store.create_session("en", 0.3), updated=(now - timedelta(hours=1)).timestamp())
    store.close()
    assert classify_session_age(session, now) == "yesterday"
    assert classify_session_age(session, now.astimezone(ZoneInfo("America/New_York"))) == "today"
