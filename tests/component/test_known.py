"""What a turn changed in memory and the way back, everything known in one window, and the yes before an update."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page import window
from component.work import resource
from memory import Memory
from tests.conftest import Serve
from tests.test_app import page, say, session_of
from tests.test_app import texts as marked_texts


def texts(at: AppTest) -> str:
    """What can be read, without the marks of Markdown."""
    return marked_texts(at).replace("\\", "")


@pytest.fixture
def at(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page of a chat of one turn, with memory on and its tab open."""
    monkeypatch.setenv("GIEOK_TITLES", "false")
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    settings.load_current_settings.cache_clear()
    serve()
    at = page("en-US")
    say(at, "My city is Leeds and my budget is 70M.")
    return at.run()


def memory() -> Memory:
    found = resource.find_user_agent().memory
    assert found is not None
    return found


def remember(at: AppTest, key: str, value: str, turn: int = 1) -> None:
    memory().writer.remember(
        resource.find_user_agent().tenant, session_of(at), key, value, turn=turn, user=resource.find_user_agent().user
    )


def opened(at: AppTest, name: str) -> AppTest:
    at.session_state[window.OPENED] = (name, None, session_of(at))
    at.run()
    assert not at.exception
    return at


def press(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception
    return at


def key_like(at: AppTest, start: str) -> str:
    return next(str(button.key) for button in at.button if str(button.key).startswith(start))


def test_a_remembered_fact_stands_below_its_answer_and_is_undone_there(at: AppTest) -> None:
    remember(at, "budget", "70M")
    remember(at, "budget", "75M")
    assert "Remembered: budget: 75M" in texts(at.run())
    press(at, "memory-change-1-0-undo")
    assert "Remembered: budget: 70M" in texts(at)


def test_a_forgetting_stands_below_the_answer_and_is_undone_there(at: AppTest) -> None:
    remember(at, "city", "Leeds")
    agent = resource.find_user_agent()
    memory().eraser.forget_lines(agent.tenant, session_of(at), ["city: Leeds"], turn=1, user=agent.user)
    assert "Forgotten: city: Leeds" in texts(at.run())
    press(at, "memory-change-1-0-undo")
    said = texts(at)
    assert "Forgotten:" not in said
    assert "Remembered: city: Leeds" in said


def test_the_window_lists_all_chats_finds_changes_and_forgets(at: AppTest) -> None:
    remember(at, "city", "Leeds")
    here = session_of(at)
    other = say(page("en-US"), "Another chat.")
    memory().writer.pin(
        resource.find_user_agent().tenant,
        session_of(other),
        "I am allergic to nuts.",
        user=resource.find_user_agent().user,
    )
    opened(at, "known")
    said = texts(at)
    assert "2 lines" in said
    assert "city: Leeds" in said
    assert "I am allergic to nuts." in said
    assert "about you · since " in said
    assert "not used yet" in said
    at.text_input(key="known-query").set_value("LEEDS").run()
    said = texts(at)
    assert "1 line" in said.splitlines()
    assert "nuts" not in said
    press(at, key_like(at, "known-change-"))
    field = next(each for each in at.text_input if str(each.key).startswith("known-text-"))
    field.set_value("York")
    press(at, next(str(b.key) for b in at.button if "known-form" in str(b.key) and b.label == "Save"))
    view = memory().reader.read_view(resource.find_user_agent().tenant, here, user=resource.find_user_agent().user)
    assert [line.row.label for line in (*view.covered_profile, *view.profile)][-1] == "city: York"
    at.text_input(key="known-query").set_value("york").run()
    press(at, key_like(at, "known-forget-"))
    assert "Nothing in memory has these words." in texts(at)
    press(at, key_like(at, "known-back-"))
    assert "city: York" in texts(at)


def test_how_often_a_line_stood_in_a_prompt_is_counted(at: AppTest) -> None:
    remember(at, "city", "Leeds")
    say(at, "What do you know of me?")
    say(at, "And what else?")
    assert "in 2 prompts" in texts(opened(at, "known"))


def test_an_update_waits_for_the_yes_and_is_looked_at_first(
    fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIEOK_TITLES", "false")
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    settings.load_current_settings.cache_clear()
    serve(utility=folding)
    at = page("en-US")
    agent = resource.find_user_agent()
    memory().writer.set_asks_first(agent.tenant, True, agent.user)
    for number in range(1, 7):
        say(at, f"My item {number} costs ${number}00.")
    assert agent.background.idle(20)
    assert "May this go into memory: turns 1-5?" in texts(at.run())
    press(at, "memory-change-6-0-look")
    shown = "".join(str(each.proto.body) for each in at.get("html"))
    assert "<ins>User said: My item 2 costs $200.</ins>" in shown
    assert memory().reader.read_view(agent.tenant, session_of(at), user=agent.user).whole == ""
    memory().writer.edit(agent.tenant, session_of(at), "My own words.", user=agent.user)
    press(at, "proposal-yes")
    assert ["no longer counts" in str(each.value) for each in at.warning] == [True]
    memory().writer.undo(agent.tenant, session_of(at), user=agent.user)
    press(opened(at, "proposal"), "proposal-yes")
    assert "My item 2 costs $200." in memory().reader.read_view(agent.tenant, session_of(at), user=agent.user).whole
    assert "Taken into this chat's memory: turns 1-5" in texts(at.run())
    press(at, "memory-change-6-0-undo")
    assert memory().reader.read_view(agent.tenant, session_of(at), user=agent.user).whole == ""


def folding(messages: list[object]) -> str:
    """A fold as a good model writes it; a plain word for every other call."""
    from tests.memory.models import faithful

    return faithful(messages) if "<memory>" in str(messages[1:]) else "Fine."  # type: ignore[arg-type]
