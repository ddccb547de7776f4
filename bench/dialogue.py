"""The bundled sample dialogues as messages; one JSON file each.

``{"id", "language", "title", "turns": [{"user", "tools": [{"name", "arguments", "result"}], "answer", "facts"}]}``;
``facts`` are what a reader would want to find again, listed by hand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage

DATA = Path(__file__).parent / "data"
SAMPLES = DATA / "dialogue"
LONG = DATA / "long.json"


@dataclass(frozen=True)
class Turn:
    """One finished turn: the user's message, the tool calls with their results, the final answer."""

    messages: tuple[AnyMessage, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Dialogue:
    """A dialogue. ``held``: kept out of all tuning, so that its figures say what to expect of new ones."""

    id: str
    language: str
    title: str
    turns: tuple[Turn, ...]

    @property
    def held(self) -> bool:
        return self.id.startswith("held-")


def load(path: Path) -> Dialogue:
    """Read one dialogue."""
    data = json.loads(path.read_text("utf-8"))
    turns = tuple(_turn(each, number) for number, each in enumerate(data["turns"], 1))
    return Dialogue(data["id"], data["language"], data["title"], turns)


def samples() -> list[Dialogue]:
    """All sample dialogues, by file name."""
    return [load(path) for path in sorted(SAMPLES.glob("*.json"))]


def _turn(data: dict[str, Any], number: int) -> Turn:
    messages: list[AnyMessage] = [HumanMessage(data["user"])]
    for index, tool in enumerate(data.get("tools", [])):
        call = ToolCall(name=tool["name"], args=tool["arguments"], id=f"call-{number}-{index}")
        messages.append(AIMessage("", tool_calls=[call]))
        messages.append(ToolMessage(tool["result"], tool_call_id=call["id"], name=tool["name"]))
    return Turn((*messages, AIMessage(data["answer"])), tuple(data.get("facts", ())))
