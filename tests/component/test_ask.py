"""The question under an answer: shall this be kept, shall these lines be forgotten? The real page on real Valkey."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.work import resource
from graph.tool.question.ask import build_ask_artifact
from graph.turn.agent import Agent
from memory import Memory
from store import Finished
from tests.conftest import Serve
from tests.test_app import page, say, texts

ADDRESS = ("remember", {"key": "주소", "value": "서울 *강남*"})
LINES = ["주소: 서울 *강남*", "여동생: 지민"]


@pytest.fixture(autouse=True)
def served(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is on, over an embedded server of its own."""
    serve()
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()


def memory() -> Memory:
    found = resource.find_user_agent().memory
    assert found is not None
    assert found.wait(60), found.away
    return found


def step(tool: str, arguments: dict[str, Any], call: str = "call-1") -> dict[str, Any]:
    """A step that asks the user."""
    own = {
        "call": call,
        "name": tool,
        "arguments": arguments,
        "result": "The user is asked.",
        "ok": True,
        "seconds": 0.1,
    }
    return own | {"artifact": build_ask_artifact(tool, arguments)}


def asked(*steps: dict[str, Any], status: Any = "done") -> str:
    """A session whose turn asks this."""
    agent: Agent = resource.find_user_agent()
    own = agent.store.create_session("ko", 0.3).id
    number = agent.store.begin_turn(own, "그 주소 저장해 줘").number
    agent.store.finish_turn(own, number, Finished(status, answer="확인해 주세요.", steps=list(steps)))
    return own


def picking() -> str:
    """A session whose turn asks which of two remembered lines to forget."""
    session = asked(step("forget", {"lines": LINES, "pick": True}))
    for key, value in (("주소", "서울 *강남*"), ("여동생", "지민")):
        memory().writer.remember("local", session, key, value, turn=0)
    return session


def read(at: AppTest) -> str:
    """What can be read, without the marks that keep it from being Markdown."""
    return texts(at).replace("\\", "")


def kept(session: str) -> dict[str, str]:
    return {line.row.key: line.row.text for line in memory().reader.read_view("local", session).profile}


