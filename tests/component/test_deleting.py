"""Deleting a chat asks whether what only it told is to be forgotten; a new chat may be kept apart."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from component.work import resource
from tests.component.listing import act
from tests.component.test_memory import memory, remembered, served
from tests.test_app import page, say, session_of, store, texts

__all__ = ["served"]
pytestmark = pytest.mark.usefixtures("served")
MINE = "I am allergic to nuts."


def told() -> str:
    """What a new chat is told."""
    return memory().reader.read_view(resource.find_user_agent().tenant, "new", "en").profile_text


def pinned() -> str:
    """A session that told a fact."""
    session = remembered()
    memory().writer.pin(resource.find_user_agent().tenant, session, MINE)
    return session


def asked(session: str) -> AppTest:
    at = page("en-US", s=session)
    return act(at, "delete", ids=[session])


def test_it_is_forgotten_by_default_and_undo_brings_back_both() -> None:
    page()
    session = pinned()
    assert MINE in told()
    at = asked(session)
    assert store().put_away_sessions() == []
    assert at.checkbox(key="delete-forget").value
    at.button(key="delete-go").click().run()
    assert not at.exception
    assert "The facts it told were forgotten" in texts(at)
    assert MINE not in told()
    at.button(key="undo-last").click().run()
    assert session_of(at) == session
    assert store().put_away_sessions() == []
    assert MINE in told()


def test_whoever_says_no_keeps_it_and_erasing_the_chat_says_so() -> None:
    page()
    session = pinned()
    at = asked(session)
    at.button(key="delete-not").click().run()
    assert store().put_away_sessions() == []
    at = asked(session)
    at.checkbox(key="delete-forget").uncheck().run()
    at.button(key="delete-go").click().run()
    assert MINE in told()
    act(at, "trash")
    at.button(key=f"erase-{session}").click().run()
    assert "as you chose when you deleted it" in texts(at)
    at.button(key="erase-yes").click().run()
    assert store().put_away_sessions() == []
    assert MINE in told()


def test_a_chat_that_is_kept_apart_gets_and_gives_nothing_and_is_deleted_without_a_question() -> None:
    page()
    pinned()
    at = page("en-US")
    assert at.toggle(key="carry-new-True").label == "Memory carries over between chats"
    at.toggle(key="carry-new-True").set_value(False).run()
    assert at.toggle(key="carry-new-False").label == "This chat keeps its memory to itself"
    say(at, "My secret colour is ultramarine 77.")
    session = session_of(at)
    held = memory()
    assert held.reader.is_apart(resource.find_user_agent().tenant, session)
    assert held.reader.read_view(resource.find_user_agent().tenant, session, "en").profile == ()
    held.writer.pin(resource.find_user_agent().tenant, session, "My secret colour is ultramarine 77.")
    assert "ultramarine" not in told()
    at.button(key="new-chat").click().run()
    assert at.toggle(key="carry-new-True").value
    at = asked(session)
    assert [each.id for each in store().put_away_sessions()] == [session]
    assert "was deleted" in texts(at)
    assert "forgotten" not in texts(at)
