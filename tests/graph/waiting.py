"""What a process does that asks its user and kills itself at a given place: SIGKILL, so nothing is tidied up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from graph.node import ask
from graph.turn.agent import open_agent
from graph.turn.event import TurnQuestions
from model import scripted
from settings import load_settings
from store.turn.question import UserAnswer
from tests.graph.killed import die
from tests.graph.talk import calling, summarising


def main(folder: str, session: str, place: str) -> None:
    """Asks, then goes on with a yes; comes to its end only when the place is never reached."""
    from tests.graph.test_waiting import Door

    models = scripted.build_scripted_models([calling("open_door", which="front"), "never"], summarising)
    settings = load_settings(data_dir=Path(folder), ahead=False, titles=False, retrieval=False)
    agent = open_agent(settings, lambda: models)
    door: Any = Door()
    agent = replace(agent, tools=[*agent.tools, door])
    if place == "before_row":
        object.__setattr__(agent.store, "finish_turn", die)
    (*_, end) = agent.run(session, "Open it.")
    assert isinstance(end, TurnQuestions)
    if place == "after_answer":
        ask._apply_tool_approvals = die
    if place == "in_tool":
        object.__setattr__(door, "_run", die)
    for _ in agent.resume(session, {end.questions[0].id: UserAnswer("once")}):
        pass
