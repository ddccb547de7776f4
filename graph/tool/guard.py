"""What a passage of a document may not bring about: a change to long-term memory that the user did not ask for.

Passages are data, but a model may take one for an instruction («call forget»). From the first search on, a tool that
changes something is run only for what the question itself shows; any model, however it calls its tools. Such a tool has
``refused`` in its ``metadata``: what the model is told then. Its ``cue`` and ``ground`` say what the question shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import BaseTool

from retrieval.tool import NAME
from settings import Settings


def documents_read(messages: Sequence[AnyMessage], settings: Settings) -> bool:
    """Whether passages may be behind what the model asks for: it searched, in this turn or an earlier one that is not
    summarised yet, or the documents are searched before every answer."""
    searched = any(isinstance(each, ToolMessage) and each.name == NAME for each in messages)
    return searched or (settings.retrieval and settings.retrieval_first)


def refusal(tool: BaseTool, arguments: Mapping[str, Any], question: str) -> str | None:
    """Why this call is not run; None when it may be: it changes nothing, or the question asks for it."""
    own = tool.metadata or {}
    if "refused" not in own or (own["cue"](question) and own["ground"](arguments, question) is not None):
        return None
    return str(own["refused"])
