# mypy: ignore-errors
"""What agents of Python's libraries do at the endpoint: python -P agent_libraries.py ADDRESS LIBRARY API writes what
they answer, as JSON. API: «chat» or «responses». It runs where ``.ci/clients`` has installed the libraries.

Each asks for the weather by a tool, wants the dog of its user in a form, and goes on with the same conversation.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from pydantic import BaseModel

ASKED = ("How warm is it in Busan?", "Which dog do I have, then?", "Thank you, that helps me a lot.")


class Dog(BaseModel):
    """The dog of the user."""

    name: str
    age: int


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny 31C in {city}"


async def run_openai_agents(address: str, api: str) -> list[Any]:
    """The Agents SDK of OpenAI: a hand-off to the agent with the tool, a session, one answer as a stream."""
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesModel,
        Runner,
        SQLiteSession,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    kind = OpenAIResponsesModel if api == "responses" else OpenAIChatCompletionsModel
    model = kind(model="gieok", openai_client=AsyncOpenAI(base_url=address, api_key="none", max_retries=0))
    knows = Agent(name="Weather agent", instructions="You know weather.", tools=[function_tool(weather)], model=model)
    first = Agent(name="Triage", instructions="You hand off.", handoffs=[knows], model=model)
    session = SQLiteSession("one")
    answers = [(await Runner.run(first, ASKED[0], session=session)).final_output]
    answers.append(
        (await Runner.run(knows.clone(output_type=Dog), ASKED[1], session=session)).final_output.model_dump()
    )
    streamed = Runner.run_streamed(knows, ASKED[2], session=session)
    async for _ in streamed.stream_events():
        pass
    return [*answers, streamed.final_output]


async def run_langchain(address: str, api: str) -> list[Any]:
    """An agent of LangChain on LangGraph's checkpoints; its form is a tool that it must call last."""
    from langchain.agents import create_agent
    from langchain.agents.structured_output import ToolStrategy
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    responds = api == "responses"
    model = ChatOpenAI(model="gieok", base_url=address, api_key="none", max_retries=0, use_responses_api=responds)
    saver, thread = InMemorySaver(), {"configurable": {"thread_id": "one"}}
    plain = create_agent(model, [weather], system_prompt="You help.", checkpointer=saver)
    forms = create_agent(model, [weather], response_format=ToolStrategy(Dog), checkpointer=saver)
    answers: list[Any] = []
    for agent, text in zip((plain, forms, plain), ASKED, strict=True):
        made = await agent.ainvoke({"messages": [{"role": "user", "content": text}]}, thread)
        answers.append(made["structured_response"].model_dump() if agent is forms else made["messages"][-1].text)
    return answers


async def run_pydantic_ai(address: str, api: str) -> list[Any]:
    """Agents of pydantic-ai, whose form is a tool that they must call last; one answer as a stream."""
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    kind = OpenAIResponsesModel if api == "responses" else OpenAIChatModel
    model = kind("gieok", provider=OpenAIProvider(base_url=address, api_key="none"))
    plain, forms = Agent(model, instructions="You help.", tools=[weather]), Agent(model, output_type=Dog)
    first = await plain.run(ASKED[0])
    second = await forms.run(ASKED[1], message_history=first.all_messages())
    async with plain.run_stream(ASKED[2], message_history=second.all_messages()) as streamed:
        return [first.output, second.output.model_dump(), await streamed.get_output()]


LIBRARIES = {"openai-agents": run_openai_agents, "langchain": run_langchain, "pydantic-ai": run_pydantic_ai}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(LIBRARIES[sys.argv[2]](sys.argv[1], sys.argv[3]))))
