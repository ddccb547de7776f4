"""Turns that are more than a text: requests with everything that a client may send."""

from __future__ import annotations

import threading
from typing import Any

from graph.turn.agent import Agent
from graph.turn.event import Event
from graph.turn.request import Request
from model.scripted import ScriptedModel


def ask(agent: Agent, session: str, text: str = "", **parts: Any) -> list[Event]:
    """One whole turn, run in this thread."""
    events = list[Event]()
    end = agent.turn(Request(session, text=text, **parts), threading.Event(), events.append)
    return [*events, end]


def chat_model(agent: Agent) -> ScriptedModel:
    model = agent.models().chat
    assert isinstance(model, ScriptedModel)
    return model


def bound(agent: Agent) -> dict[str, Any]:
    """What was bound to the last call for an answer, without the tools."""
    return {name: value for name, value in chat_model(agent).bound_arguments[-1].items() if name != "tools"}
