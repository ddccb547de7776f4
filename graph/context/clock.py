"""The clock of the agent, and the current time as a changing part of the prompt (design 4.2)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from graph.context.prompt import Changing
from prompt import render_prompt
from store import Session

_DAYS = {"ko": "월화수목금토일", "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")}

Clock = Callable[[], datetime]
"""Returns the current moment with its zone. Everything that a turn tells about the time comes from one clock."""


def read_local_time() -> datetime:
    """Returns the moment by this machine's clock and zone."""
    return datetime.fromtimestamp(time.time()).astimezone()


def set_zone(clock: Clock, zone: tzinfo | None) -> Clock:
    """Returns the clock in a zone, as where the reader is; the same clock without one."""
    return clock if zone is None else lambda: clock().astimezone(zone)


def find_zone(name: str) -> ZoneInfo | None:
    """Returns the zone with an IANA name, such as a browser or a client tells; None for any other text."""
    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return None


def build_clock_part(session: Session, moment: datetime) -> Sequence[Changing]:
    """Returns the part with the time of the clock, to the minute. The part leaves out the zone's name, which small
    models repeat."""
    return (Changing("time", now_text(session.language, moment)),)


def now_text(language: str, moment: datetime) -> str:
    """Returns the line that tells the model the time."""
    return render_prompt(
        "time", language, time=f"{moment:%Y-%m-%d} ({_DAYS[language][moment.weekday()]}) {moment:%H:%M}"
    )
