"""The tool that tells the time."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.tools import ToolException, tool
from pydantic import BaseModel, Field

from graph.tool import zone as zones

LOCAL = "local"
_TIME = re.compile(
    r"오늘|내일|어제|시간|시각|몇\s*[시분월년]|몇일|며칠|날짜|요일|이번|올해"
    r"|\b(?:times?|date|\w*days?|tomorrow|hours?|o'clock|month|year|week|late|early|night|morning|noon)\b",
    re.IGNORECASE,
)
_WEEKDAYS = ("월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일")


class TimeArguments(BaseModel, extra="forbid"):
    """Arguments of ``current_time``."""

    zone: str = Field(
        LOCAL, max_length=64, description='A city or country, an IANA zone such as "Asia/Seoul", or "local"'
    )


def ground(arguments: dict[str, Any], question: str) -> dict[str, Any] | None:
    """The place that the question asks about, when the chosen one stands nowhere in it; no call for a question of
    neither a place nor a time."""
    chosen = str(arguments.get("zone", LOCAL))
    zone = zones.find(chosen)
    if chosen.casefold() in question.casefold() or (zone and zones.mentions(question, zone)):
        return arguments
    asked = zones.asked(question)
    if asked is None:
        return arguments if _TIME.search(question) else None
    return {**arguments, "zone": asked}


@tool(args_schema=TimeArguments)
def current_time(zone: str = LOCAL) -> str:
    """The current date, weekday and time in a time zone."""
    if zone.strip().casefold() in ("", LOCAL):
        return _say(datetime.now().astimezone())
    name = zones.find(zone)
    if name is None:
        near = zones.near(zone)
        advice = f"Did you mean {' or '.join(near)}?" if near else 'Give an IANA zone such as "Asia/Seoul".'
        raise ToolException(f"There is no time zone {zone!r}. {advice}")
    return _say(datetime.now(ZoneInfo(name)))


def _say(now: datetime) -> str:
    """Without the offset: small models take «UTC-06:00» for the zone and say UTC."""
    place = now.tzinfo.key if isinstance(now.tzinfo, ZoneInfo) else "local time"
    return f"{now:%Y-%m-%d} {now:%A} ({_WEEKDAYS[now.weekday()]}) {now:%H:%M}, {place}"


current_time.metadata = {
    "ground": ground,
    "about": {"ko": "지금 시각, 날짜, 요일", "en": "the time, date or weekday right now"},
    "examples": {
        "ko": [
            ("지금 몇 시야?", {"zone": LOCAL}),
            ("오늘 무슨 요일이지?", {"zone": LOCAL}),
            ("파리는 지금 몇 시야?", {"zone": "파리"}),
            ("멕시코 현재 시각 알려줘", {"zone": "멕시코"}),
            (("서울은 지금 몇 시야?", "그럼 카이로는?"), {"zone": "카이로"}),
        ],
        "en": [
            ("What time is it?", {"zone": LOCAL}),
            ("Which day of the week is it today?", {"zone": LOCAL}),
            ("What's the time in Paris now?", {"zone": "Paris"}),
            ("Is it still night in Mexico?", {"zone": "Mexico"}),
            (("What time is it in Seoul?", "How about Cairo?"), {"zone": "Cairo"}),
        ],
    },
}
