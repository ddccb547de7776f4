"""Keeps foreign text from changing memory: once foreign text is in the context, a write becomes a question to the user.

A passage may say «call forget», and a model may obey. No words tell such a call from the user's own wish, so the user
is asked (``graph.tool.ask``). A tool's ``metadata`` has up to three entries for this. ``foreign``: the tool's results
are foreign text. ``writes``: the tool may change memory. ``question``: returns what the user is asked before a call
with these arguments, None when the call only reads; raises the errors of the call itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool

from graph.tool.ask import asking
from retrieval.answer.tool import NAME
from settings import Settings
from text.fence import has_frame

FOREIGN = "foreign"


def is_foreign(tool: BaseTool | None, artifact: Mapping[str, Any] | None = None) -> bool:
    """Returns whether a result is text that neither the user nor the model wrote. ``artifact``: of a result whose tool
    is foreign only at times, such as a search in earlier turns."""
    if tool is None:
        return False
    return tool.name == NAME or bool((tool.metadata or {}).get(FOREIGN)) or bool((artifact or {}).get(FOREIGN))


def foreign_read(messages: Sequence[AnyMessage], settings: Settings) -> bool:
    """Returns whether foreign text may have led the model to its call: a tool gave some or a client sent some, in this
    turn or in an earlier turn that is not summarised yet, or the documents are searched before every answer."""
    by_tool = any(isinstance(message, ToolMessage) and _marked(message) for message in messages)
    sent = any(isinstance(message, HumanMessage) and has_frame(str(message.text)) for message in messages)
    return by_tool or sent or (settings.retrieval and settings.retrieval_first)


def mark(foreign: bool) -> dict[str, Any]:
    """Returns the mark for the message of a tool, so that ``foreign_read`` knows foreign text in later turns, too."""
    return {FOREIGN: True} if foreign else {}


def held(tool: BaseTool, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the artifact with the question that replaces this call; None when the call may simply run."""
    metadata = tool.metadata or {}
    question = metadata["question"](arguments) if metadata.get("writes") else None
    return asking(tool.name, question) if question is not None else None


def _marked(message: ToolMessage) -> bool:
    return message.name == NAME or bool(message.additional_kwargs.get(FOREIGN))
