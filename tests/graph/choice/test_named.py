"""A small model calls a foreign tool that its user names, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from graph.choice import named
from graph.turn.agent import Agent
from graph.turn.event import ToolFinished, ToolStarted
from model.profile import SMALL
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, only, prompts, say
from tests.graph.test_conversation import NewSession
from tests.table import table

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
}


def foreign(schema: dict[str, Any] | None = None) -> BaseTool:
    def run(**arguments: Any) -> str:
        return f"forecast: {sorted(arguments.items())}"

    schema = SCHEMA if schema is None else schema
    return StructuredTool(name="weather__forecast", description="The weather.", args_schema=schema, func=run)


def opened(agent: OpenAgent, *script: Any, tool: BaseTool | None = None) -> Agent:
    bot = agent(list(script), profile=SMALL)
    return replace(bot, tools=[*bot.tools, tool or foreign()])


@table(
    ("text", "found"),
    [
        ("/tool a__b Seoul tomorrow", ("a__b", "Seoul tomorrow")),
        ("  /tool a__b\n여러 줄\n입니다 ", ("a__b", "여러 줄\n입니다")),
        ("/tool a__b", ("a__b", "")),
        ("/tools a__b", None),
        ("use /tool a__b", None),
        ("/tool", None),
    ],
)
def test_only_the_beginning_of_a_message_names_a_tool(text: str, found: tuple[str, str] | None) -> None:
    assert named.read_named_tool(text) == found


def test_the_model_writes_the_arguments_and_answers(agent: OpenAgent, session: NewSession) -> None:
    bot = opened(agent, '{"city": "Seoul", "days": 2}', "It will rain.")
    events = say(bot, session(bot), "/tool weather__forecast Seoul, two days")
    assert done(events).answer == "It will rain."
    assert [started.arguments for started in only(events, ToolStarted)] == [{"city": "Seoul", "days": 2}]
    asked = prompts(bot)[0]
    assert "weather__forecast" in str(asked[-2].text)
    assert str(asked[-1].text) == "Seoul, two days"
    assert done(events).usage.calls == 2


def test_a_tool_that_takes_nothing_needs_no_call_of_the_model(agent: OpenAgent, session: NewSession) -> None:
    bot = opened(agent, "All is well.", tool=foreign({"type": "object", "properties": {}}))
    events = say(bot, session(bot), "/tool weather__forecast")
    assert done(events).answer == "All is well."
    assert done(events).usage.calls == 1


@pytest.mark.parametrize("reply", ["no idea", '{"days": 0}'])
def test_arguments_that_are_none_go_back_as_a_failure(agent: OpenAgent, session: NewSession, reply: str) -> None:
    def strict(**arguments: Any) -> str:
        if "city" not in arguments:
            raise ValueError("city is missing")
        return "fine"

    tool = StructuredTool(name="weather__forecast", description="Weather.", args_schema=SCHEMA, func=strict)
    bot = opened(agent, reply, "I do not know.", tool=tool)
    events = say(bot, session(bot), "/tool weather__forecast tomorrow")
    assert done(events).answer == "I do not know."
    assert [finished.ok for finished in only(events, ToolFinished)] == [False]


def test_an_unnamed_tool_is_not_called(agent: OpenAgent, session: NewSession) -> None:
    bot = opened(agent, "Ask the weather service.")
    events = say(bot, session(bot), "weather__forecast에 대해 자세히 알려줘")
    assert only(events, ToolStarted) == []
