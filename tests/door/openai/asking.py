"""A client of the endpoint without HTTP: plans a request, opens its session, and runs the turn."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from graph.turn.agent import Agent, open_agent
from graph.turn.event import Done, Ended
from model import scripted
from server.request.conversation import ClientMessage, TurnPlan, plan_client_turn, prepare_turn_request
from settings import load_settings

Turn = tuple[str, str]
"""A question and its answer; a greeting has an empty question."""


@dataclass(frozen=True)
class Asked:
    plan: TurnPlan
    session: str
    end: Ended

    @property
    def answer(self) -> str:
        assert isinstance(self.end, Done)
        return self.end.answer


def opened(folder: Path, answer: Callable[[int], str] | None = None) -> Agent:
    """An agent whose every answer is another one, or what ``answer`` makes of its number."""
    numbers = itertools.count(1)

    def reply(_: object) -> str:
        number = next(numbers)
        return answer(number) if answer else f"Here is reply number {number}."

    models = scripted.build_scripted_models(reply, lambda _: "A short summary.")
    settings = load_settings(data_dir=folder, titles=False, retrieval=False, ahead=False, memory=False)
    return open_agent(settings, lambda: models)


def messages(turns: Iterable[Turn], text: str, system: str = "") -> list[ClientMessage]:
    said = [ClientMessage("system", system)] if system else []
    for question, answered in turns:
        said += [ClientMessage("user", question)] if question else []
        said.append(ClientMessage("assistant", answered))
    return [*said, ClientMessage("user", text)]


def run(agent: Agent, sent: Sequence[ClientMessage], name: str | None = None) -> Asked:
    planned = plan_client_turn(agent, sent, name)
    request = prepare_turn_request(agent, planned)
    return Asked(planned, request.session, agent.turn(request, threading.Event(), lambda _: None))


def ask(agent: Agent, turns: Iterable[Turn], text: str, name: str | None = None) -> Asked:
    return run(agent, messages(turns, text), name)


def talk(agent: Agent, *questions: str, turns: Sequence[Turn] = (), name: str | None = None) -> tuple[str, list[Turn]]:
    """A chat that sends everything each time; returns its session and its turns."""
    known, session = list(turns), ""
    for question in questions:
        asked = ask(agent, known, question, name)
        known.append((question, asked.answer))
        session = asked.session
    return session, known


def path(agent: Agent, session: str) -> list[Turn]:
    return [(turn.question, turn.answer or "") for turn in agent.store.turns(session, limit=1000)]
