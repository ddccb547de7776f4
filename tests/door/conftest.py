"""A terminal on scripted models whose user types prepared lines."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from rich.console import Console

from component.page.catalogue import Words
from door.terminal.terminal import Terminal
from graph.turn.agent import Agent, open_agent
from model import scripted
from model.profile import STRONG, Profile
from settings import load_settings


def reply(messages: list[BaseMessage]) -> str:
    return f"[b]{str(messages[-1].text).splitlines()[-1]}[/b]에 대한 답"


@dataclass
class Screen:
    """A terminal whose user types ``lines`` and then Ctrl-D; what it shows is read from ``out`` and ``side``."""

    terminal: Terminal
    out: io.StringIO
    side: io.StringIO
    lines: list[str]

    def types(self, *lines: str) -> str:
        self.lines.extend(lines)
        assert self.terminal.talk(None) == 0
        return self.out.getvalue()

    def pipes(self, text: str, session: str | None = None) -> int:
        """The exit code of a text from a pipe; ``out`` and ``side`` then hold only what it gave."""
        for shown in (self.out, self.side):
            shown.seek(0)
            shown.truncate()
        return self.terminal.answer(text, session)

    @property
    def agent(self) -> Agent:
        return self.terminal.agent


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Callable[..., Screen]]:
    opened = []

    def make(
        chat: Any = reply,
        utility: Any = lambda messages: "요약",
        *,
        language: Any = "ko",
        profile: Profile = STRONG,
        **settings: Any,
    ) -> Screen:
        models = scripted.build_scripted_models(chat, utility, profile=profile)
        agent = open_agent(load_settings(**{"data_dir": tmp_path, "titles": False, **settings}), lambda: models)
        opened.append(agent)
        out, side, lines = io.StringIO(), io.StringIO(), list[str]()
        answers, notes = (Console(file=file, width=200, force_terminal=False) for file in (out, side))
        terminal = Terminal(
            agent, answers, notes, language, Words(language).error, lambda _: lines.pop(0) if lines else _end()
        )
        return Screen(terminal, out, side, lines)

    yield make
    for agent in opened:
        agent.close()


def _end() -> str:
    raise EOFError
