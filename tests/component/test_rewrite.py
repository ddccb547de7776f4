"""«Rewrite with the model» in the memory tab: the real page on real Valkey, with a scripted small model."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import settings
from component.work import resource
from errors import ModelUnreachable
from model import scripted
from model.choice import resolve
from model.profile import SMALL
from tests.component.test_memory import click, memory, page, remembered, said
from tests.memory.models import reply

WORDS = "The user listed the prices of five items, $100 to $500, and of item 6, $600: $200, $300, $400."
VALUES = {f"item {number}": f"${number}00" for number in range(1, 7)}


class Model:
    """The utility model behind the page: what it answers next, and when."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.free = threading.Event()
        self.free.set()

    def __call__(self, _messages: Any) -> Any:
        assert self.free.wait(60)
        return self.answers.pop(0)


@pytest.fixture
def model(fresh: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """Memory is on, over an embedded server of its own; code keeps it, as on a small model."""
    found = Model()
    monkeypatch.setattr(
        resolve,
        "resolve_models",
        lambda *_, **__: scripted.build_scripted_models(lambda _: "네.", found, profile=SMALL),
    )
    monkeypatch.setenv("GIEOK_MEMORY", "true")
    monkeypatch.setenv("GIEOK_TITLES", "false")
    settings.load_current_settings.cache_clear()
    yield found
    found.free.set()


def ended(at: AppTest, session: str) -> AppTest:
    """The page once the call has ended; one that ended at once is on it already."""
    running = resource.side_calls().of(("rewrite-memory", session))
    if running is None:
        return at
    for _ in range(1000):
        if running.done:
            return at.run()
        time.sleep(0.02)
    raise AssertionError("the call did not end")


def held(session: str) -> str:
    return memory().reader.read_view("local", session).whole


def test_it_writes_the_memory_anew_beside_the_page_and_says_so(model: Model) -> None:
    session = remembered()
    before = held(session)
    model.answers = [reply(WORDS, entities=VALUES)]
    model.free.clear()
    at = click(page(session), "memory-rewrite")
    assert "모델이 기억을 쓰는 중" in said(at)
    assert held(session) == before
    assert not [each for each in at.button if each.key == "memory-rewrite"], "it runs once"
    model.free.set()
    at = ended(at, session)
    assert "모델이 기억을 다시 썼습니다." in said(at)
    assert held(session) == WORDS
    assert "모델이 기억을 다시 썼습니다." not in said(at.run()), "it is said once"
    click(at, "memory-undo")
    assert held(session) == before


def test_stopped_it_changes_nothing_and_can_be_asked_for_again(model: Model) -> None:
    session = remembered()
    before = held(session)
    model.answers = [reply(WORDS, entities=VALUES)]
    model.free.clear()
    at = click(page(session), "memory-rewrite")
    running = resource.side_calls().of(("rewrite-memory", session))
    assert running is not None
    at = click(at, "memory-rewrite-stop")
    assert running.stop.is_set()
    assert not at.button(key="memory-rewrite").disabled
    model.free.set()
    while not running.done:
        time.sleep(0.02)
    assert (held(session), running.result) == (before, None)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (["Hm.", "Hm."], "사용하지 않았습니다. 기억은 그대로입니다."),
        ([ModelUnreachable(url="http://127.0.0.1:9", reason="refused")], "연결할 수 없습니다"),
    ],
)
def test_a_reply_that_cannot_be_used_and_a_server_that_is_away_are_told_and_change_nothing(
    model: Model, answers: list[Any], told: str
) -> None:
    session = remembered()
    before = held(session)
    model.answers = answers
    at = ended(click(page(session), "memory-rewrite"), session)
    assert told in said(at)
    assert held(session) == before


def test_without_a_memory_there_is_nothing_to_rewrite(model: Model) -> None:
    memory()
    session = resource.find_user_agent().store.create_session("ko", 0.3).id
    at = page(session)
    assert "아직 다시 쓸 기억이 없습니다." in said(ended(click(at, "memory-rewrite"), session))


def test_where_the_model_keeps_the_memory_there_is_no_button(serve: Any, model: Model) -> None:
    serve(lambda messages: "네.", lambda messages: reply(WORDS, entities=VALUES))
    at = page(remembered(1))
    assert not [each for each in at.button if each.key == "memory-rewrite"]
