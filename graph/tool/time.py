"""The tool that tells the time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import ToolException, tool
from pydantic import BaseModel, Field

from graph.context.clock import Clock, read_local_time
from graph.tool.calculation import zone as zones
from text.date.calendar import find_single_days

LOCAL = "local"
DATES = 10
"""The most dates of one call."""
_WEEKDAYS = ("월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일")


_CLOCK = "clock"


def read_clock(config: RunnableConfig) -> datetime:
    """Returns the moment by the clock of the configuration."""
    moment: datetime = config.get("configurable", {}).get(_CLOCK, read_local_time)()
    return moment


def configure_tool_clock(clock: Clock) -> RunnableConfig:
    """Returns the configuration with which tools tell the time of this clock."""
    return {"configurable": {_CLOCK: clock}}


class TimeArguments(BaseModel, extra="forbid"):
    """Arguments of ``current_time``."""

    zone: str = Field(
        LOCAL, max_length=64, description='A city or country, an IANA zone such as "Asia/Seoul", or "local"'
    )
    dates: list[str] = Field(
        default_factory=list, max_length=DATES, description="Dates whose weekday and distance from today are wanted"
    )


@tool(args_schema=TimeArguments, response_format="content_and_artifact")
def current_time(config: RunnableConfig, zone: str = LOCAL, dates: Sequence[str] = ()) -> tuple[str, dict[str, Any]]:
    """The current date, weekday and time in a time zone; the weekdays of other dates, and how far away they are."""
    moment = read_clock(config)
    if zone.strip().casefold() in ("", LOCAL):
        return _build_time_result(moment, "", dates)
    name = zones.find_place_zone(zone)
    if name is None:
        near = zones.find_similar_zones(zone)
        advice = f"Did you mean {' or '.join(near)}?" if near else 'Give an IANA zone such as "Asia/Seoul".'
        raise ToolException(f"There is no time zone {zone!r}. {advice}")
    return _build_time_result(moment.astimezone(ZoneInfo(name)), name, dates)


def _build_time_result(now: datetime, zone: str, dates: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Returns the text for a model, and the moment as data (``now`` in ISO 8601, the IANA ``zone`` or "" for the user's
    own, ``dates`` in ISO 8601)."""
    wanted = list(dict.fromkeys(day for text in dates for day in find_single_days(text, now.date())))
    lines = [_render_zone_time(now, zone), *(_say_day(day, now.date()) for day in wanted)]
    return "\n".join(lines), {"now": now.isoformat(), "zone": zone, "dates": [day.isoformat() for day in wanted]}


def _say_day(day: date, today: date) -> str:
    distance = (day - today).days
    far = f"in {distance} days ({distance}일 뒤)" if distance > 0 else f"{-distance} days ago ({-distance}일 전)"
    return f"{day} {day:%A} ({_WEEKDAYS[day.weekday()]}), {far if distance else 'today (오늘)'}"


def _render_zone_time(now: datetime, zone: str) -> str:
    """Returns the text without the UTC offset: small models take «UTC-06:00» for the zone and say UTC."""
    return f"{now:%Y-%m-%d} {now:%A} ({_WEEKDAYS[now.weekday()]}) {now:%H:%M}, {zone or 'local time'}"


current_time.metadata = {"about": {"ko": "지금 시각, 날짜, 요일", "en": "the time, date or weekday right now"}}
