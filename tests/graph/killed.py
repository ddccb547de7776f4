"""What a process does that runs one turn and kills itself at a given place: SIGKILL, so nothing is tidied up."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage

from graph.node import llm
from graph.turn.agent import open_agent, private_agent
from graph.turn.event import Token
from graph.turn.memory import long_term
from graph.turn.session import repair
from model import scripted
from settings import load_settings
from store.turn.question import UserAnswer
from tests.graph.talk import answering, calling, summarising


def die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, session: str, place: str, text: str) -> None:
    """Runs the turn; comes to its end only when the place is never reached."""
    chat: Any = die if place in ("llm", "casual") else answering
    if place in ("tool", "after_tool", "between"):
        chat = [calling("calculate", expression="6*7"), die]
    utility = die if place == "summary" else summarising
    models = scripted.build_scripted_models(chat, utility)
    agent = open_agent(load_settings(data_dir=Path(folder), ahead=False), lambda: models)
    if place == "before_graph":
        repair.build_turn_input = die
    if place == "tool":
        agent = replace(agent, tools=[replace_tool(each) for each in agent.tools])
    if place == "between":  # the node's writes are handed over, its checkpoint is not written
        agent = replace(agent, tools=die_after(agent.tools, agent.checkpoints.saver))
    if place == "after_ledger":
        llm._build_noted_prompt = die
    if place == "before_row":
        object.__setattr__(agent.store, "finish_turn", die)
    if place == "before_prune":
        agent = replace(agent, checkpoints=replace(agent.checkpoints, prune=die))
    for _ in agent.run(session, text):
        pass


def foreign(folder: str, session: str, tool: str) -> None:
    """Runs a turn that calls a foreign tool, whose server kills this process when it has done what it was asked."""
    models = scripted.build_scripted_models([calling(tool), answering], summarising)
    agent = open_agent(load_settings(data_dir=Path(folder), ahead=False, memory=False), lambda: models)
    for _ in agent.run(session, "Do it now, please."):
        pass


def foreign_answer(folder: str, session: str, question: str, persons: int) -> None:
    """Answers what a foreign tool asked; its server kills this process when it has done what it was asked."""
    models = scripted.build_scripted_models(answering, summarising)
    agent = open_agent(load_settings(data_dir=Path(folder), ahead=False, memory=False), lambda: models)
    for _ in agent.resume(session, {question: UserAnswer("answer", {"persons": persons})}):
        pass


def memory_change(folder: str, session: str, calls: Sequence[AIMessage], text: str) -> None:
    """Runs a turn whose last call changes memory; dies before the checkpoint after it."""
    models = scripted.build_scripted_models([*calls, answering], summarising)
    agent = open_agent(load_settings(data_dir=Path(folder), ahead=False, retrieval=False, memory=True), lambda: models)
    assert agent.memory is not None
    assert agent.memory.wait(60)
    make, saver = long_term.make_turn_memory_tools, agent.checkpoints.saver
    long_term.make_turn_memory_tools = lambda *given: die_after(make(*given), saver, runs=len(calls))
    for _ in agent.run(session, text):
        pass


def private(folder: str, marker: str) -> None:
    """A private conversation that is killed in the middle of its second answer."""
    models = scripted.build_scripted_models(answering, summarising)
    shared = open_agent(
        load_settings(data_dir=Path(folder), titles=False, retrieval=False, memory=True), lambda: models
    )
    assert shared.memory is not None
    assert shared.memory.wait(60)
    agent = private_agent(shared)
    own = agent.store.create_session("en", 0.3).id
    for _ in agent.run(own, f"The first thing that I tell you is {marker}."):
        pass
    for event in agent.run(own, f"The second thing that I tell you is {marker}."):
        if isinstance(event, Token):
            die()


def replace_tool(tool: Any) -> Any:
    return tool.model_copy(update={"func": die})


def die_after(tools: Sequence[Any], saver: Any, runs: int = 1) -> list[Any]:
    """The tools, after so many runs of which the next checkpoint is the end."""
    ran, put = list[str](), type(saver).put
    type(saver).put = lambda *given: die() if len(ran) >= runs else put(*given)  # LangGraph copies the saver

    def noting(tool: Any) -> Any:
        def run(**arguments: Any) -> Any:
            ran.append(tool.name)
            return tool.func(**arguments)

        return tool.model_copy(update={"func": run})

    return [noting(each) for each in tools]
