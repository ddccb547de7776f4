"""The palette of actions: what it offers when, and what a choice does."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from component.page.catalogue import LANGUAGES, Words
from component.page.palette import ACTIONS, KEY
from component.page.point import KEY as POINTED
from component.page.window import OPENED
from component.sidebar import session_list
from component.sidebar.session_window import FIELD
from settings import load_current_settings
from store import Finished
from tests.component.listing import send_event
from tests.conftest import Serve
from tests.test_app import filled, page, store

pytestmark = pytest.mark.usefixtures("fresh")


def choose(at: AppTest, name: str) -> AppTest:
    """Chooses an action as the browser tells it."""
    return send_event(at, KEY, "chosen", {"id": name, "at": 1})


SAME = {
    "private.chip": "private.create",
    "session.details": "session.export",
    "summarise.up_to": "summarise.open",
    "memory.erase.one": "palette.erase",
    "memory.erase.all": "palette.erase",
}
"""Actions that the page names otherwise, where their place says more."""
WITHOUT = ("session.select.one", "panel.open", "memory.edit", "memory.entity.add", "memory.pin.add", "turn.remove")
"""What the palette need not offer by name: rows are selected in the list, each tab of the panel is in the palette, what
the memory tab writes stands there beside its field, and a single turn is deleted by its number
(``test_a_turn_is_deleted_by_its_number``)."""


def list_page_actions(at: AppTest, words: Words) -> set[str]:
    """The labels of all actions that the page offers in its menus, in the sidebar, in the header and in the panel."""
    labels = {str(button.label) for button in at.button if button.key != "model-open"}  # that has the model's name
    labels |= {option.partition(": ")[2] for menu in at.get("menu_button") for option in menu.proto.options}
    items = re.search(r"\n  items\(row\) \{(.*?)\n  \}", session_list.SCRIPT, re.S)
    assert items
    labels |= {words(session_list.WORDS[name]) for name in re.findall(r"words\.(\w+)", items[1])}
    return labels - {""}


def test_every_action_of_the_page_is_in_the_palette(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    load_current_settings.cache_clear()
    serve()
    words = Words("en")
    page("en-US")
    at, seen = page("en-US", s=filled(2)), set[str]()
    for tab in ("summaries", "memory", "context"):
        at.session_state["tabs-en"] = words(f"panel.tab.{tab}")
        seen |= list_page_actions(at.run(), words)
    assert words("known.open") in seen
    there = {words(action.text, tokens=0) for action in ACTIONS.values()}
    same = {words(name): words(other) for name, other in SAME.items()}
    assert {same.get(label, label) for label in seen} - there == {words(name) for name in WITHOUT}


def test_every_action_has_a_name_in_both_languages() -> None:
    for language in LANGUAGES:
        labels = [Words(language)(action.text, tokens=1) for action in ACTIONS.values()]
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
        ("summarise", "summarise"),
        ("rename", "session"),
        ("move", "session"),
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


@pytest.mark.parametrize(
    "name",
    [
        "again",
        "edit",
        "reword",
        "fork",
        "export",
        "delete",
        "stop",
        "compare",
        "side",
        "summarise",
        "go_on",
        "pin",
        "take_back",
        "rename",
    ],
)
def test_what_needs_a_conversation_does_nothing_without_one(serve: Serve, name: str) -> None:
    serve()
    at = choose(page(), name)
    assert OPENED not in at.session_state
    assert store().sessions() == []


def test_the_chat_is_renamed_moved_and_pinned(serve: Serve) -> None:
    serve()
    page()
    own = filled(1)
    at = choose(page(s=own), "rename")
    at.text_input(key=FIELD).set_value("새 이름")
    submit(at, "저장")
    folder = store().folders.create("여행")
    assert folder is not None
    at = choose(at, "move")
    at.selectbox(key=FIELD).set_value(folder.id)
    submit(at, "저장")
    choose(at, "pin_chat")
    session = store().session(own)
    assert (session.title, session.folder, session.pinned) == ("새 이름", folder.id, True)
    choose(at, "unpin_chat")
    assert not store().session(own).pinned


def submit(at: AppTest, label: str) -> None:
    next(button for button in at.button if button.label == label).click().run()
    assert OPENED not in at.session_state


def test_the_last_turn_is_pinned_and_taken_back(serve: Serve) -> None:
    serve()
    page()
    own = filled(2)
    at = choose(page(s=own), "pin")
    assert [turn.pinned for turn in store().turns(own)] == [False, True]
    at = choose(choose(at, "pin"), "unpin")
    assert not any(turn.pinned for turn in store().turns(own))
    choose(choose(at, "take_back"), "take_back")
    assert [turn.question for turn in store().turns(own)] == ["질문 1"]


def test_a_turn_is_deleted_by_its_number(serve: Serve) -> None:
    serve()
    page()
    own = filled(3)
    at = choose(page(s=own), "remove-4")
    assert len(store().turns(own)) == 3
    choose(at, "remove-2")
    assert [turn.question for turn in store().turns(own)] == ["질문 1", "질문 3"]
    at.button(key="removed-back").click().run()
    assert len(store().turns(own)) == 3


def test_a_broken_off_answer_is_gone_on_with_and_a_whole_one_is_not(serve: Serve) -> None:
    serve(["둘째 조각"])
    page()
    own = filled(1)
    at = choose(page(s=own), "go_on")
    assert len(store().turns(own)) == 1
    store().begin_turn(own, "긴 이야기")
    store().finish_turn(own, 2, Finished("stopped", answer="첫 조각"))
    choose(at.run(), "go_on")
    assert [turn.answer for turn in store().turns(own)][1:] == ["첫 조각", "둘째 조각"]


def test_a_tab_of_the_panel_is_pointed_at(serve: Serve) -> None:
    serve()
    page()
    at = choose(page(s=filled(1)), "tab-context")
    assert at.session_state[POINTED][1].tab == 2
    assert choose(at, "tab-none").session_state[POINTED][0] == 1
