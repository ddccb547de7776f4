"""The bundled sample dialogues as messages; one JSON file per dialogue.

``{"id", "language", "title", "turns": [{"user", "tools": [{"name", "arguments", "result"}], "answer", "facts"}]}``;
``facts`` lists by hand the facts that a reader may want to find again.
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
LISTS = DATA / "lists.json"


@dataclass(frozen=True)
class DialogueTurn:
    """One finished turn: the user's message, the tool calls with their results, the final answer."""

    messages: tuple[AnyMessage, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Dialogue:
    """A dialogue. ``held``: the dialogue is kept out of all tuning, so that its figures predict those of new
    dialogues."""

    id: str
    language: str
    title: str
    turns: tuple[DialogueTurn, ...]

    @property
    def held(self) -> bool:
        return self.id.startswith("held-")


def load(path: Path) -> Dialogue:
    """Reads one dialogue from its file."""
    return _dialogue(json.loads(path.read_text("utf-8")))


def lists() -> list[Dialogue]:
    """Returns the dialogues of three turns whose answers are full of lists, headings and names."""
    return [_dialogue(data) for data in json.loads(LISTS.read_text("utf-8"))]


def _dialogue(data: dict[str, Any]) -> Dialogue:
    turns = tuple(_turn(turn, number) for number, turn in enumerate(data["turns"], 1))
    return Dialogue(data["id"], data["language"], data.get("title", ""), turns)


def samples() -> list[Dialogue]:
    """Returns all sample dialogues, by file name."""
    return [load(path) for path in sorted(SAMPLES.glob("*.json"))]


def _turn(data: dict[str, Any], number: int) -> DialogueTurn:
    messages: list[AnyMessage] = [HumanMessage(data["user"])]
    for index, tool in enumerate(data.get("tools", [])):
        call = ToolCall(name=tool["name"], args=tool["arguments"], id=f"call-{number}-{index}")
        messages.append(AIMessage("", tool_calls=[call]))
        messages.append(ToolMessage(tool["result"], tool_call_id=call["id"], name=tool["name"]))
    return DialogueTurn((*messages, AIMessage(data["answer"])), tuple(data.get("facts", ())))
