"""A private chat on the page: it works, says plainly what it is, and is in no list, file or memory; nor after it."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import settings
from component.work import resource
from tests.component.listing import listed, look, titles
from tests.conftest import Serve
from tests.graph.test_private import MARKER, holding
from tests.test_app import page, say, store, texts

pytestmark = pytest.mark.usefixtures("fresh")


@pytest.fixture(autouse=True)
def remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    settings.load_current_settings.cache_clear()


def keys(at: AppTest) -> set[str]:
    return {str(each.key) for each in (*at.button, *at.menu_button, *at.toggle)}


def begun(at: AppTest) -> AppTest:
    at.button(key="private-begin").click().run()
    assert not at.exception
    return at


def test_it_is_a_whole_conversation_that_is_written_down_nowhere(serve: Serve) -> None:
    serve(lambda messages: f"{MARKER} 맞습니다.")
    at = begun(page())
    assert "어디에도 저장하지 않습니다" in texts(at)
    assert "violet-badge" in texts(at)
    for number in range(1, 6):
        say(at, f"{MARKER} {number}번째로 하는 이야기입니다.")
    assert f"{MARKER} 5번째로 하는 이야기입니다." in texts(at)
    assert len(resource.find_user_agent().store.sessions()) == 0
    assert "s" not in at.query_params
    assert "private-begin" not in keys(at)
    assert titles(at) == []
    assert listed(look(at, MARKER))["hits"]["rows"] == []
    memory = resource.find_user_agent().memory
    assert memory is not None
    assert memory.wait(60)
    assert MARKER not in str(memory.export_user(resource.find_user_agent().tenant))
    assert holding(Path(settings.load_current_settings().data_dir)) == []


def test_leaving_it_ends_it_and_another_page_never_had_it(serve: Serve) -> None:
    serve()
    at = say(begun(page()), f"{MARKER} 이야기")
    own = at.session_state[resource.PRIVATE]
    assert own
    assert f"{MARKER} 이야기" not in texts(page())
    at.button(key="new-chat").click().run()
    assert MARKER not in texts(at)
    assert resource.PRIVATE not in at.session_state
    assert store().sessions() == []
    say(at, "이제 저장되는 대화입니다")
    assert [each.title for each in store().sessions()] == ["이제 저장되는 대화입니다"]
    at.button(key="new-private").click().run()
    assert "이제 저장되는 대화입니다" in texts(page(s=store().sessions()[0].id))
    assert "어디에도 저장하지 않습니다" in texts(at)


def test_a_lost_connection_ends_it_and_the_page_says_so(serve: Serve) -> None:
    serve()
    at = say(begun(page()), f"{MARKER} 이야기")
    st.cache_resource.clear()  # as Streamlit does with what belongs to a connection
    at.run()
    assert "비공개 대화가 끝났고" in at.error[0].value
    assert MARKER not in texts(at)
    assert store().sessions() == []
