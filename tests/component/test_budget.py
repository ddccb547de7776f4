"""Changing budgets in the settings window: for one tab, from its next turn on, within the limits of the settings."""

from __future__ import annotations

import re
import time

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page.catalogue import Words
from component.page.window import OPENED
from component.settings.budget import CHANGEABLE
from component.settings.options import NAME
from component.work import resource
from store import Turn
from tests.component.test_context import html, talked
from tests.conftest import Serve
from tests.graph.talk import answering, question, summarising
from tests.test_app import APP, texts

KO = Words("ko")
DEFAULTS = {"summaries": 12000, "retrieval": 1500, "memory": 500, "entities": 200}


@pytest.fixture(autouse=True)
def served(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scripted model behind the page."""
    serve(answering, summarising)
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.current.cache_clear()


def page(session: str, locale: str = "ko-KR") -> AppTest:
    at = AppTest.from_file(APP, default_timeout=60)
    at.context = {"locale": locale}
    at.query_params["s"] = session
    return run(at)


def run(at: AppTest) -> AppTest:
    at.run()
    assert not at.exception
    return at


def opened(at: AppTest, session: str) -> AppTest:
    """With the settings window open."""
    at.session_state[OPENED] = (NAME, None, session)
    return run(at)


def closed(at: AppTest) -> AppTest:
    del at.session_state[OPENED]
    return run(at)


def put(at: AppTest, name: str, tokens: int) -> AppTest:
    at.number_input(key=f"budget-{name}").set_value(tokens)
    return run(at)


def values(at: AppTest) -> dict[str, object]:
    return {name: at.number_input(key=f"budget-{name}").value for name in CHANGEABLE}


def budgets(turn: Turn | None) -> dict[str, int]:
    """What the parts of a turn's prompt could have taken."""
    assert turn is not None
    assert turn.report is not None
    return {each["name"]: each["budget"] for each in turn.report["parts"] if each["budget"]}


def say(at: AppTest, session: str, number: int) -> dict[str, int]:
    """A turn sent on the page, to its end; its budgets."""
    at.chat_input(key="ask").set_value(question(number))
    run(at)
    until = time.monotonic() + 20
    while resource.jobs().of(session) and time.monotonic() < until:
        time.sleep(0.02)
    return budgets(resource.agent().store.turn(session, number))


def test_a_changed_budget_holds_from_the_next_turn_of_its_tab_and_in_no_other() -> None:
    session = talked(7)
    mine, other = page(session), page(session)
    assert values(opened(mine, session)) == DEFAULTS
    assert values(put(mine, "summaries", 20)) == {**DEFAULTS, "summaries": 20}
    assert say(closed(mine), session, 8)["summaries"] == 20
    assert say(other, session, 9)["summaries"] == 12000
    assert values(opened(mine, session)) == {**DEFAULTS, "summaries": 20}
    assert values(opened(other, session)) == DEFAULTS


def test_the_preview_of_the_next_prompt_and_the_meters_of_memory_have_the_budgets_of_the_tab(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    settings.current.cache_clear()
    memory = resource.agent().memory
    assert memory is not None
    assert memory.wait(20)
    session = talked(7)
    memory.writer.edit("local", session, "\n".join(f"사실 {number}은 {number}00원이다." for number in range(1, 9)))
    mine, other = page(session), page(session)
    for name, tokens in (("summaries", 20), ("memory", 21), ("entities", 22)):
        put(opened(mine, session), name, tokens)
    for at, held in ((closed(mine), (20, 21, 22)), (other, (12000, 500, 200))):
        at.session_state["tabs-ko"], at.session_state[f"next-{session}-8"] = KO("panel.tab.context"), True
        shown = re.findall(r'part-summaries"></i><span>[^<]*</span><b>[^<]*</b><small>/ ([^<]*)<', html(run(at)))
        assert shown[-1] == f"{held[0]:,}"
        at.session_state["tabs-ko"] = KO("panel.tab.memory")
        read = html(run(at))
        assert f"{held[1]} 토큰 중" in read
        assert f"{held[2]} 토큰 중" in read
        assert (KO.raw("memory.cut").partition("{")[0] in texts(at)) == (at is mine)


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("ko-KR", "쓸 수 없는 값입니다: 1 이상이어야 합니다. 300 토큰을 그대로 씁니다."),
        ("en-US", "Invalid value: it must be 1 or more. 300 stays in use."),
    ],
)
def test_what_the_setting_could_not_be_is_told_and_not_used(locale: str, said: str) -> None:
    session = talked(1)
    at = put(opened(page(session, locale), session), "memory", 300)
    assert not at.warning
    put(at, "memory", 0)
    assert [each.value.replace("\\", "") for each in at.warning] == [said]
    assert at.session_state["budgets-chosen"] == {"budget_memory": 300}
    assert values(opened(closed(at), session))["memory"] == 300
    assert not at.warning


def test_one_button_brings_the_defaults_back() -> None:
    session = talked(1)
    at = opened(page(session), session)
    assert at.button(key="budget-back").disabled
    for name, tokens in zip(CHANGEABLE, (0, 50, 60, 70), strict=True):
        put(at, name, tokens)
        assert not at.button(key="budget-back").disabled
    at.button(key="budget-back").click()
    assert values(run(at)) == DEFAULTS
    assert at.button(key="budget-back").disabled
    assert say(closed(at), session, 2)["system"] == 1500


def test_the_defaults_are_those_of_the_settings_and_the_rest_is_only_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_BUDGET_ENTITIES", "77")
    settings.current.cache_clear()
    session = talked(1)
    at = opened(page(session, "en-US"), session)
    assert values(at)["entities"] == 77
    assert "Default: 77 (GIEOK_BUDGET_ENTITIES)" in at.number_input(key="budget-entities").help.replace("\\", "")
    assert "For this tab only, from its next turn on" in texts(at)
    tables = "".join(each.proto.body for each in at.get("html"))
    assert "GIEOK_ANSWER_TOKENS" in tables
    assert "ENTITIES" not in tables
