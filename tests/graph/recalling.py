"""Conversations with values worth remembering, and models that fold them as a good one does."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import BaseMessage

from graph.turn.agent import Agent
from tests.graph.talk import SECONDS, done, say, settled, summarising
from tests.memory.models import faithful

__all__ = ["SECONDS", "settled"]


def folding(messages: list[BaseMessage]) -> str:
    """Folds, and makes summaries of exactly the asked length."""
    return faithful(messages) if "<memory>" in str(messages[1].content) else summarising(messages)


def noting(messages: list[BaseMessage]) -> str:
    """A short answer without a value."""
    return "Noted."


def fact(number: int) -> str:
    return f"My item {number} costs ${number}00."


def tell(agent: Agent, session: str, numbers: Iterable[int]) -> None:
    """Turns that each say one value, and the side work after them."""
    for number in numbers:
        done(say(agent, session, fact(number)))
        settled(agent)


def ready(agent: Agent) -> Agent:
    """The agent once it has reached Redis."""
    assert agent.memory is not None
    assert agent.memory.wait(SECONDS), agent.memory.away
    return agent


def remembered(agent: Agent, session: str) -> str:
    """Text and entities of a session's memory, and the profile that it sees."""
    assert agent.memory is not None
    view = agent.memory.reader.read_view(agent.tenant, session, "en", user=agent.user)
    return f"{view.whole}\n{view.entity_text}\n{view.profile_text}"


def asked(prompt: list[BaseMessage]) -> list[str]:
    """The questions of a prompt, with all that stands before them."""
    return [str(message.text) for message in prompt if message.type == "human"]
