"""The palette of actions: what it offers when, and what a choice does."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from component.page.catalogue import LANGUAGES, Words
from component.page.palette import ACTIONS, KEY
from component.page.window import OPENED
from tests.component.listing import send_event
from tests.conftest import Serve
from tests.test_app import filled, page, store

pytestmark = pytest.mark.usefixtures("fresh")


def choose(at: AppTest, name: str) -> AppTest:
    """Chooses an action as the browser tells it."""
    return send_event(at, KEY, "chosen", {"id": name, "at": 1})


def test_every_action_has_a_name_in_both_languages() -> None:
    for language in LANGUAGES:
        labels = [Words(language)(action.text) for action in ACTIONS.values()]
        assert len({*labels}) == len(labels)


@pytest.mark.parametrize(
    ("name", "opened"),
    [
        ("options", "options"),
        ("section-memory", "options"),
        ("usage", "usage"),
        ("model", "model"),
        ("help", "help"),
        ("import", "import"),
        ("trash", "trash"),
        ("export", "export"),
    ],
)
def test_an_action_opens_its_window(serve: Serve, name: str, opened: str) -> None:
    serve()
    page()
    at = choose(page(s=filled(2)), name)
    assert at.session_state[OPENED][0] == opened


def test_a_section_of_the_settings_is_open_at_once(serve: Serve) -> None:
    serve()
    at = choose(page("en-US"), "section-memory")
    assert at.number_input(key="budget-memory").value == 500


def test_a_turn_is_gone_to_by_its_number_and_one_that_is_not_there_is_not(serve: Serve) -> None:
    serve()
    page()
    at = page(s=filled(40))
    choose(at, "turn-41")
    assert "jump" not in at.session_state
    choose(at, "turn-7")
    assert at.session_state["jump"][1] == 7


def test_a_new_chat_and_a_copy_begin(serve: Serve) -> None:
    serve()
    page()
    own = filled(3)
    at = choose(page(s=own), "fork")
    copy = at.query_params["s"]
    assert (copy if isinstance(copy, str) else copy[0]) != own
    assert len(store().sessions()) == 2
    assert "s" not in choose(at, "new").query_params


@pytest.mark.parametrize("name", ["again", "edit", "reword", "fork", "export", "delete", "stop", "compare", "side"])
def test_what_needs_a_conversation_does_nothing_without_one(serve: Serve, name: str) -> None:
    serve()
    at = choose(page(), name)
    assert OPENED not in at.session_state
    assert store().sessions() == []
