"""Tools that ask the user: before they run, or while they run (``store.turn.question``).

A tool that asks before it runs has the methods of ``AskingTool``. A tool that asks while it runs raises ``Waiting``; it
is called again once the user has answered, with the answers in its configuration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from store.turn import question
from store.turn.question import Action, UserAnswer, UserQuestion, build_call_configuration


@runtime_checkable
class AskingTool(Protocol):
    """A tool that must ask before it runs."""

    def question(self, key: str, arguments: Mapping[str, Any]) -> UserQuestion | None:
        """Returns what the user is asked before the call ``key``, with ``key`` as its id; None when nothing is open."""

    def allow(self, action: Action) -> None:
        """Keeps an answer that holds for later calls, too; repeating the call changes nothing."""


def find_asking_tool(name: str, tools: Sequence[BaseTool]) -> AskingTool | None:
    """Returns the tool of this name if it may ask before it runs."""
    tool: object = next((candidate for candidate in tools if candidate.name == name), None)
    return tool if isinstance(tool, AskingTool) else None


def asked_before(call: ToolCall, key: str, tools: Sequence[BaseTool]) -> UserQuestion | None:
    """Returns what the tool of a call asks before it runs; None when it asks nothing. ``key``: of the call, unique
    within the turn."""
    tool = find_asking_tool(call["name"], tools)
    asked = None if tool is None else tool.question(key, call["args"])
    return None if asked is None else replace(asked, call=str(call["id"]))


def with_answers(config: RunnableConfig, key: str, answers: Mapping[str, UserAnswer]) -> RunnableConfig:
    """Returns the configuration of a call with the user's answers of this turn, by the ids of their questions."""
    return {**config, "configurable": {**config.get("configurable", {}), **build_call_configuration(key, answers)}}


def read_config_answers(config: RunnableConfig) -> Mapping[str, UserAnswer]:
    """Returns the user's answers that a tool is called with; none at its first call."""
    return question.read_call_answers(config.get("configurable", {}))


def read_config_call(config: RunnableConfig) -> str:
    """Returns the key of the call that a tool runs for; empty outside a turn."""
    return question.read_call_key(config.get("configurable", {}))


def answer_in(config: RunnableConfig) -> UserAnswer | None:
    """Returns the answer to the question that this very call asked before it ran."""
    return read_config_answers(config).get(read_config_call(config))
