"""Times as text, by the reader's own clock."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import streamlit as st


def moment(seconds: float) -> str:
    """Returns a time as text, by the reader's own clock."""
    return f"{datetime.fromtimestamp(seconds, zone()):%Y-%m-%d %H:%M}"


def zone() -> ZoneInfo | None:
    """Returns the reader's time zone; None when the browser does not tell it."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ValueError, KeyError, OSError):
        return None
