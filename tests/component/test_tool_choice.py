"""The menu beside the input that chooses a foreign tool for the next message, on the real page with a real server."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.work import resource
from host import McpHost
from model import scripted
from model.choice import resolve
from model.profile import SMALL, STRONG, Profile
from tests.host.conftest import SERVER
from tests.test_app import page, say, store, texts

ADD = "t__add"


@pytest.fixture(autouse=True)
def served(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()
    serve(monkeypatch, SMALL)


def serve(monkeypatch: pytest.MonkeyPatch, profile: Profile) -> None:
    def models(*_: Any, **__: Any) -> Any:
        return scripted.build_scripted_models(['{"a": 2, "b": 3}', "Five."], lambda _: "A sum.", profile=profile)

    monkeypatch.setattr(resolve, "resolve_models", models)


def host(**entry: Any) -> McpHost:
    """The host with one server; ``entry``: more of its entry."""
    found = resource.find_user_agent().host
    assert found is not None
    found.servers.put("t", {"command": sys.executable, "args": [str(SERVER), "stdio"], **entry})
    return found


def menu(at: AppTest) -> list[str]:
    """The choices of the menu; none without a menu."""
    return [choice for button in at.menu_button if button.key == "tool-choice" for choice in button.options]


def choose(at: AppTest, choice: str) -> AppTest:
    at.menu_button(key="tool-choice").set_value(choice).run()
    assert not at.exception
    return at


def drops(at: AppTest) -> bool:
    """Whether a tool is chosen, so that it can be dropped."""
    return any(button.key == "drop-tool" for button in at.button)


def test_without_a_server_there_is_no_menu() -> None:
    at = page("en-US")
    assert menu(at) == []
    host(disabled=True)
    assert menu(at.run()) == []


def test_a_server_is_asked_for_its_tools_and_one_takes_the_next_message() -> None:
    host(tools={"add": "allow", "environment": "off"})
    at = page("en-US")
    (only,) = menu(at)
    assert "Ask t for its tools" in only
    choose(at, "look t")
    assert not drops(at)
    assert "t · add" in str(menu(at))
    assert "t · environment" not in str(menu(at))
    choose(at, ADD)
    assert drops(at)
    assert "t · add" in texts(at)
    at = say(at, "two and three")
    (session,) = store().sessions()
    (turn,) = store().turns(session.id)
    assert turn.question == f"/tool {ADD} two and three"
    assert [(step["name"], step["arguments"]) for step in turn.steps] == [(ADD, {"a": 2, "b": 3})]
    assert not drops(at)


def test_a_choice_is_dropped_and_belongs_to_its_chat() -> None:
    host().test("t")
    at = choose(page("en-US"), ADD)
    at.button(key="drop-tool").click().run()
    assert not drops(at)
    choose(at, ADD)
    other = resource.find_user_agent().store.create_session("en", 0.3).id
    at.query_params["s"] = other
    assert not drops(at.run())


def test_a_tool_that_is_turned_off_meanwhile_is_no_longer_chosen() -> None:
    own = host()
    own.test("t")
    at = choose(page("en-US"), ADD)
    own.servers.change("t", tools={"add": "off"})
    assert not drops(at.run())
    assert menu(at)
    assert "t · add" not in str(menu(at))


def test_a_message_that_names_a_tool_goes_to_that_one() -> None:
    host().test("t")
    at = choose(page("en-US"), ADD)
    say(at, "/tool t__environment HOME")
    (session,) = store().sessions()
    assert store().turns(session.id)[0].question == "/tool t__environment HOME"


def test_a_model_that_calls_tools_itself_has_no_menu(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, STRONG)
    host().test("t")
    assert menu(page("en-US")) == []
