"""The page under stress, on scripted models: many summaries, two tabs, ten sessions, a full disk, a busy session."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from sqlalchemy import event
from streamlit.testing.v1 import AppTest

from component.page.view import View
from component.work import resource
from graph.turn.event import Token
from tests.component.listing import listed
from tests.test_app import add_summary, filled, page, say, session_of, store, texts

pytestmark = pytest.mark.usefixtures("fresh")
SLOW = "느린 답이 천천히 옵니다 "


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Holds answers back after their first word, at the latest until the test has ended."""
    opened = threading.Event()
    yield opened
    opened.set()


def begun(session: str) -> None:
    """Waits until the answer of a session has begun to arrive."""
    job = resource.find_user_jobs().of(session)
    while job is not None and not job.progress.text and not job.progress.ended:
        job.wait(job.progress.version, 1)


def ended(session: str) -> None:
    while (job := resource.find_user_jobs().of(session)) is not None:
        job.wait(job.progress.version, 1)


def test_of_200_summaries_the_newest_are_shown_all_are_counted_and_the_others_a_click_away(serve: Any) -> None:
    serve()
    page()
    session = filled(600)
    for number in range(1, 601, 3):
        add_summary(session, [number, number + 1, number + 2], 100, f"요약 {number}", 30)
    at = page(s=session)
    lines = texts(at).splitlines()
    assert "총 요약: 200개 (600턴 압축)" in lines
    assert "원본: 20000자 → 요약: 6000자" in lines
    assert [line for line in lines if line.startswith("요약 ")] == [f"요약 {n}" for n in range(598, 574, -3)]
    at.button(key="more-summaries").click().run()
    lines = texts(at).splitlines()
    assert [line for line in lines if line.startswith("요약 ")] == [f"요약 {n}" for n in range(598, 514, -3)]
    assert at.button(key="closer-517").label


def test_few_summaries_offer_no_more(serve: Any) -> None:
    serve()
    page()
    session = filled(6)
    add_summary(session, [1, 2, 3], 100, "요약 하나", 30)
    assert not [each for each in page(s=session).button if each.key == "more-summaries"]


def test_a_second_tab_queues_its_message_behind_the_answer_of_the_first(serve: Any) -> None:
    serve(lambda messages: f"{SLOW}{str(messages[-1].text)[-8:]}", delay=0.1)
    first = page()
    session = store().create_session("ko", 0.3).id
    resource.find_user_jobs().send(session, "첫 탭의 질문")
    begun(session)
    say(page(s=session), "둘째 탭의 질문")
    assert [turn.question for turn in store().turns(session)] == ["첫 탭의 질문", "둘째 탭의 질문"]
    first.query_params["s"] = session
    shown = texts(first.run()).splitlines()
    assert [line for line in shown if line.endswith("탭의 질문")][:2] == ["첫 탭의 질문", "둘째 탭의 질문"]


def test_two_tabs_that_send_at_once_lose_no_message(serve: Any) -> None:
    serve(delay=0.02)
    page()
    session = store().create_session("ko", 0.3).id
    together = threading.Barrier(6)

    def send(number: int) -> None:
        together.wait(60)
        resource.find_user_jobs().send(session, f"질문 {number}")

    senders = [threading.Thread(target=send, args=(number,)) for number in range(6)]
    for each in senders:
        each.start()
    for each in senders:
        each.join()
    ended(session)
    turns = store().turns(session)
    assert [(turn.number, turn.status) for turn in turns] == [(number, "done") for number in range(1, 7)]
    assert sorted(turn.question for turn in turns) == [f"질문 {number}" for number in range(6)]


def test_what_one_tab_deletes_the_other_says_is_gone(serve: Any) -> None:
    serve()
    at = say(page(), "지워질 대화의 질문입니다")
    session = session_of(at)
    resource.find_user_agent().delete_session(session)
    at.run()
    assert "찾을 수 없습니다" in at.error[0].value
    assert "s" not in at.query_params


def test_a_session_that_another_process_answers_keeps_the_message(serve: Any, gate: threading.Event) -> None:
    serve(lambda messages: SLOW, gate=gate)
    page()
    session = store().create_session("ko", 0.3).id
    elsewhere = resource.find_user_agent().run(session, "다른 프로그램의 질문")
    assert any(isinstance(each, Token) for each in elsewhere)
    at = page(s=session)
    assert "다른 프로그램이 답변하고 있습니다" in texts(at)
    assert not at.error
    assert not any(each.key == "retry-1" for each in at.button)
    store().partials.keep(session, 1, "여기까지 온 답변")
    assert "여기까지 온 답변" in texts(at.run())
    say(at, "이 페이지의 질문")
    assert "아직 다른 메시지에 답하고 있습니다" in texts(at)
    assert "이 페이지의 질문" in texts(at)
    gate.set()
    list(elsewhere)
    at.run()
    assert "다른 프로그램이 답변하고 있습니다" not in texts(at)
    assert SLOW.strip() in texts(at)
    at.button(key="send-again").click().run()
    assert [turn.question for turn in store().turns(session)] == ["다른 프로그램의 질문", "이 페이지의 질문"]


def test_ten_sessions_answer_at_once_and_each_page_shows_its_own(serve: Any) -> None:
    running: list[int] = []
    most: list[int] = []
    all_here = threading.Barrier(10, action=lambda: most.append(len(running)))

    def chat(messages: list[BaseMessage]) -> str:
        running.append(1)
        all_here.wait(60)  # none answers before all ten are asked
        return f"답은 {str(messages[-1].text).rsplit(maxsplit=1)[-1]}"

    serve(chat)
    page()
    sessions = [store().create_session("ko", 0.3).id for _ in range(10)]
    for number, session in enumerate(sessions):
        resource.find_user_jobs().send(session, f"동시에 묻는 질문 번호{number}")
    pages = [texts(page(s=session)) for session in sessions]
    assert most == [10]
    for number, said in enumerate(pages):
        assert f"답은 번호{number}" in said.splitlines()
        assert sum(line.startswith("답은") for line in said.splitlines()) == 1


