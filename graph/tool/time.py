"""The tool that tells the time."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import ToolException, tool
from pydantic import BaseModel, Field

from graph.context.clock import Clock, local
from graph.tool import zone as zones

LOCAL = "local"
_WEEKDAYS = ("월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일")


_CLOCK = "clock"


def at(clock: Clock) -> RunnableConfig:
    """Returns the configuration with which tools tell the time of this clock."""
    return {"configurable": {_CLOCK: clock}}


class TimeArguments(BaseModel, extra="forbid"):
    """Arguments of ``current_time``."""

    zone: str = Field(
        LOCAL, max_length=64, description='A city or country, an IANA zone such as "Asia/Seoul", or "local"'
    )


@tool(args_schema=TimeArguments, response_format="content_and_artifact")
def current_time(config: RunnableConfig, zone: str = LOCAL) -> tuple[str, dict[str, str]]:
    """The current date, weekday and time in a time zone."""
    moment = config.get("configurable", {}).get(_CLOCK, local)()
    if zone.strip().casefold() in ("", LOCAL):
        return _told(moment)
    name = zones.find(zone)
    if name is None:
        near = zones.near(zone)
        advice = f"Did you mean {' or '.join(near)}?" if near else 'Give an IANA zone such as "Asia/Seoul".'
        raise ToolException(f"There is no time zone {zone!r}. {advice}")
    return _told(moment.astimezone(ZoneInfo(name)))


def _told(now: datetime) -> tuple[str, dict[str, str]]:
    """Returns the text for a model, and the moment as data (``now`` in ISO 8601, the IANA ``zone`` or "")."""
    zone = now.tzinfo.key if isinstance(now.tzinfo, ZoneInfo) else ""
    return _say(now), {"now": now.isoformat(), "zone": zone}


def _say(now: datetime) -> str:
    """Returns the text without the UTC offset: small models take «UTC-06:00» for the zone and say UTC."""
    place = now.tzinfo.key if isinstance(now.tzinfo, ZoneInfo) else "local time"
    return f"{now:%Y-%m-%d} {now:%A} ({_WEEKDAYS[now.weekday()]}) {now:%H:%M}, {place}"


current_time.metadata = {"about": {"ko": "지금 시각, 날짜, 요일", "en": "the time, date or weekday right now"}}
