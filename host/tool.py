"""A tool of a foreign server, as the agent gets it for one turn."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from host.entry import Permission
from store.question import Action, Answer, Question, answers_in, call_in

ABOUT_CHARS = 1_000
NAME_CHARS = 64
SCHEMA_CHARS = 20_000

Run = Callable[[str, dict[str, Any], Mapping[str, Answer]], tuple[str, dict[str, Any]]]
"""Calls the tool: key of the call, arguments, the user's answers; gives the text for the model and plain data."""


class ForeignTool(BaseTool):
    """A foreign tool. It asks before its first use and when its description has changed (specification 14.2)."""

    response_format: Any = "content_and_artifact"
    _permission: Permission = PrivateAttr("ask")
    _allowed: Callable[[], bool] = PrivateAttr()
    _allow: Callable[[], None] = PrivateAttr()
    _call: Run = PrivateAttr()

    def connected(
        self, permission: Permission, allowed: Callable[[], bool], allow: Callable[[], None], call: Run
    ) -> ForeignTool:
        """Gives the tool its way to the server, and to the answers that the user wants kept."""
        self._permission, self._allowed, self._allow, self._call = permission, allowed, allow, call
        return self

    @property
    def server(self) -> str:
        return str((self.metadata or {})["server"])

    def question(self, key: str, arguments: Mapping[str, Any]) -> Question | None:
        """Returns the question whether the tool may run; None when the user or the file has allowed it."""
        if self._permission == "allow" or self._allowed():
            return None
        return Question(key, "approve", key, self.name, server=self.server, arguments=dict(arguments))

    def allow(self, action: Action) -> None:
        """Keeps «always»."""
        if action == "always":
            self._allow()

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Hands the arguments on as one object: a server may name them as it likes, also ``self`` or ``config``."""
        return (tool_input if isinstance(tool_input, dict) else {},), {}

    def _run(self, arguments: dict[str, Any], *, config: RunnableConfig) -> tuple[str, dict[str, Any]]:
        configured = config.get("configurable", {})
        return self._call(call_in(configured), arguments, answers_in(configured))


def usable(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the schema of a tool's arguments in a form that every model's server takes; None for one that is none."""
    schema = {"type": "object", "properties": {}, **schema}
    if schema["type"] != "object" or not isinstance(schema["properties"], dict):
        return None
    try:
        if len(json.dumps(schema)) > SCHEMA_CHARS:
            return None
        convert_to_openai_tool(ForeignTool(name="tool", description="tool", args_schema=schema))
    except Exception:  # a foreign schema may break the conversion in any way
        return None
    return schema


def model_name(server: str, tool: str) -> str:
    """Returns the name by which a model calls a tool: the server's name before the tool's, cut where it is too long."""
    name = f"{server}__{re.sub(r'[^A-Za-z0-9_-]', '_', tool)}"
    if len(name) <= NAME_CHARS:
        return name
    mark = hashlib.sha256(tool.encode()).hexdigest()[:8]
    return f"{name[: NAME_CHARS - 9]}_{mark}"


def digest(tool: str, description: str, schema: Mapping[str, Any]) -> str:
    """Returns what stands for a tool that the user has allowed: another description or schema is another tool."""
    whole = json.dumps([tool, description, schema], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(whole.encode()).hexdigest()
