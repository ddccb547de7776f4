"""Tools for a model that calls them itself: every request carries the tools' forms (design 9.3)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from graph.tool.client_tool import ClientTool
from model.call.stream import Model
from model.modelset import ModelSet

_FORMS: dict[tuple[Any, ...], tuple[dict[str, Any], str]] = {}


def bind_tool_forms(models: ModelSet, tools: Sequence[BaseTool]) -> Model:
    """Returns the chat model with the tools bound to it."""
    return models.chat.bind_tools([_build_tool_form(tool)[0] for tool in tools]) if tools else models.chat


def count_native_form_tokens(models: ModelSet, tools: Sequence[BaseTool]) -> int:
    """Returns the tokens of the tools' forms as JSON, which is about how servers write the forms into the prompt."""
    return models.count("\n".join(_build_tool_form(tool)[1] for tool in tools)) if tools else 0


def hash_tool_forms(tools: Sequence[BaseTool]) -> str:
    """Returns a short mark of the tools' forms, which changes with any of them."""
    return hashlib.sha256("\n".join(_build_tool_form(tool)[1] for tool in tools).encode()).hexdigest()[:16]


def _build_tool_form(tool: BaseTool) -> tuple[dict[str, Any], str]:
    """Returns the tool in OpenAI's form, and that form as JSON. Builds both only once for tools that differ only in the
    session they reach."""
    if isinstance(tool, ClientTool):
        return tool.form, json.dumps(tool.form, ensure_ascii=False)
    key = (tool.name, tool.description, tool.args_schema)
    cacheable = isinstance(tool.args_schema, type)  # only a class can stand for its schema in the key
    if cacheable and key in _FORMS:
        return _FORMS[key]
    form = convert_to_openai_tool(tool)
    forms = (form, json.dumps(form, ensure_ascii=False))
    if cacheable:
        _FORMS[key] = forms
    return forms
