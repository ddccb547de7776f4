"""The window of one summary: what a press does that comes with other news."""

from __future__ import annotations

import time
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page import window
from component.panel import revision
from component.work import resource
from graph.turn.agent import Agent
from store import SummaryRow
from tests.conftest import Serve
from tests.test_app import page, say, session_of


@pytest.fixture
def at(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page of a chat of four turns, with the window of its one summary open."""
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()
    serve()
    at = page()
    for number in range(1, 5):
        say(at, f"{number}번째 이야기입니다. 예산은 {number}00,000원입니다.")
    at.session_state[window.OPENED] = (revision.NAME, 1, session_of(at))
    return at.run()


def versions(at: AppTest) -> list[SummaryRow]:
    return resource.find_user_agent().summary_versions(session_of(at), 1)


def end(session: str) -> None:
    """Waits until the call that is under way has ended."""
    call = resource.side_calls().of(("remake", session, 1))
    while call is not None and not call.done:
        time.sleep(0.01)


def test_a_move_of_the_slider_that_comes_with_the_press_counts(at: AppTest) -> None:
    (first,) = versions(at)
    at.slider(key=f"remake-rate-{first.id}").set_value(0.45)
    at.button(key="remake-go").click().run()
    assert not at.exception
    end(session_of(at))
    assert [version.rate for version in versions(at)] == [first.rate, 0.45]


def test_a_summary_that_is_ready_before_the_window_is_drawn_is_shown(
    at: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Agent.summary_versions

    def slow(self: Agent, session: str, first: int) -> Any:
        """Reads the versions; the call that is under way ends before they are drawn."""
        found = read(self, session, first)
        end(session)
        return found

    monkeypatch.setattr(Agent, "summary_versions", slow)
    at.button(key="remake-go").click().run()
    assert not at.exception
    at.run()  # the run that the browser asks for where the call was still under way when the window was drawn
    first, second = versions(at)
    keys = [button.key for button in at.button]
    assert f"use-{first.id}" in keys
    assert f"use-{second.id}" not in keys