def fill_disk(statement: str, times: list[int]) -> None:
    """Statements that begin so fail as on a full disk, as often as ``times`` says."""

    @event.listens_for(store().engine, "before_cursor_execute")
    def full(_c: Any, _cursor: Any, sql: str, *_: Any) -> None:
        if sql.startswith(statement) and times[0] > 0:
            times[0] -= 1
            raise sqlite3.OperationalError("database or disk is full")


def test_a_full_disk_keeps_the_message_and_says_what_to_do(serve: Any) -> None:
    serve()
    at = say(page(), "디스크가 차기 전의 질문")
    fill_disk("INSERT INTO turn", [1])
    say(at, "디스크가 찬 뒤의 질문")
    assert "디스크에 남은 공간이 없습니다" in texts(at)
    assert "공간을 확보한 뒤 다시 시도하세요" in texts(at)
    assert "디스크가 찬 뒤의 질문" in texts(at)
    at.button(key="send-again").click().run()
    assert not at.error
    assert [turn.status for turn in store().turns(session_of(at))] == ["done", "done"]


def put_back(at: AppTest) -> str:
    """What the page puts into its input."""
    return str(at.chat_input(key="ask").proto.value)


def test_a_first_message_that_cannot_be_written_stands_in_the_input_again(serve: Any) -> None:
    serve()
    at = page()
    fill_disk("INSERT INTO session", [1])
    say(at, "새 대화의 첫 질문")
    assert "디스크에 남은 공간이 없습니다" in texts(at)
    assert put_back(at) == "새 대화의 첫 질문"
    say(at, "새 대화의 첫 질문")
    assert not at.error
    assert put_back(at) == ""
    assert [turn.question for turn in store().turns(session_of(at))] == ["새 대화의 첫 질문"]


@pytest.mark.parametrize("with_files", [False, True])
def test_a_message_that_cannot_be_kept_stands_in_the_input_again(
    serve: Any, monkeypatch: pytest.MonkeyPatch, with_files: bool
) -> None:
    serve()
    at = say(page(), "디스크가 차기 전의 질문")
    fill_disk("INSERT INTO outbox", [1])
    if with_files:
        monkeypatch.setattr(View, "send", lambda view, text: view.hold_question(text, view.ensure_session()))
    say(at, "디스크가 찬 뒤의 질문")
    assert "디스크에 남은 공간이 없습니다" in texts(at)
    assert put_back(at) == "디스크가 찬 뒤의 질문"


def test_a_message_to_a_chat_that_was_erased_meanwhile_stands_in_the_input_again(serve: Any) -> None:
    serve()
    at = say(page(), "지워질 대화입니다")
    store().delete_session(session_of(at))
    say(at, "지워진 대화에 묻는 질문")
    assert "찾을 수 없습니다" in texts(at)
    assert put_back(at) == "지워진 대화에 묻는 질문"


def test_an_edited_question_that_cannot_be_kept_stays_in_its_editor(serve: Any) -> None:
    serve()
    at = say(page(), "고쳐 물을 질문")
    at.menu_button(key="more-1").set_value("edit").run()
    at.text_area[0].set_value("고친 질문")
    fill_disk("INSERT INTO outbox", [1])
    next(each for each in at.button if each.label == "보내기").click().run()
    assert "디스크에 남은 공간이 없습니다" in texts(at)
    assert at.text_area[0].value == "고친 질문"


def test_a_disk_that_fills_up_during_the_answer_loses_none_of_it(serve: Any) -> None:
    asked: list[int] = []

    def chat(messages: list[BaseMessage]) -> str:
        asked.append(1)
        return "디스크가 찼어도 남은 답변"

    serve(chat)
    at = say(page(), "먼저 묻는 질문입니다")
    fill_disk("UPDATE turn SET status", [1])
    say(at, "디스크가 차는 동안의 질문")
    assert texts(at).splitlines().count("디스크가 찼어도 남은 답변") == 2
    assert not at.error
    assert len(asked) == 2
    assert [turn.answer for turn in store().turns(session_of(at))] == ["디스크가 찼어도 남은 답변"] * 2


def test_a_slider_move_during_an_answer_counts_from_the_next_summary_on(serve: Any) -> None:
    serve(lambda messages: SLOW * 4, delay=0.02)
    page()
    session = store().create_session("ko", 0.3).id
    resource.find_user_jobs().send(session, "천천히 답해줘")
    begun(session)
    resource.find_user_agent().store.set_rate(session, 0.5)
    at = page(s=session)
    assert store().turns(session)[0].answer == SLOW * 4
    assert "현재 압축률: 0.5" in texts(at)


def test_a_clock_in_the_future_or_the_past_still_lists_every_chat(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    serve()
    right = time.time
    sessions = []
    for seconds in (3600 * 24 * 3650, 0, -3600 * 24 * 3650):
        monkeypatch.setattr(time, "time", lambda by=seconds: right() + by)
        sessions.append(session_of(say(page(), f"시계가 {seconds}초 어긋난 질문")))
    monkeypatch.setattr(time, "time", right)
    at: AppTest = page()
    assert [each.id for each in store().sessions()] == sessions
    assert {row["id"] for group in listed(at)["groups"] for row in group["rows"]} == set(sessions)
