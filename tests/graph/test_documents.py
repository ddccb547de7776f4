"""Documents in the chat: the loop through the whole agent, with its trace and citations kept with the turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from graph.agent import Agent
from graph.documents import citations, look_ups
from graph.event import ToolFinished
from retrieval import Library
from tests.graph.conftest import OpenAgent
from tests.graph.talk import calling, done, only, prompts, say
from tests.retrieval.conftest import Words
from tests.retrieval.test_loop import said

FRUIT = b"# Fruit\n\n## Pears\n\nPears are green and ripen in September.\n\n## Apples\n\nApples are red.\n"
QUESTION = "When do pears ripen?"
Reading = Callable[..., Agent]


@pytest.fixture
def reading(agent: OpenAgent) -> Reading:
    """Opens an agent over a library of ``files``; ``judge``: what the judge says, call by call."""

    def make(
        chat: Any, judge: Any = (), *, files: Any = (("fruit.md", FRUIT),), embedder: Any = None, **more: Any
    ) -> Agent:
        opened = agent(chat, judge, retrieval=True, **more)
        library = Library(opened.settings, opened.store, embedder or Words())
        library.add(files)
        return replace(opened, library=library)

    return make


def searching(query: str = QUESTION, call: str = "call-1") -> AIMessage:
    return calling("search_documents", call, query=query)


def turn_steps(agent: Agent, session: str, number: int = 1) -> list[dict[str, Any]]:
    turn = agent.store.turn(session, number)
    assert turn is not None
    return turn.steps


def test_an_answer_cites_a_passage_and_the_turn_keeps_it(reading: Reading, session: Callable[[Agent], str]) -> None:
    agent = reading((searching(), "In September [1]."), (said([1], sufficient=True),))
    events = say(agent, own := session(agent), QUESTION)
    assert done(events).answer == "In September [1]."
    finished = only(events, ToolFinished)[0]
    assert "Pears are green" in finished.result
    kept = turn_steps(agent, own)
    assert look_ups(kept) == [finished.artifact]
    cited = citations(kept)[1]
    assert cited["label"] == "fruit.md › Pears"
    assert cited["text"] == "Pears are green and ripen in September."
    assert agent.library is not None
    assert agent.library.section(cited["section"]).text == cited["text"]
    result = prompts(agent)[1][-1]
    assert isinstance(result, ToolMessage)
    assert '<passage number="1" source="fruit.md › Pears">' in str(result.text)
