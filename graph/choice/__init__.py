"""Chooses tools: the model itself (``native``), or a router before the model is asked (``routed``) (design 9.3).

Shows ``choose_tool_calls`` to the nodes; ``bench.train.router`` learns the router's weights from its examples.
May import ``graph.tool``, ``graph.context``, ``model``, ``retrieval.answer``, ``prompt`` and ``text``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from langchain_core.messages import AnyMessage, HumanMessage, ToolCall
from langchain_core.tools import BaseTool

from graph.choice import native, routed
from graph.choice.expression import Sum
from graph.context.clock import Clock, read_local_time
from graph.context.prompt import Layout
from graph.context.turns import find_current_messages
from graph.tool.tool_call import make_call
from model.call.stream import Model
from model.modelset import ModelSet
from model.profile import Profile
from retrieval.answer.tool import MEANT, QUERY_CHARS
from text.fence import find_words


def choose_prompt_layout(profile: Profile) -> Layout:
    """Returns how tools and memory stand in the prompt."""
    if profile.tools == "native":
        return "messages"
    return "bare" if profile.prompt == "bare" else "inline"


def prepare_chat_model(models: ModelSet, tools: Sequence[BaseTool]) -> Model:
    """Returns the chat model; binds the tools to it when the model calls tools itself."""
    return native.bind_tool_forms(models, tools) if models.profile.tools == "native" else models.chat


def form_mark(profile: Profile, tools: Sequence[BaseTool]) -> str:
    """Returns the mark of the tools' forms; empty when a router chooses, because no forms are sent then."""
    return native.hash_tool_forms(tools) if profile.tools == "native" and tools else ""


def count_form_tokens(models: ModelSet, tools: Sequence[BaseTool]) -> int:
    """Returns the tokens that the tools' JSON forms take beside the messages; 0 when a router chooses."""
    return native.count_native_form_tokens(models, tools) if models.profile.tools == "native" else 0


def choose_tool_calls(
    profile: Profile,
    tools: Sequence[BaseTool],
    messages: Sequence[AnyMessage],
    write: Callable[[Sum], str | None] = lambda asked: None,
    now: Clock = read_local_time,
) -> list[ToolCall]:
    """Returns the calls that run before the model is asked for the answer; none when the model calls tools itself.

    ``write``: has the model write the expression of a sum; returns None when there is none to trust. ``now``: the
    clock of the turn.
    """
    if profile.tools == "native" or not tools:
        return []
    question, *_ = turn = find_current_messages(messages)
    earlier = [find_words(str(it.text)) for it in messages[: -len(turn)] if isinstance(it, HumanMessage)]
    text = find_words(str(question.text))
    asked = Sum.read(text, _last_sum(messages[: -len(turn)]), now())
    return routed.route_tool_calls(text, earlier, tools, partial(write, asked), now) or _make_file_search_calls(
        text, tools
    )


def _last_sum(earlier: Sequence[AnyMessage]) -> tuple[str, str] | None:
    """Returns the question and the expression of the turn before; None when that turn calculated nothing."""
    formula = ""
    for message in reversed(earlier):
        if isinstance(message, HumanMessage):
            return (str(message.text), formula) if formula else None
        sums = [call for call in getattr(message, "tool_calls", ()) if call["name"] == "calculate"]
        formula = formula or (str(sums[-1]["args"].get("expression") or "") if sums else "")
    return None


def _make_file_search_calls(question: str, tools: Sequence[BaseTool]) -> list[ToolCall]:
    """Returns the calls that search the files of the question; none when no files came with it."""
    names = [tool.name for tool in tools if (tool.metadata or {}).get(MEANT)]
    query = {"query": question[:QUERY_CHARS]}
    return [make_call(name, query) for name in names]
