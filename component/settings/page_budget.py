"""The budgets that the user of one open page has changed; they live in Streamlit's session state only."""

from __future__ import annotations

import streamlit as st

import settings

BUDGETS = "budgets-chosen"


def budgets() -> dict[str, int]:
    """Returns the budgets that this page's user chose, in tokens, by the names of their settings."""
    return dict(st.session_state.get(BUDGETS, {}))


def choose_budget(name: str, tokens: int) -> None:
    """Uses this budget from the next turn on. Raises ``BadSetting`` when the setting does not allow the value."""
    settings.load(**{name: tokens})
    changed = {**budgets(), name: tokens}
    st.session_state[BUDGETS] = {
        field: value for field, value in changed.items() if value != getattr(settings.current(), field)
    }


def forget_budgets() -> None:
    """Uses the budgets of the process again."""
    st.session_state.pop(BUDGETS, None)
