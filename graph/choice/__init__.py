"""Chooses tools: the model itself (``native``), or a router before the model is asked (``routed``) (design 9.3)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from langchain_core.messages import AnyMessage, HumanMessage, ToolCall
from langchain_core.tools import BaseTool

from graph.choice import native, routed
from graph.context.prompt import Layout
from graph.context.turns import current
from model.call.stream import Model
from model.modelset import ModelSet
from model.profile import Profile
from retrieval.answer.tool import MEANT, QUERY_CHARS


def layout(profile: Profile) -> Layout:
    """Returns how tools and memory stand in the prompt."""
    if profile.tools == "native":
        return "messages"
    return "bare" if profile.prompt == "bare" else "inline"


def prepare(models: ModelSet, tools: Sequence[BaseTool]) -> Model:
    """Returns the chat model; binds the tools to it when the model calls tools itself."""
    return native.prepare(models, tools) if models.profile.tools == "native" else models.chat


def form_tokens(models: ModelSet, tools: Sequence[BaseTool]) -> int:
    """Returns the tokens that the tools' JSON forms take beside the messages; 0 when a router chooses."""
    return native.form_tokens(models, tools) if models.profile.tools == "native" else 0


def choose(profile: Profile, tools: Sequence[BaseTool], messages: Sequence[AnyMessage]) -> list[ToolCall]:
    """Returns the calls that run before the model is asked; none when the model calls tools itself."""
    if profile.tools == "native" or not tools:
        return []
    question, *_ = turn = current(messages)
    earlier = [str(message.text) for message in messages[: -len(turn)] if isinstance(message, HumanMessage)]
    text = str(question.text)
    return routed.choose(text, earlier, tools) or _meant(text, tools)


def _meant(question: str, tools: Sequence[BaseTool]) -> list[ToolCall]:
    """Returns the calls that search the files of the question; none when no files came with it."""
    names = [tool.name for tool in tools if (tool.metadata or {}).get(MEANT)]
    query = {"query": question[:QUERY_CHARS]}
    return [ToolCall(name=name, args=query, id=uuid4().hex, type="tool_call") for name in names]
