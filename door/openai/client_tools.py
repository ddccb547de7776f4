"""The tools that a request brings, which its client runs itself: read from either form, completions' or responses'."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from graph.answer.json_form import JsonForm, find_schema_fault
from graph.tool.client_tool import NO_TOOLS, ClientTools
from server.refusal import build_field_refusal

MOST_TOOLS = 128
"""The most tools that OpenAI takes."""
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FIELDS = ("name", "description", "parameters", "strict")
Json = dict[str, Any]


def read_tools(fields: Mapping[str, Any]) -> tuple[ClientTools, bool]:
    """Returns the tools of a request, and whether it brings some that no model's server takes as functions. Raises
    ``Refusal``."""
    given = fields.get("tools") or []
    if not isinstance(given, list) or len(given) > MOST_TOOLS:
        raise build_field_refusal("tools", f"tools must be a list of at most {MOST_TOOLS} tools.")
    forms = [_read_function(at, tool) for at, tool in enumerate(given) if _read_kind(tool) == "function"]
    choice = _read_choice(fields.get("tool_choice"), [form["function"]["name"] for form in forms])
    parallel = fields.get("parallel_tool_calls")
    if fields.get("tool_choice") == "none" or not forms:
        return NO_TOOLS, len(forms) < len(given)
    tools = ClientTools(tuple(forms), choice, parallel if isinstance(parallel, bool) else None)
    return tools, len(forms) < len(given)


def make_tool_form(tools: ClientTools) -> JsonForm:
    """Returns the form of the arguments of the one tool that must be called, for a model that calls no tools itself: it
    can write them as an answer. Raises ``Refusal`` where there is a choice left."""
    function = tools.only_function
    if function is None:
        raise build_field_refusal(
            "tool_choice", "This model does not call tools itself: it can only be told to call a certain one."
        )
    schema = function.get("parameters") or {"type": "object"}
    if fault := find_schema_fault(schema):
        raise build_field_refusal(
            "tools", f"The parameters of {function['name']} are no schema: {fault}", "invalid_json_schema"
        )
    return JsonForm(schema, function["name"], str(function.get("description") or ""))


def _read_kind(tool: Any) -> str:
    return str(tool.get("type", "function")) if isinstance(tool, Mapping) else "function"


def _read_function(at: int, tool: Any) -> Json:
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str) or not _NAME.fullmatch(name):
        raise build_field_refusal(
            f"tools[{at}]", f"tools[{at}] must be a function with a name of at most 64 letters, digits, _ and -."
        )
    parameters = function.get("parameters")
    if parameters is not None and not isinstance(parameters, Mapping):
        raise build_field_refusal(f"tools[{at}]", f"tools[{at}]: parameters must be a JSON schema.")
    known = {field: function[field] for field in _FIELDS if function.get(field) is not None}
    return {"type": "function", "function": known}


def _read_choice(given: Any, names: list[str]) -> str | Json | None:
    """Returns the choice as a model's server takes it; None where the model may choose. Raises ``Refusal``."""
    if given in (None, "none", "auto"):
        return None
    if given == "required" and names:
        return "required"
    function = given.get("function", given) if isinstance(given, Mapping) else None
    if isinstance(function, Mapping) and function.get("name") in names:
        return {"type": "function", "function": {"name": function["name"]}}
    raise build_field_refusal(
        "tool_choice", "tool_choice must be none, auto, required, or the name of one of the tools."
    )
