"""The curator as a LangGraph agent: it reads the story with tools, reports, and edits its memory.

START ─▶ agent ⇄ tools
           ├─ no call yet ─▶ again ─▶ agent
           └─ no call any more, or the last round ─▶ END
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from pydantic import ValidationError

import prompt
from model.call.stream import Model, complete_answer
from text.cut import cut_graphemes
from world.curator.desk import Desk
from world.curator.material import build_agent_messages
from world.curator.tool import make_curator_tools

ROUNDS = 12
"""The most calls of the model."""
IDLE = 2
"""How many first rounds may pass without a tool call."""
RESULT_CHARS = 60_000


class CuratorFailed(Exception):
    """The error of an agent that called no tool or came to no end."""


class CuratorState(TypedDict):
    """``rounds``: calls of the model so far. ``called``: calls of tools so far."""

    messages: Annotated[list[AnyMessage], add_messages]
    rounds: int
    called: int


@dataclass(frozen=True)
class CuratorContext:
    """What the nodes use. ``again``: what a model is told that has called no tool. ``calls``: takes the answers."""

    model: Model
    tools: Mapping[str, BaseTool]
    again: str
    stop: threading.Event | None
    calls: list[AIMessage]


def agent_node(state: CuratorState, runtime: Runtime[CuratorContext]) -> dict[str, Any]:
    """Asks the model. Calls whose arguments are no JSON count as none."""
    answer = complete_answer(runtime.context.model, state["messages"], stop=runtime.context.stop)
    runtime.context.calls.append(answer)
    plain = AIMessage(answer.text, tool_calls=answer.tool_calls)
    return {"messages": [plain], "rounds": state["rounds"] + 1}


def run_curator_tools(state: CuratorState, runtime: Runtime[CuratorContext]) -> dict[str, Any]:
    """Runs the calls in order; a failure goes back to the model as text."""
    calls = _read_tool_calls(state)
    results = [
        ToolMessage(_call_curator_tool(call, runtime.context.tools), tool_call_id=str(call["id"])) for call in calls
    ]
    return {"messages": results, "called": state["called"] + len(calls)}


def again_node(state: CuratorState, runtime: Runtime[CuratorContext]) -> dict[str, Any]:
    """Tells the model that it has called no tool."""
    return {"messages": [HumanMessage(runtime.context.again)]}


def _call_curator_tool(call: ToolCall, known: Mapping[str, BaseTool]) -> str:
    tool = known.get(call["name"])
    if tool is None:
        return f"There is no tool {call['name']!r}. Available tools: {', '.join(known)}."
    try:
        return cut_graphemes(str(tool.invoke(call["args"])), RESULT_CHARS)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        return f"The arguments of {tool.name} are not valid: {problems}. Correct them and call again."


def _read_tool_calls(state: CuratorState) -> list[ToolCall]:
    last = state["messages"][-1]
    return last.tool_calls if isinstance(last, AIMessage) else []


def _route_curator(state: CuratorState) -> str:
    if state["rounds"] >= ROUNDS:
        return END
    if _read_tool_calls(state):
        return "tools"
    return END if state["called"] or state["rounds"] >= IDLE else "again"


def _build_curator_graph() -> Any:
    graph = StateGraph(CuratorState, context_schema=CuratorContext)
    graph.add_node("agent", agent_node)
    graph.add_node("tools", run_curator_tools)
    graph.add_node("again", again_node)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", _route_curator, ["tools", "again", END])
    graph.add_edge("tools", "agent")
    graph.add_edge("again", "agent")
    return graph.compile(checkpointer=False)


GRAPH = _build_curator_graph()


def curate_by_agent(desk: Desk, model: BaseChatModel, stop: threading.Event | None) -> int:
    """Lets the agent work at the desk; returns how often the model was called. Raises ``CuratorFailed``, ``Stopped``
    and the model's own errors."""
    known = {tool.name: tool for tool in make_curator_tools(desk)}
    again = prompt.render_prompt("world_curator_again", desk.language)
    context = CuratorContext(model.bind_tools(list(known.values())), known, again, stop, desk.calls)
    start = CuratorState(messages=build_agent_messages(desk), rounds=0, called=0)
    end: CuratorState = GRAPH.invoke(start, {"recursion_limit": 4 * ROUNDS}, context=context)
    if not end["called"]:
        raise CuratorFailed("the model called no tool")
    if _read_tool_calls(end):
        raise CuratorFailed(f"the model came to no end in {ROUNDS} rounds")
    return end["rounds"]
