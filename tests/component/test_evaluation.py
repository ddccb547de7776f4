"""The tab that tests the memory: the real page on a real Valkey and scripted models."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from streamlit.testing.v1 import AppTest

import settings
from component.work import resource
from errors import ModelUnreachable
from evaluation import scenario
from evaluation.judge import calibration
from evaluation.look import held_facts
from model import scripted
from model.choice import resolve
from model.profile import SMALL, STRONG, Profile
from store import Store
from tests.component.test_memory import click, html, remembered, said
from tests.memory.models import faithful
from tests.test_app import APP

TAB = {"ko": "평가", "en": "Test"}
PLAYED = """
language: ko
kind: update
about: 예산이 바뀐다.
turns:
  - {user: "예산은 120만 원이야.", answer: "알겠습니다."}
  - {user: "고양이 이름은 나비야.", answer: "예쁜 이름이네요."}
  - {user: "이사 날짜는 5월 3일이야.", answer: "적어 두겠습니다."}
  - {user: "예산이 150만 원으로 늘었어.", answer: "잘됐네요."}
query: {turn: 5, text: "예산이 얼마지?"}
expect:
  present: ["나비", "5월 3일"]
  current:
    - {value: "150만 원", old: ["120만 원"]}
"""
ROWS = """
ko:
  - name: cost
    criterion: relevance
    query: AWS 비용 얼마야?
    rows:
      - {memory: "월 1.2억을 쓴다.", expected: 10}
      - {memory: "비용에 관심이 있다.", expected: 2}
en: []
"""


def judgement(**changes: Any) -> str:
    """A judge's whole reply; 82 points by the formula."""
    scores = {"relevance": 9, "completeness": 8, "accuracy": 8, "noise": 3.5}
    reply = {
        "overall_score": 82,
        "scores": {name: {"score": score, "reason": f"why {name}"} for name, score in scores.items()},
        "helpful_info": ["the prices"],
        "missing_info": ["the shop"],
        "summary": "It helps.",
    }
    return json.dumps(reply | changes)


class Judge:
    """The utility model behind the page: it folds faithfully and judges as the test says, when ``free``."""

    def __init__(self) -> None:
        self.reply: Any = judgement()
        self.asked: list[str] = []
        self.free = threading.Event()
        self.free.set()

    def __call__(self, messages: list[BaseMessage]) -> Any:
        if not any("overall_score" in str(message.text) for message in messages):
            return faithful(messages)
        if "overall_score" in (text := str(messages[-1].text)):  # else it is asked once more
            self.asked.append(text)
        assert self.free.wait(60)
        return self.reply


Serve = Callable[[Profile], None]


@pytest.fixture
def judge(fresh: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judge]:
    """Memory is on, over an embedded server of its own, and a strong model judges."""
    found = Judge()
    serve(monkeypatch, found, STRONG)
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()
    yield found
    found.free.set()


