"""Settings of prompts that a user has of their own: kept, in all tabs, from the next turn on, within the limits of the
settings."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page.catalogue import Words
from component.page.window import OPENED
from component.settings.budget import MEMORY
from component.settings.options import QUERY
from component.work import resource
from store import TurnRow
from tests.component.test_context import html, talked
from tests.conftest import Serve
from tests.graph.talk import answering, question, summarising
from tests.test_app import APP, texts
from tests.wait import until

KO = Words("ko")
DEFAULTS = {"memory": 500, "entities": 200, "profile": 150, "past": 1500}


@pytest.fixture(autouse=True)
def served(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scripted model behind the page."""
    serve(answering, summarising)
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()


def page(session: str, locale: str = "ko-KR") -> AppTest:
    at = AppTest.from_file(APP, default_timeout=60)
    at.context = {"locale": locale}
    at.query_params["s"] = session
    return run(at)


def run(at: AppTest) -> AppTest:
    at.run()
    assert not at.exception
    return at


def opened(at: AppTest, session: str | None = None, section: str = "memory") -> AppTest:
    """With the settings window open at a section."""
    at.session_state["options-open"] = section
    at.button(key="open-options-window").click()
    return run(at)


def closed(at: AppTest) -> AppTest:
    del at.session_state[OPENED]
    return run(at)


def put(at: AppTest, name: str, tokens: int) -> AppTest:
    at.number_input(key=f"budget-{name}").set_value(tokens)
    return run(at)


def values(at: AppTest) -> dict[str, object]:
    return {name: at.number_input(key=f"budget-{name}").value for name in MEMORY}


def budgets(turn: TurnRow | None) -> dict[str, int]:
    """What the parts of a turn's prompt could have taken."""
    assert turn is not None
    assert turn.report is not None
    return {each["name"]: each["budget"] for each in turn.report["parts"] if each["budget"]}


def say(at: AppTest, session: str, number: int) -> dict[str, int]:
    """A turn sent on the page, to its end; its budgets."""
    at.chat_input(key="ask").set_value(question(number))
    run(at)
    until(lambda: resource.find_user_jobs().of(session) is None)
    return budgets(resource.find_user_agent().store.turn(session, number))


def test_a_changed_budget_holds_from_the_next_turn_in_every_tab_and_after_a_reload() -> None:
    session = talked(7)
    mine, other = page(session), page(session)
    assert say(other, session, 8)["summaries"] == 12000
    put(opened(mine, section="context"), "summaries", 20)
    assert say(closed(mine), session, 9)["summaries"] == 20
    assert say(other, session, 10)["summaries"] == 20
    assert opened(page(session), section="context").number_input(key="budget-summaries").value == 20
    mine.button(key="open-options-window").click()
    run(mine).button(key="budget-back-summaries").click()
    run(mine)
    assert say(closed(mine), session, 11)["summaries"] == 12000


def test_a_window_that_stood_open_does_not_bring_an_older_value_back() -> None:
    session = talked(1)
    mine, other = opened(page(session)), opened(page(session))
    put(mine, "memory", 300)
    run(other)
    assert values(other)["memory"] == 300
    put(other, "entities", 90)
    assert values(run(mine)) == {**DEFAULTS, "memory": 300, "entities": 90}


def test_another_user_has_settings_of_their_own() -> None:
    store = resource.find_user_agent().store
    store.user_settings.write("budget_memory", 300)
    store.of("other").user_settings.write("budget_memory", 400)
    assert store.user_settings.read() == {"budget_memory": 300}
    store.of("other").user_settings.remove(["budget_memory"])
    assert (store.of("other").user_settings.read(), store.user_settings.read()) == ({}, {"budget_memory": 300})


