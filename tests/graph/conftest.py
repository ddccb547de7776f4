"""An agent on scripted models and real SQLite, opened as often as a test likes and closed after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool

from graph.choice import routed
from graph.turn import run
from graph.turn.agent import Agent, open_agent
from graph.turn.running import RunningTurn
from memory.redis import link
from model import scripted
from model.modelset import ModelSet
from model.profile import STRONG, Profile
from settings import load_settings
from tests.clock import set_clock
from tests.graph.talk import answering, summarising

OpenAgent = Callable[..., Agent]
Route = Callable[..., None]


@pytest.fixture
def route(monkeypatch: pytest.MonkeyPatch) -> Route:
    """What the router chooses: ``route(part, tool, argument=…)`` for a question that holds ``part``, else nothing."""
    rules: list[tuple[str, ToolCall]] = []

    def choose(
        question: str, earlier: Sequence[str], tools: Sequence[BaseTool], write: object, now: object
    ) -> list[ToolCall]:
        offered = {tool.name for tool in tools}
        return [call for part, call in rules if part in question and call["name"] in offered]

    def put(part: str, name: str, **arguments: object) -> None:
        rules.append((part, ToolCall(name=name, args=arguments, id=f"routed-{len(rules)}", type="tool_call")))

    monkeypatch.setattr(routed, "route_tool_calls", choose)
    return put


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine does not make memory away; the tests that are about waiting for it say how long."""
    monkeypatch.setattr(link, "USER_SECONDS", 10.0)


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> float:
    """The seconds that every turn works by the clock it goes by."""
    monkeypatch.setattr(run, "RunningTurn", partial(RunningTurn, began=0.0))
    return set_clock(monkeypatch, "graph.turn.running", now=7.0).now


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[OpenAgent]:
    """Opens agents on one data folder.

    ``chat``, ``utility``: scripts; ``profile``, ``side``, ``kind`` and ``context_size``: of the models; ``resolve``:
    instead of all these; ``changing``: what is placed before the question; the rest are settings. Titles are
    made and documents searched only where a test wants them, so that the others count summaries alone.
    """
    opened: list[Agent] = []

    def make(
        chat: Any = answering,
        utility: Any = summarising,
        *,
        profile: Profile = STRONG,
        side: Profile | None = None,
        kind: Any = "scripted",
        context_size: int = 100_000,
        resolve: Callable[[], ModelSet] | None = None,
        changing: Any = None,
        **settings: Any,
    ) -> Agent:
        own = replace(
            scripted.build_scripted_models(chat, utility, profile=profile, side=side, context_size=context_size),
            kind=kind,
        )
        chosen = load_settings(**{"data_dir": tmp_path / "data", "titles": False, "retrieval": False, **settings})
        made = open_agent(chosen, resolve or (lambda: own))
        opened.append(made)
        return made if changing is None else replace(made, changing=changing)

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def session(agent: OpenAgent) -> Callable[[Agent], str]:
    """A new session of an agent, by its id."""
    return lambda of: of.store.create_session("ko", 0.3).id
