"""The agent's graph: nodes and edges (design 2.1). LangGraph's own tools load ``graph``; it needs no key and no UI."""

from __future__ import annotations

from functools import cache
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graph.node.ask import ask_node
from graph.node.casual import casual_node, wants_casual
from graph.node.llm import llm_node
from graph.node.summary import is_summary_due, summary_node
from graph.node.tool import tool_node
from graph.state import ChatState
from graph.turn.runtime import TurnContext, read_turn_context

Graph = CompiledStateGraph[ChatState, TurnContext, Any, Any]


def compile_chat_graph(saver: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """Compiles the graph; ``saver`` stores the state of sessions."""
    return _wire_chat_graph().compile(checkpointer=saver)


@cache
def _wire_chat_graph() -> StateGraph[ChatState, TurnContext, Any, Any]:
    wires = StateGraph(ChatState, context_schema=TurnContext)
    wires.add_node("casual_node", casual_node)
    wires.add_node("summary_node", summary_node)
    wires.add_node("llm_node", llm_node)
    wires.add_node("ask_node", ask_node)
    wires.add_node("tool_node", tool_node)
    wires.add_conditional_edges(START, _choose_first_node, ["casual_node", "summary_node", "llm_node"])
    wires.add_edge("summary_node", "llm_node")
    wires.add_conditional_edges("llm_node", _choose_next_node, ["tool_node", END])
    wires.add_edge("ask_node", "tool_node")
    wires.add_conditional_edges("tool_node", _after_tools, ["ask_node", "llm_node"])
    wires.add_edge("casual_node", END)
    return wires


def _choose_first_node(state: ChatState, runtime: Runtime[TurnContext]) -> str:
    turn = read_turn_context(runtime)
    # a role of its own greets in that role; an image is no greeting; forms and tools go with the whole prompt
    inputs = turn.inputs
    full = inputs.own_role or inputs.images or inputs.limits.form or inputs.client_tools.forms
    if not full and wants_casual(state, turn.models.profile):
        return "casual_node"
    return "summary_node" if is_summary_due(state) else "llm_node"  # saves two turns of three a step and a checkpoint


def _choose_next_node(state: ChatState) -> str:
    last = state["messages"][-1] if state["messages"] else None  # none: summaries cover the whole new state
    return "tool_node" if isinstance(last, AIMessage) and last.tool_calls else END


def _after_tools(state: ChatState) -> str:
    return "ask_node" if state.get("asked") else "llm_node"


graph = compile_chat_graph()
