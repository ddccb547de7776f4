"""The window over the page: what closes it, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st

from component.page import window
from tests.test_app import page

pytestmark = pytest.mark.usefixtures("fresh")


def test_a_window_that_is_opened_as_another_one_is_closed_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy page takes the closing and the click that follows it together, and calls the click's callback first."""
    closings, draw_dialog, open_window = list[Callable[[], None]](), st.dialog, window.open_page_window

    def note_closing(*values: Any, on_dismiss: Callable[[], None], **named: Any) -> Any:
        closings.append(on_dismiss)
        return draw_dialog(*values, on_dismiss=on_dismiss, **named)

    def open_then_close(name: str, about: Any = None) -> None:
        open_window(name, about)
        closings[-1]()

    monkeypatch.setattr(st, "dialog", note_closing)
    at = page()
    at.button(key="open-options-window").click().run()
    assert len(closings) == 1
    monkeypatch.setattr(window, "open_page_window", open_then_close)
    at.button(key="open-options-window").click().run()
    assert len(closings) == 2
    assert at.session_state[window.OPENED][0] == "options"
    monkeypatch.setattr(window, "open_page_window", lambda *_: closings[-1]())
    at.button(key="open-options-window").click().run()
    assert window.OPENED not in at.session_state
