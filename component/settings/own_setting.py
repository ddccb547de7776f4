"""The settings that each user has of their own: kept in the store, and in use on all pages of the user from their next
run on. What is not set goes by the installation's settings.

A page reads them once a run and holds them in Streamlit's session state, so that nothing else asks the store.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

import settings
from component.work import resource

OWN = "own-settings"
BUDGETS = (
    "budget_summaries",
    "budget_recent",
    "budget_retrieval",
    "budget_memory",
    "budget_entities",
    "budget_profile",
    "budget_past",
)
SWITCHES = ("retrieval_first", "memory_tool_only")
"""Settings of prompts that are on or off."""
THEME = "theme"
"""The name of the theme, which only the page knows."""


def refresh_own() -> None:
    """Reads the user's settings for this page run. Raises what the store raises."""
    st.session_state[OWN] = resource.find_user_agent().store.user_settings.read()


def read_own(name: str) -> Any:
    """Returns the user's value of a setting; the installation's value where the user has set none, and None for a
    setting that only the page knows."""
    return st.session_state.get(OWN, {}).get(name, getattr(settings.load_current_settings(), name, None))


def is_own(name: str) -> bool:
    """Returns whether the user has set this setting."""
    return name in st.session_state.get(OWN, {})


def find_replaced() -> dict[str, int]:
    """Returns the settings of prompts that the user has set, by the names of those that they replace."""
    own: dict[str, Any] = st.session_state.get(OWN, {})
    return {name: own[name] for name in (*BUDGETS, *SWITCHES) if name in own}


def keep_own(name: str, value: Any) -> None:
    """Sets the user's value; the installation's own value needs no keeping. Raises ``BadSetting`` for a value that the
    setting cannot have, and what the store raises."""
    is_setting = name in settings.Settings.model_fields
    if is_setting:
        settings.load_settings(**{name: value})
    if is_setting and value == getattr(settings.load_current_settings(), name):
        forget_own([name])
        return
    resource.find_user_agent().store.user_settings.write(name, value)
    st.session_state[OWN] = {**st.session_state.get(OWN, {}), name: value}


def forget_own(names: Iterable[str]) -> None:
    """Uses the installation's values again. Raises what the store raises."""
    gone = set(names)
    resource.find_user_agent().store.user_settings.remove(gone)
    own = st.session_state.get(OWN, {})
    st.session_state[OWN] = {name: value for name, value in own.items() if name not in gone}
