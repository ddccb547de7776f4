"""The next prompt is read while the user reads the answer: the right one, stopped by a question, never in the way."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage

from graph.turn.agent import Agent
from model import scripted
from model.profile import SMALL
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, prompts, say, settled
from tests.graph.test_conversation import NewSession


class Reader:
    """What was read ahead. ``holds``: every reading lasts until it is stopped."""

    def __init__(self, holds: bool = False) -> None:
        self.read: list[list[tuple[str, str]]] = []
        self.stopped = 0
        self._holds = holds

    def __call__(self, messages: Sequence[BaseMessage], stop: threading.Event) -> None:
        self.read.append(told(messages))
        if self._holds and stop.wait(60):
            self.stopped += 1


def told(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, str(message.text)) for message in messages]


def reading(agent: OpenAgent, reader: Reader, **settings: Any) -> Agent:
    models = replace(scripted.build_scripted_models(lambda _: "네.", (), profile=SMALL), kind="embedded", read=reader)
    return agent(resolve=lambda: models, **settings)


def test_what_was_read_is_how_the_next_prompt_begins_also_where_a_summary_comes(
    agent: OpenAgent, session: NewSession
) -> None:
    reader = Reader()
    bot = reading(agent, reader)
    own = session(bot)
    for number in range(1, 9):
        done(say(bot, own, f"{number}번 상자에는 연필이 {number}0자루 있어."))
        settled(bot)
    sent = [told(prompt) for prompt in prompts(bot)]
    assert len(reader.read) == len(sent) == 8
    for ahead, prompt in zip(reader.read, sent[1:], strict=False):
        assert ahead[:-1] == prompt[:-1]
        assert ahead[-1] == ("human", "")


def test_a_question_stops_the_reading_and_waits_for_nothing(agent: OpenAgent, session: NewSession) -> None:
    reader = Reader(holds=True)
    bot = reading(agent, reader)
    own = session(bot)
    for number in range(1, 5):
        done(say(bot, own, f"{number}번 상자"))
        while len(reader.read) < number:
            threading.Event().wait(0.01)
    assert reader.stopped == 3, "the last one still reads"


def test_nothing_is_read_where_nothing_is_made_ahead(agent: OpenAgent, session: NewSession) -> None:
    reader = Reader()
    bot = reading(agent, reader, ahead=False)
    done(say(bot, session(bot), "안녕"))
    settled(bot)
    assert reader.read == []
