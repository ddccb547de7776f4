"""Summarise now, pinned turns, and what a move of the slider leaves: the real page on a scripted model."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page import window
from component.panel import summarise
from component.work import resource
from graph.summary import rewrite
from tests.conftest import Serve
from tests.graph.talk import answering, question, summarising
from tests.test_app import page, say, session_of, store
from tests.test_app import texts as marked_texts


@pytest.fixture
def at(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The page of a chat of five turns, of which three are summarised."""
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()
    serve(answering, utility=summarising)
    at = page()
    for number in range(1, 6):
        say(at, question(number))
    assert resource.find_user_agent().background.idle(20)
    return at.run()


def texts(at: AppTest) -> str:
    """What can be read, without the marks of Markdown."""
    return marked_texts(at).replace("\\", "")


def press(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception
    return at


def keys(at: AppTest) -> list[str | None]:
    return [button.key for button in at.button]


def written(at: AppTest) -> AppTest:
    """The window once the draft is there."""
    press(at, "summarise")
    at.text_input(key=f"summarise-hint-{session_of(at)}").set_value("송장 번호를 남겨 줘")
    press(at, "summarise-write")
    call = resource.side_calls().of((summarise.NAME, session_of(at)))
    assert call is not None
    while not call.done:
        time.sleep(0.01)
    return at.run()


def test_the_text_and_what_it_saves_are_shown_before_anything_changes(at: AppTest) -> None:
    written(at)
    said = texts(at)
    assert "4-5턴" in said
    assert "프롬프트마다 **" in said
    assert [row.turns for row in store().ledger.summaries(session_of(at))] == [[1, 2, 3]]
    press(at, "summarise-use")
    assert [row.turns for row in store().ledger.summaries(session_of(at))] == [[1, 2, 3], [4, 5]]
    assert window.OPENED not in at.session_state or not at.session_state[window.OPENED]
    assert "4-5턴을 요약했습니다." in at.success[0].value
    said = texts(at)
    assert "직접 요약을 시킨 턴" in said
    assert "바람: 송장 번호를 남겨 줘" in said
    assert said.index("[4-5턴 요약]") < said.index("[1-3턴 요약]"), "the newest first"
    assert "6-8턴의 요약은 9턴부터 사용합니다." in said
    assert not at.run().success, "said once"


def test_a_chat_that_went_on_meanwhile_is_not_summarised_by_the_old_draft(at: AppTest) -> None:
    written(at)
    list(resource.find_user_agent().again(session_of(at), 5))
    assert resource.find_user_agent().background.idle(20)
    press(at, "summarise-use")
    assert [row.turns for row in store().ledger.summaries(session_of(at))] == [[1, 2, 3]]
    assert "그사이 대화가 바뀌어" in at.warning[0].value


def test_a_pinned_turn_says_so_with_what_it_costs_and_is_unpinned_in_the_panel(at: AppTest) -> None:
    own = session_of(at)
    resource.find_user_agent().pin_turn(own, 2, True)
    tokens = store().turns_between(own, 2, 2)[0].tokens
    said = texts(at.run())
    assert f"모든 프롬프트에 원문 그대로 들어갑니다 · {tokens}토큰" in said
    assert f"1개 · 프롬프트마다 {tokens}토큰" in said
    assert "2턴은 고정해 두어 원문도 함께 들어갑니다." in said
    press(at, "pinned-2-off")
    assert store().pinned_turns(own) == []
    assert "원문으로 두는 턴" not in texts(at)


def test_a_moved_slider_says_what_stays_and_makes_it_again(at: AppTest) -> None:
    own = session_of(at)
    assert "그대로입니다" not in texts(at)
    at.slider(key=f"rate-{own}").set_value(0.45).run()
    assert "다음 요약부터 적용됩니다. 이미 만든 요약 1개(30%)는 그대로입니다." in texts(at)
    press(at, "rate-compare")
    assert at.selectbox(key="compare-side-1-0.45").value == 6, "the rate of now, between 0.4 and 0.5"
    at.session_state[window.OPENED] = ("", None, None)
    press(at.run(), "rate-remake")
    assert resource.find_user_agent().background.idle(20)
    assert [row.rate for row in store().ledger.summaries(own)] == [0.45]
    assert not rewrite.is_running(resource.find_user_agent(), own, rewrite.REMAKE)
    assert "그대로입니다" not in texts(at.run())
    assert "rate-remake" not in keys(at)
