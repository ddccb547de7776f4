"""The time as a part of what changes (design §4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from graph.context import Changing
from prompt import render
from store import Session

_DAYS = {"ko": "월화수목금토일", "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")}


def clock(session: Session) -> Sequence[Changing]:
    """Now, by this machine's clock and zone, to the minute; without the zone's name, which small models repeat."""
    return (Changing("time", now_text(session.language)),)


def now_text(language: str, moment: datetime | None = None) -> str:
    """The line that tells the model the time."""
    now = moment or datetime.now().astimezone()
    return render("time", language, time=f"{now:%Y-%m-%d} ({_DAYS[language][now.weekday()]}) {now:%H:%M}")
