"""Agents on the stand-in for a strong model, with real Valkey, and a tool that gives foreign text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool

from graph.tool.question.ask import Ask
from graph.turn.agent import Agent, open_agent
from graph.turn.memory.confirm import open_asks
from model import scripted
from model.profile import STRONG
from settings import load_settings
from store import TurnRow
from tests.graph.recalling import ready
from tests.stub.strong import READ, Writer

OpenStrong = Callable[..., Agent]
ANYTHING = "Nothing of note stands here."


@pytest.fixture
def strong(tmp_path: Path) -> Iterator[OpenStrong]:
    """Opens agents over one data folder.

    ``chat``: the stand-in, or a script; ``pages``: what the tool ``read_page`` gives, by words of the question;
    ``models``: instead of the chat model and the writer; the rest are settings.
    """
    opened: list[Agent] = []

    def make(
        chat: Any = (), pages: dict[str, str] | None = None, *, utility: Any = None, wait: bool = True, **settings: Any
    ) -> Agent:
        models = scripted.build_scripted_models(chat, utility or Writer(), profile=STRONG, context_size=100_000)
        off = {"titles": False, "retrieval": False, "ahead": False}
        chosen = load_settings(**{"data_dir": tmp_path / "data", "memory": True, **off, **settings})
        agent = open_agent(chosen, lambda: models)
        opened.append(agent)
        own = replace(agent, tools=[*agent.tools, page(pages or {})])
        return ready(own) if wait else own

    yield make
    for each in opened:
        each.close()


def page(pages: dict[str, str]) -> StructuredTool:
    """A tool that gives text of somebody else, as a tool of another server does."""

    def read_page(about: str) -> str:
        return next((text for words, text in pages.items() if words in about), ANYTHING)

    made = StructuredTool.from_function(read_page, name=READ, description="Reads a page of the web.")
    made.metadata = {"foreign": True, "about": {"ko": "웹 페이지 읽기", "en": "read a page of the web"}}
    return made


def new(agent: Agent, language: Any = "en") -> str:
    """A new session, by its id."""
    return agent.store.create_session(language, 0.3).id


def last(agent: Agent, session: str) -> TurnRow:
    """The last turn of a session."""
    turn = agent.store.turn(session, agent.store.session(session).turn_count)
    assert turn is not None
    return turn


def asks(agent: Agent, session: str) -> list[tuple[str, Ask]]:
    """The open questions of the last turn, by their calls."""
    return open_asks(last(agent, session))


def values(agent: Agent, session: str) -> dict[str, str]:
    """What the profile keeps by key."""
    assert agent.memory is not None
    view = agent.memory.reader.read_view(agent.tenant, session, user=agent.user)
    lines = (*view.covered_profile, *view.profile, *view.cut_profile)
    return {line.row.key: line.row.text for line in lines}
