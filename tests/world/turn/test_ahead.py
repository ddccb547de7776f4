"""The model reads the next prompt of a story while the player reads the scene."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

import errors
from model import scripted
from model.call.stream import Stopped
from model.modelset import ModelSet
from settings import load_settings
from store import Store
from store.world.record import StoryNode
from world.engine import WorldEngine

Reading = Callable[[Sequence[BaseMessage], threading.Event], None]


class Told:
    """A story on a model that serves everything; ``order``: what it was asked, in turn."""

    def __init__(self, folder: Path, **settings: bool) -> None:
        self.order: list[str] = []
        self.read: list[list[str]] = []
        self.reading: Reading = lambda *_: None
        self.model = scripted.ScriptedModel(lambda _: self.told("scene", "숲이 어두워진다."))
        models = scripted.build_scripted_models(self.model, lambda _: self.told("light", '{"location": "숲"}'))
        models = replace(models, kind="embedded", read=self.ahead)
        self.settings = load_settings(data_dir=folder, **settings)
        self.store = Store(self.settings.database)
        self.engine = WorldEngine.open(self.settings, self.store, lambda: models)
        self.world = self.store.worlds.create("숲", "ko", "아리아")

    def told(self, what: str, answer: str) -> str:
        self.order.append(what)
        return answer

    def ahead(self, messages: Sequence[BaseMessage], stop: threading.Event) -> None:
        self.order.append("ahead")
        self.read.append([str(message.content) for message in messages])
        self.reading(messages, stop)

    def play(self, parent: StoryNode | None, question: str) -> StoryNode:
        return self.engine.play(self.world.id, parent, question, threading.Event(), lambda _: None)

    def close(self) -> None:
        self.engine.close()
        self.store.close()


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Told]:
    opened = Told(tmp_path)
    yield opened
    opened.close()


def test_what_is_read_ahead_is_the_beginning_of_the_next_prompt(story: Told) -> None:
    first = story.play(None, "숲으로 간다.")
    assert story.engine.idle(10)
    assert story.order == ["scene", "light", "ahead"], "the light call comes first: it would displace what was read"
    story.play(first, "불을 켠다.")
    read = story.read[0][:-1]
    assert read[-2:] == ["숲으로 간다.", "숲이 어두워진다."]
    assert [str(message.content) for message in story.model.calls[-1]][: len(read)] == read


def test_a_story_that_is_opened_is_read_at_once(story: Told) -> None:
    node = story.play(None, "숲으로 간다.")
    assert story.engine.idle(10)
    story.engine.expect(story.world.id, node)
    assert story.engine.idle(10)
    assert story.read[0] == story.read[1], "what a turn leaves and what an opened story needs are the same"
    story.engine.expect(story.world.id, None)
    assert story.engine.idle(10)
    story.play(None, "강으로 간다.")
    read = story.read[2][:-1]
    assert [str(message.content) for message in story.model.calls[-1]][: len(read)] == read


def test_another_users_story_is_not_read(story: Told) -> None:
    with pytest.raises(errors.WorldUnknown):
        story.engine.of("bob").expect(story.world.id, None)
    assert story.engine.idle(10)
    assert story.read == []


def test_a_message_that_comes_meanwhile_stops_the_reading(story: Told) -> None:
    begun, ended = threading.Event(), threading.Event()

    def long(_: Sequence[BaseMessage], stop: threading.Event) -> None:
        begun.set()
        assert stop.wait(60)
        ended.set()
        raise Stopped

    story.reading = long
    node: StoryNode | None = None
    for question in ("숲으로 간다.", "불을 켠다.", "소리를 듣는다.", "멈춘다."):  # more often than work may be stopped
        node = story.play(node, question)
        assert begun.wait(60)
        begun.clear()
        ended.clear()
    story.reading = lambda *_: None
    story.play(node, "쉰다.")
    assert ended.wait(60)
    assert story.engine.idle(10)
    assert story.store.worlds.raw(10) == []


def test_a_failed_reading_costs_nothing(story: Told) -> None:
    def fails(*_: object) -> None:
        raise errors.ModelTimeout(url="", seconds=1)

    story.reading = fails
    node = story.play(None, "숲으로 간다.")
    assert story.engine.idle(10)
    assert story.engine.state(node).me.location == "숲"


def test_a_model_that_is_changed_in_mid_answer_costs_no_turn(story: Told) -> None:
    def gone() -> ModelSet:
        raise errors.ModelUnreachable(url="", reason="")

    def answer(_: object) -> str:
        story.engine.models = gone
        return "숲이 어두워진다."

    story.model.answers = answer
    node = story.play(None, "숲으로 간다.")
    assert story.store.worlds.node(node.id).answer == "숲이 어두워진다."
    assert story.engine.idle(10)
    assert story.read == []


def test_the_setting_turns_it_off(tmp_path: Path) -> None:
    story = Told(tmp_path, ahead=False)
    story.play(None, "숲으로 간다.")
    assert story.engine.idle(10)
    assert story.order == ["scene", "light"]
    story.close()
