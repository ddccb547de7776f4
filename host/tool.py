"""A tool of a foreign server, as the agent gets it for one turn."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from host.entry import Permission
from store.turn.question import Action, UserAnswer, UserQuestion, read_call_answers, read_call_key

ABOUT_CHARS = 1_000
NAME_CHARS = 64
SCHEMA_CHARS = 20_000
BRANCHES, UNTAKEN = ("allOf", "anyOf", "oneOf"), ("not", "enum", "const")
"""What servers like OpenAI's refuse at the top of a schema: branches are merged, the rest is the tool's server's."""
MOST_STEPS = 10
"""References that follow each other."""
MOST_BRANCHES = 500
"""Branches of one schema that are read: a few lines can refer to each other without end."""

Run = Callable[[str, dict[str, Any], Mapping[str, UserAnswer]], tuple[str, dict[str, Any]]]
"""Calls the tool: key of the call, arguments, the user's answers; gives the text for the model and plain data."""


class ForeignTool(BaseTool):
    """A foreign tool. It asks before its first use and when its description has changed (specification 14.2)."""

    response_format: Any = "content_and_artifact"
    _permission: Permission = PrivateAttr("ask")
    _allowed: Callable[[], bool] = PrivateAttr()
    _allow: Callable[[], None] = PrivateAttr()
    _call: Run = PrivateAttr()

    def connect_server(
        self, permission: Permission, allowed: Callable[[], bool], allow: Callable[[], None], call: Run
    ) -> ForeignTool:
        """Gives the tool its way to the server, and to the answers that the user wants kept."""
        self._permission, self._allowed, self._allow, self._call = permission, allowed, allow, call
        return self

    @property
    def server(self) -> str:
        return str((self.metadata or {})["server"])

    def question(self, key: str, arguments: Mapping[str, Any]) -> UserQuestion | None:
        """Returns the question whether the tool may run; None when the user or the file has allowed it."""
        if self._permission == "allow" or self._allowed():
            return None
        return UserQuestion(key, "approve", key, self.name, server=self.server, arguments=dict(arguments))

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
        return self._call(read_call_key(configured), arguments, read_call_answers(configured))


def build_usable_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the schema of a tool's arguments in a form that every model's server takes; None for one that is none."""
    try:
        merged = _merge_branches({"type": "object", "properties": {}, **schema}, schema, count(1))
    except (AttributeError, TypeError, ValueError, RecursionError):  # a branch that is no object, or leads elsewhere
        return None
    schema = merged
    if schema["type"] != "object" or not isinstance(schema["properties"], dict):
        return None
    try:
        if len(json.dumps(schema)) > SCHEMA_CHARS:
            return None
        convert_to_openai_tool(ForeignTool(name="tool", description="tool", args_schema=schema))
    except Exception:  # a foreign schema may break the conversion in any way
        return None
    return schema


def _merge_branches(schema: Mapping[str, Any], root: Mapping[str, Any], read: Iterator[int]) -> dict[str, Any]:
    """Returns a schema of an object without branches at its top, which OpenAI and servers like it refuse: it takes what
    any branch takes, and demands what all of them demand. The tool's own server checks the rest. ``root``: where local
    references lead; ``read``: counts the schemas that were read. Raises ``AttributeError``, ``TypeError`` and
    ``ValueError`` for a branch that cannot be read."""
    if next(read) > MOST_BRANCHES:
        raise ValueError("too many branches")
    merged = {name: value for name, value in schema.items() if name not in (*BRANCHES, *UNTAKEN)}
    for kind in BRANCHES:
        if kind not in schema:
            continue
        branches = [_merge_branches(_follow_reference(branch, root), root, read) for branch in schema[kind]]
        properties = dict(merged.get("properties") or {})
        for branch in branches:
            if branch.get("type", "object") != "object":
                raise TypeError(f"a branch is no object: {kind}")
            for name, value in (branch.get("properties") or {}).items():
                same = name not in properties or properties[name] == value
                inner = "allOf" if kind == "allOf" else "anyOf"
                properties[name] = value if same else {inner: [properties[name], value]}
        demanded = [set(branch.get("required") or ()) for branch in branches]
        common = set[str]().union(*demanded) if kind == "allOf" else set.intersection(*demanded) if demanded else set()
        merged["properties"] = properties
        if required := [name for name in properties if name in {*(merged.get("required") or ()), *common}]:
            merged["required"] = required
    return merged


def _follow_reference(branch: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a branch, or what it refers to in the same schema. Raises ``TypeError`` and ``ValueError``."""
    for _ in range(MOST_STEPS):
        if not isinstance(branch, Mapping):
            raise TypeError("a branch is no object")
        place = branch.get("$ref")
        if place is None:
            return branch
        branch = root
        for name in str(place).removeprefix("#/").split("/"):
            branch = branch.get(name) if isinstance(branch, Mapping) else None
    raise ValueError("references in a circle")


def model_name(server: str, tool: str) -> str:
    """Returns the name by which a model calls a tool: the server's name before the tool's, cut where it is too long."""
    name = f"{server}__{re.sub(r'[^A-Za-z0-9_-]', '_', tool)}"
    if len(name) <= NAME_CHARS:
        return name
    mark = hashlib.sha256(tool.encode()).hexdigest()[:8]
    return f"{name[: NAME_CHARS - 9]}_{mark}"


def digest_foreign_tool(tool: str, description: str, schema: Mapping[str, Any]) -> str:
    """Returns what stands for a tool that the user has allowed: another description or schema is another tool."""
    whole = json.dumps([tool, description, schema], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(whole.encode()).hexdigest()