def click(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click().run()
    assert not at.exception
    return at


def buttons(at: AppTest) -> list[str]:
    return [str(each.key) for each in at.button if str(each.key).startswith("ask-")]


def test_a_value_is_asked_about_word_for_word_and_kept_with_a_yes() -> None:
    session = asked(step(*ADDRESS))
    at = page(s=session)
    assert "**기억할까요?** 주소 = 서울 \\*강남\\*" in texts(at), "it is no Markdown"
    assert [at.button(key=key).label for key in buttons(at)] == ["네", "아니요"]
    memory()
    at = click(at, "ask-yes-1-0")
    assert kept(session) == {"주소": "서울 *강남*"}
    assert buttons(at) == []
    assert "기억했습니다: 주소 = 서울 *강남*" in read(page(s=session))


def test_a_no_is_shown_as_decided_and_keeps_nothing() -> None:
    session = asked(step(*ADDRESS))
    memory()
    at = click(page("en-US", s=session), "ask-no-1-0")
    assert "Not remembered: 주소 = 서울" in read(at)
    assert (buttons(at), kept(session)) == ([], {})


def test_lines_to_forget_are_listed_and_go_with_a_yes() -> None:
    session = asked(step("forget", {"lines": LINES[:1]}))
    memory().writer.remember("local", session, "주소", "서울 *강남*", turn=0)
    at = page(s=session)
    assert "**잊을까요?**" in read(at)
    assert "- 주소: 서울 *강남*" in read(at)
    assert "잊었습니다: 주소: 서울" in read(click(at, "ask-yes-1-0"))
    assert kept(session) == {}


def test_where_the_user_picks_only_ticked_lines_go_and_nothing_goes_unticked() -> None:
    session = picking()
    at = page(s=session)
    assert "어느 것을 잊을까요?" in read(at)
    assert at.button(key="ask-yes-1-0").disabled
    at.checkbox(key=f"ask-line-{session}-0-1-0-1").check().run()
    at = click(at, "ask-yes-1-0")
    assert list(kept(session)) == ["주소"]
    assert "잊었습니다: 여동생: 지민" in read(at)
    assert "잊었습니다: 주소" not in read(at)


def test_a_tick_that_comes_with_the_press_counts() -> None:
    session = picking()
    at = page(s=session)
    at.checkbox(key=f"ask-line-{session}-0-1-0-0").check().run()
    at.checkbox(key=f"ask-line-{session}-0-1-0-0").uncheck()
    click(at, "ask-yes-1-0")
    assert len(kept(session)) == 2  # no line is ticked any more
    at.checkbox(key=f"ask-line-{session}-0-1-0-0").check().run()
    at.checkbox(key=f"ask-line-{session}-0-1-0-0").uncheck()
    at.checkbox(key=f"ask-line-{session}-0-1-0-1").check()
    click(at, "ask-yes-1-0")
    assert list(kept(session)) == ["주소"]


def test_two_questions_are_answered_apart() -> None:
    session = asked(step(*ADDRESS), step("remember", {"key": "직업", "value": "간호사"}, "call-2"))
    memory()
    at = click(page(s=session), "ask-no-1-0")
    assert buttons(at) == ["ask-yes-1-1", "ask-no-1-1"]
    click(at, "ask-yes-1-1")
    assert kept(session) == {"직업": "간호사"}


@pytest.mark.parametrize(
    ("locale", "typed", "held"),
    [("ko-KR", "네", {"주소": "서울 *강남*"}), ("ko-KR", " 아니요 ", {}), ("en-US", "yes", {"주소": "서울 *강남*"})],
)
def test_the_word_on_a_button_typed_alone_answers(locale: str, typed: str, held: dict[str, str]) -> None:
    session = asked(step(*ADDRESS))
    memory()
    at = say(page(locale, s=session), typed)
    assert (kept(session), buttons(at)) == (held, [])
    assert resource.find_user_agent().store.session(session).turn_count == 1, "it is no message"


def test_a_typed_yes_takes_the_ticked_lines_and_without_any_is_a_message() -> None:
    session = picking()
    at = page(s=session)
    at.checkbox(key=f"ask-line-{session}-0-1-0-0").check().run()
    say(at, "네")
    assert list(kept(session)) == ["여동생"]
    unticked = asked(step("forget", {"lines": LINES, "pick": True}))
    say(page(s=unticked), "네")
    assert resource.find_user_agent().store.session(unticked).turn_count == 2


@pytest.mark.parametrize("typed", ["네, 그런데 왜요?", "응"])
def test_more_than_the_word_is_a_message(typed: str) -> None:
    session = asked(step(*ADDRESS))
    memory()
    say(page(s=session), typed)
    assert kept(session) == {}
    assert resource.find_user_agent().store.session(session).turn_count == 2


def test_a_yes_that_two_questions_wait_for_is_a_message() -> None:
    session = asked(step(*ADDRESS), step("remember", {"key": "직업", "value": "간호사"}, "call-2"))
    memory()
    say(page(s=session), "네")
    assert kept(session) == {}
    assert resource.find_user_agent().store.session(session).turn_count == 2


def test_a_failed_turn_asks_nothing() -> None:
    assert buttons(page(s=asked(step(*ADDRESS), status="failed"))) == []


def test_an_answer_that_was_given_elsewhere_is_told_and_shown() -> None:
    session = asked(step(*ADDRESS))
    at = page(s=session)
    memory()
    resource.find_user_agent().confirm(session, 1, "call-1", False)
    at = click(at, "ask-yes-1-0")
    assert "이미 답했습니다" in read(at)
    assert "기억하지 않았습니다" in read(at)
    assert kept(session) == {}
