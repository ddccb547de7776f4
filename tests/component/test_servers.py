"""The tab with the foreign servers: a server is added, tested, permitted and removed on the real page."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page import window
from component.panel.context_tab import _has_broken_prefix
from component.settings.options import NAME
from component.settings.servers import entry_of
from component.widget.moment import format_reader_moment
from component.work import resource
from errors import ServerEntryWrong
from host import McpHost
from store import Finished
from tests.conftest import Serve
from tests.host.conftest import SERVER
from tests.table import table
from tests.test_app import page, texts

COMMAND = shlex.join([sys.executable, str(SERVER), "stdio"])


@pytest.fixture(autouse=True)
def served(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve()
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()


def opened() -> AppTest:
    at = AppTest.from_file(str(page.__globals__["APP"]), default_timeout=60)
    at.context = {"locale": "en-US"}
    at.session_state[window.OPENED] = (NAME, None, None)
    at.session_state["options-open"] = "servers"
    at.run()
    assert not at.exception
    return at


def host() -> McpHost:
    found = resource.find_user_agent().host
    assert found is not None
    return found


def press(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception
    return at


def test_a_server_is_added_tested_and_removed() -> None:
    at = opened()
    assert "No server is set up yet." in texts(at)
    at.text_input(key="servers-name").set_value("t")
    at.text_input(key="servers-way").set_value(COMMAND)
    at.text_area(key="servers-secrets").set_value("TOKEN=geheim").run()
    at = press(at, "servers-add")
    assert "Connected" in texts(at)
    assert "tester 1.2.3 · protocol 2026-07-28" in texts(at).replace("\\", "")
    assert "geheim" not in texts(at)
    assert host().servers.read().entries["t"].env["TOKEN"].get_secret_value() == "geheim"
    at.segmented_control(key="server-permission-t-add").set_value("allow").run()
    assert host().servers.read().entries["t"].permission("add") == "allow"
    at = press(at, "server-able-t")
    assert host().servers.read().entries["t"].disabled
    press(at, "server-remove-t")
    assert host().servers.read().entries == {}


def test_a_wrong_entry_and_a_server_that_is_away_say_why() -> None:
    at = opened()
    at.text_input(key="servers-name").set_value("no name")
    at.text_input(key="servers-way").set_value("x").run()
    at = press(at, "servers-add")
    assert any("no name" in error.value for error in at.error)
    host().servers.put("gone", {"command": "/no/such/program"})
    host().test("gone")
    seen = texts(opened())
    assert "the command was not found" in seen
    assert f"Away since {format_reader_moment(host().states()[0].away_since)}" in seen.replace("\\", "")


@table(
    ("way", "secrets", "entry"),
    [
        ("npx -y 'a b'", "", {"command": "npx", "args": ["-y", "a b"]}),
        ("run", "A=1\n\n B = x=y ", {"command": "run", "env": {"A": "1", "B": "x=y"}}),
        (" https://a.example/mcp ", "Key=Bearer x", {"url": "https://a.example/mcp", "headers": {"Key": "Bearer x"}}),
    ],
)  # fmt: skip
def test_typed_fields_become_an_entry(way: str, secrets: str, entry: dict[str, Any]) -> None:
    assert entry_of("a", way, secrets) == entry


@pytest.mark.parametrize(("way", "secrets"), [("run 'open", ""), ("run", "no equals"), ("run", "=x")])
def test_typed_fields_that_are_none_are_refused(way: str, secrets: str) -> None:
    with pytest.raises(ServerEntryWrong):
        entry_of("a", way, secrets)


def test_the_panel_tells_where_the_tools_broke_the_prefix() -> None:
    opened()
    store = resource.find_user_agent().store
    own = store.create_session("en", 0.3).id
    report: dict[str, Any] = {"parts": [], "left_out": [], "total_tokens": 9, "full_tokens": 9, "exact": True}
    for number, mark in enumerate(("a", "a", "b"), 1):
        report = {**report, "turn": number, "tools": mark}
        store.begin_turn(own, f"Question {number}")
        store.finish_turn(own, number, Finished("done", "Answer", report=report))
    turns = {turn.number: turn for turn in store.turns(own)}
    assert [_has_broken_prefix(store, turns[number]) for number in (1, 2, 3)] == [False, False, True]
