"""A question that waits for the user's yes: what a tool would write into long-term memory.

It is plain data and stands as ``{"ask": …}`` in the ``artifact`` of the tool's step, so it is kept with its turn.
``graph.confirm`` answers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict, cast


class Kept(TypedDict):
    """A value to keep under its key."""

    key: str
    value: str


class Dropped(TypedDict):
    """Lines of memory to drop, by their texts. ``pick``: the user chooses among them, since no model did."""

    lines: list[str]
    pick: NotRequired[bool]


class _Question(TypedDict):
    answer: bool | None
    waits: NotRequired[bool]


class Remember(_Question):
    """Shall this be kept? ``answer``: what the user said, None while the question is open; ``waits``: the write takes
    effect once Redis is back."""

    tool: Literal["remember"]
    arguments: Kept


class Forget(_Question):
    """Shall these lines be dropped? ``chosen``: those that the user said yes to. Otherwise as ``Remember``."""

    tool: Literal["forget"]
    arguments: Dropped
    chosen: NotRequired[list[str]]


Ask = Remember | Forget


def asking(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The artifact of a step that asks the user."""
    return {"ask": {"tool": tool, "arguments": dict(arguments), "answer": None}}


def asked(artifact: Mapping[str, Any] | None) -> Ask | None:
    """The question in an artifact, if there is one; a step of an imported conversation may hold anything."""
    ask = (artifact or {}).get("ask")
    return cast(Ask, ask) if isinstance(ask, dict) and _fits(ask) else None


def _fits(ask: Mapping[str, Any]) -> bool:
    given = ask.get("arguments")
    if not isinstance(given, dict) or not (ask.get("answer") is None or isinstance(ask["answer"], bool)):
        return False
    if ask.get("tool") == "remember":
        return isinstance(given.get("key"), str) and isinstance(given.get("value"), str)
    lines = given.get("lines")
    return ask.get("tool") == "forget" and isinstance(lines, list) and all(isinstance(each, str) for each in lines)
