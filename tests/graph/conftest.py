"""An agent on scripted models and real SQLite, opened as often as a test likes and closed after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph.agent import Agent, open_agent
from memory import link
from model import scripted
from model.modelset import ModelSet
from model.profile import STRONG, Profile
from settings import load
from tests.graph.talk import answering, summarising

OpenAgent = Callable[..., Agent]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine does not make memory away; the tests that are about waiting for it say how long."""
    monkeypatch.setattr(link, "USER_SECONDS", 10.0)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[OpenAgent]:
    """Opens agents on one data folder.

    ``chat``, ``utility``: scripts; ``profile``, ``side``, ``kind`` and ``context_size``: of the models; ``resolve``: instead of
    all these; ``changing``: what is placed before the question; the rest are settings. Titles are
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
        own = replace(scripted.models(chat, utility, profile=profile, side=side, context_size=context_size), kind=kind)
        chosen = load(**{"data_dir": tmp_path / "data", "titles": False, "retrieval": False, **settings})
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
