"""Times as text, by the reader's own clock."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import streamlit as st

from graph.context.clock import find_zone


def format_reader_moment(seconds: float) -> str:
    """Returns a time as text, by the reader's own clock."""
    return f"{datetime.fromtimestamp(seconds, find_reader_zone()):%Y-%m-%d %H:%M}"


def find_reader_zone() -> ZoneInfo | None:
    """Returns the reader's time zone; None when the browser does not tell it."""
    return find_zone(st.context.timezone or "")
