"""Tools for a model that calls them itself: their forms go to it with every request (design §9)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from model.modelset import ModelSet
from model.stream import Model

_FORMS: dict[tuple[Any, ...], tuple[dict[str, Any], str]] = {}


def prepare(models: ModelSet, tools: Sequence[BaseTool]) -> Model:
    """The chat model with the tools bound to it."""
    return models.chat.bind_tools([_form(tool)[0] for tool in tools]) if tools else models.chat


def form_tokens(models: ModelSet, tools: Sequence[BaseTool]) -> int:
    """Tokens of the tools' forms, as JSON, which is about how servers write them into the prompt."""
    return models.count("\n".join(_form(tool)[1] for tool in tools)) if tools else 0


def _form(tool: BaseTool) -> tuple[dict[str, Any], str]:
    """The tool in OpenAI's form, and that as JSON; made once for tools that differ only in the session they reach."""
    key = (tool.name, tool.description, tool.args_schema)
    known = isinstance(tool.args_schema, type)  # a schema that is no class has no identity to go by
    if known and key in _FORMS:
        return _FORMS[key]
    form = convert_to_openai_tool(tool)
    made = (form, json.dumps(form, ensure_ascii=False))
    if known:
        _FORMS[key] = made
    return made
