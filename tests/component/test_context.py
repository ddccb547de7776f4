"""The tab with any answer's prompt, the plot over all turns, and the next prompt: the real page on a scripted model."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.page.catalogue import Words
from component.panel.context_tab import MOST, load_prompt_sizes, render_prompt_plot
from component.panel.prompt_view import render_prompt_pieces as pieces_html
from component.work import resource
from graph.context.exact_prompt import PromptPiece
from graph.context.report import PartName
from model.choice import resolve
from model.scripted import build_scripted_models as scripted
from store import Finished
from tests.conftest import Serve
from tests.graph.talk import answering, question, summarising, talk, topic
from tests.test_app import APP, texts

KO = Words("ko")


@pytest.fixture(autouse=True)
def served(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scripted model behind the page."""
    serve(answering, summarising)
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()


def talked(turns: int) -> str:
    """A session with that many answered turns."""
    agent = resource.find_user_agent()
    session = agent.store.create_session("ko", 0.3).id
    talk(agent, session, range(1, turns + 1))
    assert agent.background.idle(20)
    return session


def page(session: str, **state: object) -> AppTest:
    """The page with the tab open."""
    at = AppTest.from_file(APP, default_timeout=60)
    at.context = {"locale": "ko-KR"}
    at.query_params["s"] = session
    at.session_state["tabs-ko"] = KO("panel.tab.context")
    for name, value in state.items():
        at.session_state[name] = value
    at.run()
    assert not at.exception
    return at


def choose(at: AppTest, session: str, last: int, number: int) -> AppTest:
    at.number_input(key=f"context-turn-{session}-{last}").set_value(number).run()
    assert not at.exception
    return at


def html(at: AppTest) -> str:
    return "\n".join(each.proto.body for each in at.get("html") if "<style>" not in each.proto.body)


def test_the_last_answer_is_shown_first_and_any_other_is_reached_by_its_number() -> None:
    session = talked(8)
    at = page(session)
    read = html(at)
    assert "<span>대화 요약</span><b>1-3, 4-6</b>" in read
    assert "<span>요약으로 대신함</span><b>1-6</b>" in read
    read = html(choose(at, session, 8, 2))
    assert "<span>최근 턴 원문</span><b>1</b>" in read
    assert "요약으로 대신함" not in read
    assert "캐시에서" in texts(at)
    assert "비용 정보 없음" in texts(at)


def test_a_reference_is_not_told_as_a_limit() -> None:
    read = html(page(talked(8)))
    assert re.search(r"<span>질문</span><b>\d+</b><small>제한 없음</small>", read)
    assert re.search(r"<span>대화 요약</span><b>\d+</b><small>/ 12,000</small>", read)


def test_a_model_of_this_computer_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        resolve, "resolve_models", lambda *_, **__: replace(scripted(answering, summarising), kind="local")
    )
    assert "비용 없음" in texts(page(talked(1)))


def test_every_part_has_a_colour_of_its_own_in_the_bar() -> None:
    style = (Path(APP).parent / "component" / "page" / "style.css").read_text("utf-8")
    colours = dict(re.findall(r"^\.part-(\w+) \{ background: ([^;]+);", style, re.MULTILINE))
    assert [name for name in get_args(PartName) if name not in colours] == []
    assert len(set(colours.values())) == len(colours)


def test_a_turn_far_back_is_reached_in_a_long_chat() -> None:
    session = talked(4)
    store = resource.find_user_agent().store
    for number in range(5, 205):
        turn = store.turn(session, 4)
        assert turn is not None
        store.begin_turn(session, f"질문 {number}")
        store.finish_turn(session, number, Finished("done", "답", turn.messages or [], report=turn.report))
    at = choose(page(session), session, 204, 2)
    assert "<span>질문</span><b>2</b>" in html(at)


def test_a_part_shows_its_exact_text_once_it_is_opened() -> None:
    session = talked(5)
    at = page(session)
    assert topic(4) not in html(at)
    at = page(session, **{f"exact-{session}-0-5-recent": True, f"exact-{session}-0-5-summaries": True})
    read = html(at)
    assert re.search(rf"<h4>4턴</h4><p><b>사용자</b> [^<]*{re.escape(question(4))}</p>", read)
    assert "[1-3턴] 요약(" in read
    assert "시스템과 도구 · " in "\n".join(each.label for each in at.expander)
    assert "모든 부분이 실제로 보낸 내용과 같음을 확인했습니다." in texts(at)


def test_texts_of_the_prompt_are_harmless() -> None:
    read = pieces_html(KO, (PromptPiece("<img src=x onerror=alert(1)>", "user", 1), PromptPiece("<b>x</b>")))
    assert "<img" not in read
    assert "&lt;img src=x onerror=alert(1)&gt;" in read
    assert "&lt;b&gt;x&lt;/b&gt;" in read


def test_a_turn_without_a_prompt_says_so() -> None:
    session = talked(2)
    store = resource.find_user_agent().store
    store.begin_turn(session, "가져온 질문")
    store.finish_turn(session, 3, Finished("done", "답"))
    talk(resource.find_user_agent(), session, [4])
    at = choose(page(session), session, 4, 3)
    assert "이 턴의 프롬프트는 기록에 없습니다." in texts(at)


def test_the_next_prompt_is_shown_when_it_is_opened() -> None:
    session = talked(6)
    assert "7턴의 프롬프트 미리 보기" in [each.label for each in page(session).expander]
    at = page(session, **{f"next-{session}-7": True})
    read = html(at)
    assert "<span>대화 요약</span><b>1-3, 4-6</b>" in read
    assert "도구 결과와 검색 문서는 질문을 받은 뒤에 추가됩니다." in texts(at)


def test_the_plot_has_every_turn_and_is_thinned_in_a_long_chat() -> None:
    store, session = resource.find_user_agent().store, resource.find_user_agent().store.create_session("ko", 0.3).id
    for number in range(1, 1001):
        store.begin_turn(session, "q")
        report = {"total_tokens": 100, "full_tokens": 100 + number, "parts": []}
        store.finish_turn(session, number, Finished("done", "a", report=report))
    few, many = load_prompt_sizes(store, session, 30), load_prompt_sizes(store, session, 1000)
    assert [number for number, *_ in few] == list(range(1, 31))
    assert len(many) == MOST
    assert (many[0], many[-1]) == ((1, 100, 101), (1000, 100, 1100))
    drawn = render_prompt_plot(KO, many)
    turns = re.findall(r'<i data-turn="(\d+)"', drawn)  # the first and the last stand below their bars
    assert (turns[0], turns[-1], len(turns)) == ("1", "1000", MOST)
    assert "1000턴에 100 토큰을 보냄, 전체 기록은 1,100 토큰" in drawn