def test_the_preview_of_the_next_prompt_and_the_meters_of_memory_have_the_users_budgets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    settings.load_current_settings.cache_clear()
    memory = resource.find_user_agent().memory
    assert memory is not None
    assert memory.wait(60)
    session = talked(7)
    memory.writer.edit("local", session, "\n".join(f"사실 {number}은 {number}00원이다." for number in range(1, 9)))
    kept = resource.find_user_agent().store.user_settings
    for own in ({}, {"budget_summaries": 20, "budget_memory": 21, "budget_entities": 22}):
        for name, tokens in own.items():
            kept.write(name, tokens)
        at, (summaries, lines, entities) = page(session), tuple(own.values()) or (12000, 500, 200)
        at.session_state["tabs-ko"], at.session_state[f"next-{session}-8"] = KO("panel.tab.context"), True
        shown = re.findall(r'part-summaries"></i><span>[^<]*</span><b>[^<]*</b><small>/ ([^<]*)<', html(run(at)))
        assert shown[-1] == f"{summaries:,}"
        at.session_state["tabs-ko"] = KO("panel.tab.memory")
        read = html(run(at))
        assert f"{lines} 토큰 중" in read
        assert f"{entities} 토큰 중" in read
        assert (KO.raw("memory.cut").partition("{")[0] in texts(at)) == bool(own)


@pytest.mark.parametrize(
    ("locale", "said"),
    [
        ("ko-KR", "쓸 수 없는 값입니다: 1 이상이어야 합니다. 300 토큰을 그대로 씁니다."),
        ("en-US", "Invalid value: it must be 1 or more. 300 stays in use."),
    ],
)
def test_what_the_setting_could_not_be_is_told_and_not_used(locale: str, said: str) -> None:
    session = talked(1)
    at = put(opened(page(session, locale)), "memory", 300)
    assert not at.warning
    put(at, "memory", 0)
    assert [each.value.replace("\\", "") for each in at.warning] == [said]
    assert resource.find_user_agent().store.user_settings.read() == {"budget_memory": 300}
    assert values(opened(closed(at)))["memory"] == 300
    assert not at.warning


def test_one_button_brings_the_defaults_back() -> None:
    session = talked(1)
    at = opened(page(session))
    assert at.button(key="budget-back-memory").disabled
    for name, tokens in zip(MEMORY, (0, 50, 60, 70), strict=True):
        put(at, name, tokens)
        assert not at.button(key="budget-back-memory").disabled
    at.button(key="budget-back-memory").click()
    assert values(run(at)) == DEFAULTS
    assert at.button(key="budget-back-memory").disabled
    assert say(closed(at), session, 2)["system"] == 1500


def test_what_the_environment_sets_says_so_and_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_BUDGET_ENTITIES", "77")
    settings.load_current_settings.cache_clear()
    at = opened(page(talked(1), "en-US"))
    assert values(at)["entities"] == 77
    told = at.number_input(key="budget-entities").help.replace("\\", "")
    assert "Default: 77, set in the environment (GIEOK_BUDGET_ENTITIES)" in told
    assert "Default: 500 (GIEOK_BUDGET_MEMORY)" in at.number_input(key="budget-memory").help.replace("\\", "")
    fixed = opened(page(talked(1), "en-US"), section="fixed")
    tables = "".join(each.proto.body for each in fixed.get("html"))
    assert "GIEOK_ANSWER_TOKENS" in tables
    assert "ENTITIES" not in tables


def test_the_search_finds_settings_in_every_section() -> None:
    at = opened(page(talked(1), "en-US"), section="models")
    at.text_input(key=QUERY).set_value("compression")
    assert [slider.key for slider in run(at).slider if slider.key == "own-rate"] == ["own-rate"]
    assert not [field for field in at.number_input if field.key == "budget-memory"]
    at.text_input(key=QUERY).set_value("oldest zebra")
    assert not [field for field in run(at).number_input if field.key == "budget-memory"]
    at.text_input(key=QUERY).set_value("oldest sentences")
    assert [field for field in run(at).number_input if field.key == "budget-memory"]


def test_new_chats_begin_with_the_users_rate_language_and_switches() -> None:
    session = talked(1)
    at = opened(page(session, "en-US"), section="context")
    at.slider(key="own-rate").set_value(0.2)
    run(at)
    new = AppTest.from_file(APP, default_timeout=60)
    new.context = {"locale": "en-US"}
    assert run(new).slider(key="rate-new").value == 0.2
    looks = opened(new, section="look")
    looks.segmented_control(key="options-language").set_value("ko")
    run(looks)
    assert page(session, "en-US").button(key="open-options-window").label == KO("options.open")
    searches = opened(page(session), section="retrieval")
    searches.toggle(key="own-switch-retrieval_first").set_value(True)
    run(searches)
    assert resource.find_user_agent().store.user_settings.read() == {
        "compression_rate": 0.2,
        "language": "ko",
        "retrieval_first": True,
    }