def serve(monkeypatch: pytest.MonkeyPatch, judge: Judge, profile: Profile) -> None:
    monkeypatch.setattr(
        resolve,
        "resolve_models",
        lambda *_, **__: scripted.build_scripted_models(lambda _: "네.", judge, profile=profile),
    )


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One scenario of four turns."""
    folder = tmp_path / "scenario"
    folder.mkdir()
    (folder / "update_ko.yaml").write_text(PLAYED, "utf-8")
    monkeypatch.setattr(scenario, "FOLDER", folder)
    return folder


def page(session: str | None = None, language: str = "ko") -> AppTest:
    """The page with the tab open."""
    at = AppTest.from_file(APP, default_timeout=60)
    at.context = {"locale": "ko-KR" if language == "ko" else "en-US"}
    if session:
        at.query_params["s"] = session
    at.session_state[f"tabs-{language}"] = TAB[language]
    at.run()
    assert not at.exception
    return at


def ended(at: AppTest, session: str | None, piece: str) -> AppTest:
    """The page once this piece of work has ended."""
    call = resource.side_calls().of(("evaluation", session or "", piece))
    assert call is not None
    for _ in range(3000):
        if call.done:
            at.run()
            assert not at.exception
            return at
        time.sleep(0.01)
    raise AssertionError("the work did not end")


def judged(at: AppTest, session: str, button: str = "evaluation-judge-go") -> str:
    """Everything on the page after a judgement."""
    return said(ended(click(at, button), session, "judge"))


def in_korean(session: str) -> str:
    resource.find_user_agent().store.set_language(session, "ko")
    return session


def disabled(at: AppTest, key: str) -> bool:
    return bool(at.button(key=key).disabled)


def test_a_new_chat_says_when_there_is_something_to_test(judge: Judge) -> None:
    at = page()
    assert "첫 답변을 받으면" in said(at)
    assert "3턴이 끝나면" in said(at)
    keys = {button.key for button in at.button}
    assert "evaluation-scenario-go" in keys
    assert not {"evaluation-judge-go", "evaluation-curve-go"} & keys


def test_a_judgement_shows_scores_bands_reasons_and_what_it_cost(judge: Judge) -> None:
    session = remembered()
    read = judged(page(session, "en"), session)
    assert "<b>82</b><small> / 100</small>" in read
    assert 'aria-valuenow="9" aria-label="Relevance"' in read
    assert "Clearly holds what answers the question" in read
    assert "why completeness" in read
    assert "Noise (lower is better)" in read
    assert "the prices" in read
    assert "the shop" in read
    assert " tokens in · " in read
    assert "own overall score" not in read
    assert "not calibrated yet" in read
    assert "Not in the long-term memory yet: turns 6." in read
    assert len(judge.asked) == 2, "one for the long-term memory, one for the next prompt"
    assert "My item 5 costs $500" in judge.asked[0]
    assert "My item 6 costs $600" not in judge.asked[0].split("<memory>")[1]
    assert "My item 6 costs $600" in judge.asked[1].split("<memory>")[1]
    again = page(session, "en")
    assert "<b>82</b>" in said(again), "it stays, on another page, too"
    assert "<b>82</b>" not in said(click(again, "evaluation-judge-dismiss"))


def test_the_last_question_is_judged_unless_another_one_is_typed(judge: Judge) -> None:
    session = remembered()
    at = page(session)
    judge.reply = judgement(overall_score=60)
    assert "모델이 스스로 적은 총점은 60점입니다. 위의 82점은" in judged(at, session)
    assert "My item 6 costs $600." in judge.asked[0].split("<memory>")[0]
    at.text_area(key=f"evaluation-query-{session}").set_value("What is item 2?").run()
    read = judged(at, session)
    assert "What is item 2?" in judge.asked[2]
    assert "질문: What is item 2?" in read


def test_a_reply_that_cannot_be_read_is_no_zero(judge: Judge) -> None:
    session = remembered()
    at = page(session)
    for reply, why in (
        ("I cannot say.", "이유: 답이 정해진 형식(JSON)이 아닙니다"),
        (judgement(scores={"relevance": {"score": 12}}), "이유: scores.relevance.score"),
        (ModelUnreachable(url="http://127.0.0.1:9/v1"), "이유: 모델 호출이 실패했습니다 (model_unreachable)"),
    ):
        judge.reply = reply
        read = judged(at, session)
        assert "점수가 없습니다. 0점이 아니라" in read
        assert why in read
        assert "/ 100" not in read
        assert "모델 없이 센 사실" in read


def test_an_empty_memory_is_not_sent(judge: Judge) -> None:
    session = remembered(1)
    read = judged(page(session), session)
    assert "<b>10</b><small> / 100</small>" in read
    assert "기억이 비어 있어 모델에게 묻지 않았습니다." in read
    assert "<b>82</b>" in read, "the next prompt holds the turn"
    assert len(judge.asked) == 1


def test_a_chat_without_memory_is_judged_by_its_prompt_alone(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_MEMORY", "false")
    settings.load_current_settings.cache_clear()
    agent = resource.find_user_agent()
    session = agent.store.create_session("ko", 0.3).id
    list(agent.run(session, "예산은 120만 원이야."))
    read = judged(page(session), session)
    assert "장기 기억을 쓰지 않는 대화라" in read
    assert len(judge.asked) == 1


def test_a_small_model_counts_facts_and_judges_only_on_request(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, judge, SMALL)
    session = remembered()
    at = page(session)
    assert "이렇게 작은 모델이 매긴 점수는 기준이 되지 못합니다." in said(at)
    read = judged(at, session)
    assert judge.asked == []
    assert "/ 100" not in read
    assert "내가 말한 숫자·날짜·이름 등 6개 가운데" in read
    assert "<b>83%</b><small>5/6</small>" in read
    assert "없음: $600" in read
    read = judged(at, session, "evaluation-judge-anyway")
    assert len(judge.asked) == 2
    assert "아주 작은 모델이 매긴 점수이므로 기준으로 삼을 수 없습니다." in read
    assert "<b>82</b>" in read


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two memories whose scores are known."""
    path = tmp_path / "calibration.yaml"
    path.write_text(ROWS, "utf-8")
    monkeypatch.setattr(calibration, "ROWS", path)
    calibration.load_calibration_rows.cache_clear()
    yield
    calibration.load_calibration_rows.cache_clear()


def test_a_calibration_says_its_cost_first_and_marks_the_scores(judge: Judge, rows: None) -> None:
    session = in_korean(remembered())
    at = page(session)
    at.session_state["evaluation-calibration"] = True
    at.run()
    assert "모델 호출 약 2번" in said(at)
    assert "채점 모델 scripted: 아직 검정하지 않았습니다." in said(at)
    read = said(ended(click(at, "evaluation-calibration-go"), session, "calibration"))
    assert len(judge.asked) == 2
    assert "검정에서 떨어졌습니다. 점수를 믿지 마세요." in read
    assert "- «비용에 관심이 있다.»: 관련성 2점이어야 하는데 9점" in read
    assert "«월 1.2억을 쓴다.»" not in read, "off by one point is close enough"
    assert "순서가 틀린 묶음 1개" in read, "equal scores are no order"
    assert judged(page(session), session).count("검정에서 떨어졌습니다") == 1, "beside the scores, too"


