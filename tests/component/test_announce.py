"""What a screen reader is told of answers."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from component.page.announce import list_job_events
from component.work.job import Job, Means
from component.work.readiness import Readiness
from graph.turn.event import Done, Failed
from graph.turn.request import Request
from model.scripted import build_scripted_models
from tests.conftest import Serve
from tests.test_app import page, say


def job(end: Done | Failed | None = None) -> Job:
    made = Job(Request("s", "new", "질문"), "질문", 1, Means(Readiness(lambda _: build_scripted_models())))
    made.change(end=end)
    return made


def given_back(at: AppTest) -> list[str]:
    """The text that the browser is to find in its input, with its mark."""
    (sent,) = [json.loads(each.proto.json) for each in at.get("bidi_component") if each.key == "announcer"]
    return list(sent["back"])


@pytest.mark.usefixtures("fresh")
def test_a_text_that_comes_back_is_told_until_the_next_message(serve: Serve) -> None:
    serve(["답"])
    at = page()
    assert given_back(at) == ["", ""]
    at.chat_input[0].set_value("/btw 무엇을 물었지?").run()
    mark, text = given_back(at)
    assert text == "/btw 무엇을 물었지?"
    assert given_back(at.run()) == [mark, text], "the run that draws the input may be one that the browser never sees"
    assert given_back(say(at, "안녕")) == ["", ""]


def test_nothing_is_said_while_nothing_changes() -> None:
    running = job()
    assert list_job_events(None, None) == list_job_events(running, running) == []


def test_a_start_is_said_also_in_another_conversation_that_is_answering() -> None:
    assert list_job_events(None, job()) == ["started"]


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (Done(1, "답"), "done"),
        (Done(1, "반", stopped=True), "stopped"),
        (Failed(1, "model_broken", "broken", True), "failed"),
        (None, "refused"),
    ],
)
def test_how_an_answer_ended_is_that_of_its_own_turn(end: Done | Failed | None, said: str) -> None:
    assert list_job_events(job(end), None) == [said]


def test_of_a_message_that_follows_at_once_both_the_end_and_the_start_are_said() -> None:
    assert list_job_events(job(Done(1, "답")), job()) == ["done", "started"]
