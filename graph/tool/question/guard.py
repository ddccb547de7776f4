"""Keeps text of others from changing memory: once it stands in the prompt, a write becomes a question to the user.

A passage may say «call forget», and a model may obey; so may a tool's description, a client's system text, an image, or
an answer of last week that repeats one of them. No words tell such a call from the user's own wish, so the user is
asked (``graph.tool.question.ask``), unless the user's own message of this turn says all that the call would change.

Whether the prompt holds text of others is a mark of its turn that code sets (``store.turn.foreign``,
``graph.turn.runtime.TurnContext.note_foreign``). A tool's ``metadata`` has entries for this. ``foreign``: the tool's
results are text of others. ``server``: another program describes the tool; ``client``: a client does; ``described``: a
description of ours names what stands in documents. ``writes``: the tool may change memory.
``question``: returns what the user is asked before a call with these arguments, None when the call only reads; raises
the errors of the call itself. ``is_said``: returns whether the user's message says all that such a call changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool

from graph.context.turns import find_current_messages
from graph.tool.question.ask import build_ask_artifact
from retrieval.answer.tool import NAME
from text.fence import has_frame, remove_frames

FOREIGN = "foreign"
CLIENT = "client"
"""The mark of a tool that a client brought, with its own description."""
DEMANDED = "demanded"
"""The mark of a call in place of which the client wanted no words: it let the model do nothing but call a tool."""
DESCRIBED = "described"
"""The mark of a tool whose description, though ours, has text of documents in it."""


def is_foreign(tool: BaseTool | None, artifact: Mapping[str, Any] | None = None) -> bool:
    """Returns whether a result is text that neither the user nor the model wrote. ``artifact``: of a result whose tool
    is foreign only at times, such as a search in earlier turns."""
    if tool is None:
        return False
    return tool.name == NAME or bool((tool.metadata or {}).get(FOREIGN)) or bool((artifact or {}).get(FOREIGN))


def is_described_by_others(tool: BaseTool) -> bool:
    """Returns whether text of others stands in the description with which the model is offered this tool."""
    metadata = tool.metadata or {}
    return any(metadata.get(mark) for mark in ("server", CLIENT, DESCRIBED))


def read_foreign(messages: Sequence[AnyMessage]) -> bool:
    """Returns whether raw messages hold text of others: results of tools, or what a client sent along."""
    by_tool = any(isinstance(message, ToolMessage) and _is_marked(message) for message in messages)
    return by_tool or any(isinstance(message, HumanMessage) and has_frame(str(message.text)) for message in messages)


def make_foreign_mark(foreign: bool) -> dict[str, Any]:
    """Returns the mark for the message of a tool, so that ``read_foreign`` knows text of others in later turns, too."""
    return {FOREIGN: True} if foreign else {}


def make_question(tool: BaseTool, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the artifact with the question that replaces this call; None when the call may simply run."""
    metadata = tool.metadata or {}
    question = metadata["question"](arguments) if metadata.get("writes") else None
    return build_ask_artifact(tool.name, question) if question is not None else None


def is_own_wish(tool: BaseTool, arguments: Mapping[str, Any], messages: Sequence[AnyMessage]) -> bool:
    """Returns whether the user's own message of this turn says all that a call changes, so that nobody need be asked.

    What a tool gave in this very turn stands nearer to the call than the message does; then it counts for nothing.
    """
    is_said = (tool.metadata or {}).get("is_said")
    if is_said is None or read_foreign(find_current_messages(messages)):
        return False
    question, *_ = find_current_messages(messages)
    return bool(is_said(arguments, remove_frames(str(question.text))))


def _is_marked(message: ToolMessage) -> bool:
    return message.name == NAME or bool(message.additional_kwargs.get(FOREIGN))