def test_at_most_ten_lost_facts_are_named() -> None:
    questions = [f"이번에는 {number}00만 원이야." for number in range(1, 15)]
    (row,) = held_facts(questions, {"memory": "한 번은 300만 원"})
    assert row.kept == 1
    assert row.told == 14
    assert len(row.lost) == 10
    assert not any("300만" in lost for lost in row.lost)


def test_one_piece_of_work_runs_at_a_time_and_can_be_stopped(judge: Judge) -> None:
    session = remembered()
    judge.free.clear()
    at = click(page(session), "evaluation-judge-go")
    assert "기억을 살펴보는 중" in said(at)
    assert disabled(at, "evaluation-judge-go")
    assert disabled(at, "evaluation-curve-go")
    assert disabled(at, "evaluation-scenario-go")
    at = click(at, "evaluation-judge-stop")
    judge.free.set()
    at = ended(at, session, "judge")
    assert "결과가 나오기 전에 중지했습니다." in said(at)
    assert not disabled(at, "evaluation-judge-go")


def test_what_a_model_says_is_harmless(judge: Judge) -> None:
    session = remembered()
    scores = {
        name: {"score": 5, "reason": "<img src=x>"} for name in ("relevance", "completeness", "accuracy", "noise")
    }
    judge.reply = judgement(scores=scores, helpful_info=["**bold** $x$"], summary="[link](http://x)")
    at = page(session)
    judged(at, session)
    assert "<img" not in html(at)
    marked = [each.value for each in at.markdown]
    assert any(r"\*\*bold\*\*" in value for value in marked)
    assert any(r"\[link\]" in value for value in marked)


def test_the_curve_is_drawn_by_code_on_a_small_model(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, judge, SMALL)
    session = remembered()
    at = page(session)
    assert "모델을 부르지 않으므로 비용이 들지 않습니다." in said(at)
    read = said(ended(click(at, "evaluation-curve-go"), session, "curve"))
    assert read.count('<th scope="row">') == 5
    shares = [int(share) for share in re.findall(r"<b style[^>]*><em>(\d+)</em>", html(at))]
    assert shares == sorted(shares) == [0, 33, 33, 67, 67]
    assert "1-3, 4-6턴" in read
    assert 'role="img" aria-label="압축률별로' in read


def test_the_curve_says_its_cost_first(judge: Judge, scenarios: Path) -> None:
    session = remembered(9)
    at = page(session, "en")
    assert at.selectbox(key="evaluation-scenario-en").options == ["Updated information (KO)"]
    assert "About 15 model calls, about " in said(at)
    at.number_input(key=f"evaluation-chunks-{session}-3").set_value(1).run()
    assert "About 5 model calls" in said(at)


def test_the_number_of_chunks_that_comes_with_the_press_counts(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, judge, SMALL)
    session = remembered(9)
    at = page(session)
    at.number_input(key=f"evaluation-chunks-{session}-3").set_value(1)
    read = said(ended(click(at, "evaluation-curve-go"), session, "curve"))
    assert "7-9턴" in read
    assert "1-3" not in read


def test_the_scenario_that_is_chosen_together_with_the_press_is_played(
    judge: Judge, scenarios: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, judge, SMALL)
    (scenarios / "timing_ko.yaml").write_text(PLAYED, "utf-8")
    at = page()
    field = at.selectbox(key="evaluation-scenario-ko")
    first = field.value
    other = next(name for name in ("update_ko", "timing_ko") if name != first)
    field.set_value(other)
    ended(click(at, "evaluation-scenario-go"), None, "scenario")
    result = resource.side_calls().of(("evaluation", "", "scenario"))
    assert result is not None
    assert result.result.name == other


def test_a_scenario_shows_what_every_form_holds_and_leaves_the_users_data_alone(
    judge: Judge, scenarios: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, judge, SMALL)
    database = f"sqlite:///{tmp_path / 'own.db'}"
    monkeypatch.setenv("DATABASE_URL", database)
    settings.load_current_settings.cache_clear()
    at = page()
    assert at.selectbox(key="evaluation-scenario-ko").options == ["정보 갱신"]
    assert "예산이 바뀐다. · 4턴, 압축률 30%" in said(at)
    read = said(ended(click(at, "evaluation-scenario-go"), None, "scenario"))
    assert '<th scope="row">전체 대화</th><td>100%</td><td>0%</td>' in read
    assert '<th scope="row">없음</th><td>0%</td><td>0%</td><td>0</td>' in read
    assert "요약: 통과하지 못한 값 2개" in read
    assert "- 150만 원: 지금 값으로 남아 있지 않습니다 (옛 값 120만 원)" in read
    assert "전체 대화: 통과하지" not in read
    assert Store(database).sessions() == []


def test_a_scenario_with_a_mistake_says_where(judge: Judge, scenarios: Path) -> None:
    (scenarios / "update_ko.yaml").write_text(PLAYED.replace("query: {turn: 5", "query: {turn: 7"), "utf-8")
    at = page()
    assert "update_ko.yaml" in said(at)
    assert "query.turn" in said(at)
    assert "evaluation-scenario-go" not in {button.key for button in at.button}
