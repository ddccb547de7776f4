"""While a page follows an answer, or waits after it, nothing of its earlier runs stands beside what it shows."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from component.chat import chat
from component.page import follow
from component.page.view import View
from component.work import resource
from component.work.job import Job
from store import TurnRow
from tests.component.left_over import keep, list_left_over
from tests.component.listing import go
from tests.conftest import Serve
from tests.test_app import add_summary, filled, page, say, session_of, texts

ANSWER = "오래 걸린 답입니다."


def see_end(job: Job) -> None:
    """Waits until a turn has ended."""
    while not job.progress.ended:
        job.wait(job.progress.version, 1)


@pytest.fixture
def answering(fresh: None, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Answers last until this is set. A run of the page ends as soon as it has begun to follow: what it shows then is
    what a reader has before him while it goes on."""
    is_over = threading.Event()
    serve(lambda _: ANSWER if is_over.wait(60) else "")
    monkeypatch.setattr(
        follow, "follow_chat_work", lambda view, live, *_: live and live.update(live.job.progress, view.status)
    )
    yield is_over
    is_over.set()
    for job in list(resource.find_user_jobs()._running.values()):
        see_end(job)


def running(session: str) -> Job:
    job = resource.find_user_jobs().of(session)
    assert job is not None
    return job


def end_answer(at: AppTest, session: str, answering: threading.Event) -> None:
    """Ends the running answer, after which the page is drawn with nothing left over."""
    drawn, job = keep(at), running(session)
    answering.set()
    see_end(job)
    at.run()
    assert list_left_over(drawn, at) == []


@pytest.mark.parametrize("turns", [0, 3, 19, 20, 25])
def test_the_answer_takes_the_place_of_the_growing_one(answering: threading.Event, turns: int) -> None:
    page()
    session = filled(turns)
    at = page(s=session)
    drawn = keep(at)
    say(at, "오래 걸리는 질문")
    assert list_left_over(drawn, at) == []
    end_answer(at, session, answering)
    assert texts(at).count(ANSWER) == 1
    assert "stop" not in [each.key for each in at.button]


@pytest.mark.parametrize("turns", [5, 30])
def test_another_answer_takes_the_place_of_the_one_before_it(answering: threading.Event, turns: int) -> None:
    page()
    session = filled(turns)
    at = page(s=session)
    for number in (turns, turns - 3):
        answering.clear()
        drawn = keep(at)
        at.button(key=f"again-{number}").click().run()
        assert list_left_over(drawn, at) == []
        end_answer(at, session, answering)


def test_who_goes_to_other_turns_sees_those_alone(answering: threading.Event) -> None:
    page()
    session = filled(60)
    at = page(s=session)
    at.button(key="load-earlier").click().run()
    drawn = keep(at)
    say(at, "오래 걸리는 질문")
    assert list_left_over(drawn, at) == []
    drawn = keep(at)
    at.number_input(key=f"leap-earlier-{session}").set_value(10).run()
    assert list_left_over(drawn, at) == []
    at.button(key="load-later").click().run()
    drawn = keep(at)
    at.button(key="newest").click().run()
    assert list_left_over(drawn, at) == []
    assert "stop" in [each.key for each in at.button]


def test_messages_that_waited_become_turns_in_their_places(answering: threading.Event) -> None:
    page()
    at = page(s=filled(2))
    for text in ("오래 걸리는 질문", "다음 질문", "마지막 질문"):
        say(at, text)
    drawn, session = keep(at), session_of(at)
    answering.set()
    while (job := resource.find_user_jobs().of(session)) is not None:
        see_end(job)
    at.run()
    assert list_left_over(drawn, at) == []
    assert texts(at).count(ANSWER) == 3


def test_a_conversation_that_answers_shows_nothing_of_another_one(answering: threading.Event) -> None:
    page()
    answers, other = filled(2), filled(12)
    for first in (1, 4, 7):
        add_summary(other, [first, first + 1, first + 2], 300, f"{first}턴부터의 요약", 90)
    say(page(s=answers), "오래 걸리는 질문")
    at = page(s=other)
    drawn = keep(at)
    go(at, answers)
    assert list_left_over(drawn, at) == []


def test_a_turn_that_ends_while_its_page_is_drawn_stands_there_once_in_every_tab(
    answering: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    page()
    session = filled(3)
    tabs = [page(s=session), page(s=session)]
    say(tabs[0], "오래 걸리는 질문")
    job, load_turns = running(session), chat._load_shown_turns

    def load_after_the_end(view: View) -> tuple[list[TurnRow], bool]:
        answering.set()
        see_end(job)
        return load_turns(view)

    monkeypatch.setattr(chat, "_load_shown_turns", load_after_the_end)
    for at in tabs:
        drawn = keep(at)
        at.run()
        assert texts(at).count(ANSWER) == 1
        assert list_left_over(drawn, at) == []
        drawn = keep(at)
        at.run()
        assert texts(at).count(ANSWER) == 1
        assert list_left_over(drawn, at) == []
        assert "stop" not in [each.key for each in at.button]
