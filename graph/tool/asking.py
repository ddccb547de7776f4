"""Tools that ask the user: before they run, or while they run (``store.question``).

A tool that asks before it runs has the methods of ``Asking``. A tool that asks while it runs raises ``Waiting``; it is
called again once the user has answered, with the answers in its configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast, runtime_checkable

from langchain_core.messages import ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from store.question import Action, Answer, Question

_ANSWERS, _CALL = "answers", "call"


@runtime_checkable
class Asking(Protocol):
    """A tool that must ask before it runs."""

    def question(self, key: str, arguments: Mapping[str, Any]) -> Question | None:
        """Returns what the user is asked before the call ``key``, with ``key`` as its id; None when nothing is open."""

    def allow(self, action: Action) -> None:
        """Keeps an answer that holds for later calls, too; repeating the call changes nothing."""


def asking(name: str, tools: Sequence[BaseTool]) -> Asking | None:
    """Returns the tool of this name if it may ask before it runs."""
    tool: object = next((candidate for candidate in tools if candidate.name == name), None)
    return tool if isinstance(tool, Asking) else None


def asked_before(call: ToolCall, key: str, tools: Sequence[BaseTool]) -> Question | None:
    """Returns what the tool of a call asks before it runs; None when it asks nothing. ``key``: of the call, unique
    within the turn."""
    tool = asking(call["name"], tools)
    question = None if tool is None else tool.question(key, call["args"])
    return None if question is None else replace(question, call=str(call["id"]))


def with_answers(config: RunnableConfig, key: str, answers: Mapping[str, Answer]) -> RunnableConfig:
    """Returns the configuration of a call with the user's answers of this turn, by the ids of their questions."""
    return {**config, "configurable": {**config.get("configurable", {}), _CALL: key, _ANSWERS: dict(answers)}}


def answers_in(config: RunnableConfig) -> Mapping[str, Answer]:
    """Returns the user's answers that a tool is called with; none at its first call."""
    return cast("Mapping[str, Answer]", config.get("configurable", {}).get(_ANSWERS, {}))


def call_in(config: RunnableConfig) -> str:
    """Returns the key of the call that a tool runs for; empty outside a turn."""
    return str(config.get("configurable", {}).get(_CALL, ""))


def answer_in(config: RunnableConfig) -> Answer | None:
    """Returns the answer to the question that this very call asked before it ran."""
    return answers_in(config).get(call_in(config))
