"""A question that waits for the user's yes: may a tool write to long-term memory?

The question is plain data. It stands as ``{"ask": …}`` in the ``artifact`` of the tool's step, so it is stored with the
turn. ``graph.turn.memory.confirm`` answers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict, cast


class KeptValue(TypedDict):
    """A value to keep under its key."""

    key: str
    value: str


class Dropped(TypedDict):
    """Lines of memory to drop, by their texts. ``pick``: the user chooses among them, because no model chose."""

    lines: list[str]
    pick: NotRequired[bool]


class _MemoryQuestion(TypedDict):
    answer: bool | None
    waits: NotRequired[bool]


class Remember(_MemoryQuestion):
    """The question whether to keep a value. ``answer``: the user's answer, None while the question is open; ``waits``:
    the write takes effect once Redis is back."""

    tool: Literal["remember"]
    arguments: KeptValue


class Forget(_MemoryQuestion):
    """The question whether to drop lines. ``chosen``: the lines that the user agreed to drop. Otherwise as
    ``Remember``."""

    tool: Literal["forget"]
    arguments: Dropped
    chosen: NotRequired[list[str]]


Ask = Remember | Forget


def build_ask_artifact(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the artifact of a step that asks the user."""
    return {"ask": {"tool": tool, "arguments": dict(arguments), "answer": None}}


def read_memory_ask(artifact: Mapping[str, Any] | None) -> Ask | None:
    """Returns the question in an artifact, or None; a step of an imported conversation may hold anything."""
    ask = (artifact or {}).get("ask")
    return cast(Ask, ask) if isinstance(ask, dict) and _is_ask_valid(ask) else None


def _is_ask_valid(ask: Mapping[str, Any]) -> bool:
    arguments = ask.get("arguments")
    if not isinstance(arguments, dict) or not (ask.get("answer") is None or isinstance(ask["answer"], bool)):
        return False
    if ask.get("tool") == "remember":
        return isinstance(arguments.get("key"), str) and isinstance(arguments.get("value"), str)
    lines = arguments.get("lines")
    return ask.get("tool") == "forget" and isinstance(lines, list) and all(isinstance(line, str) for line in lines)
