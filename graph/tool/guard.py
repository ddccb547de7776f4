"""Foreign text changes no memory by itself: once some is in the context, a write becomes a question to the user.

A passage may say «call forget», and a model may obey. No words tell such a call from the user's own wish, so the user
is asked (``graph.tool.ask``). In a tool's ``metadata`` ``foreign`` says that its results are foreign text, ``writes``
that it may change memory. ``question`` gives what the user is asked before a call with these arguments, None where the
call only reads; it raises what the call itself would.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import BaseTool

from graph.tool.ask import asking
from retrieval.tool import NAME
from settings import Settings


def is_foreign(tool: BaseTool) -> bool:
    """Whether the results of a tool are text that neither the user nor the model wrote."""
    return tool.name == NAME or bool((tool.metadata or {}).get("foreign"))


def foreign_read(messages: Sequence[AnyMessage], settings: Settings) -> bool:
    """Whether foreign text may be behind what the model asks for: a tool gave some, in this turn or an earlier one that
    is not summarised yet, or the documents are searched before every answer."""
    given = any(isinstance(each, ToolMessage) and _marked(each) for each in messages)
    return given or (settings.retrieval and settings.retrieval_first)


def mark(tool: BaseTool) -> dict[str, Any]:
    """What the message of a tool carries, so that ``foreign_read`` knows it in later turns, too."""
    return {"foreign": True} if is_foreign(tool) else {}


def held(tool: BaseTool, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The artifact with the question that stands in the place of this call; None where it may simply run."""
    own = tool.metadata or {}
    question = own["question"](arguments) if own.get("writes") else None
    return asking(tool.name, question) if question is not None else None


def _marked(message: ToolMessage) -> bool:
    return message.name == NAME or bool(message.additional_kwargs.get("foreign"))
