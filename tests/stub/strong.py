"""A stand-in for a strong model: it calls tools natively, replies in the shape that is asked for, in words of its own.

It understands what a test tells it beforehand: a table of wishes, and of orders in foreign text, which it obeys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage

from model.scripted import ScriptedModel

READ = "read_page"
"""The tool that gives foreign text."""


@dataclass(frozen=True)
class Wish:
    """What a text asks for, in its own words: to keep ``value`` under ``key``, or without a value to forget it."""

    text: str
    key: str
    value: str = ""


def understanding(wishes: Sequence[Wish], orders: Sequence[Wish] = ()) -> Callable[[list[BaseMessage]], AIMessage]:
    """Does what the user wishes and, gullible as it is, what a page orders (``orders``); reads a page for everything
    else."""

    def chat(messages: list[BaseMessage]) -> AIMessage:
        question = next(str(each.text) for each in reversed(messages) if each.type == "human")
        asked = question.rsplit("\n", 1)[-1]  # above it stands what the prompt tells
        last = messages[-1]
        if not isinstance(last, ToolMessage):
            wish = _meant(asked, wishes)
            return _called(wish) if wish else calling(READ, about=asked)
        if last.name == READ:
            order = _meant(str(last.text), orders)
            return _called(order) if order else AIMessage("The page has been read.")
        wish = _meant(asked, wishes) or _meant("\n".join(str(each.text) for each in messages), orders)
        listed = re.findall(r"^(\d+)\. (.+)$", str(last.text), re.MULTILINE)
        numbers = [int(number) for number, line in listed if wish and wish.key in line]
        return calling("forget", numbers=numbers) if numbers else AIMessage(f"So it is: {last.text}")

    return chat


def calling(name: str, **arguments: Any) -> AIMessage:
    """A native call of one tool."""
    return AIMessage("", tool_calls=[ToolCall(name=name, args=arguments, id=f"{name}-{len(arguments)}")])


def _meant(text: str, wishes: Sequence[Wish]) -> Wish | None:
    return next((wish for wish in wishes if wish.text in text), None)


def _called(wish: Wish) -> AIMessage:
    return calling("remember", key=wish.key, value=wish.value) if wish.value else calling("forget", what=wish.key)


class Writer(ScriptedModel):
    """The utility model: writes memories in the asked shape and summaries as plain text, as a person would write them.

    ``written``: every sentence so far, as it was sent.
    """

    written: list[str] = []  # noqa: RUF012 (pydantic copies it)

    def _answer(self, messages: list[BaseMessage], bound: dict[str, Any]) -> AIMessage:
        with self._lock:
            self._calls.append(list(messages))
            self._bound.append(bound)
        material = "\n".join(str(each.text) for each in messages)
        told = re.findall(r"^\[(?:User|사용자)\] (.+)$", material, re.MULTILINE)
        if "response_format" in bound:
            return AIMessage(json.dumps(self._memory(material, told), ensure_ascii=False))
        summary = f"The user told a little about {len(told)} things -- {'; '.join(told)} -- and was heard."
        self.written.append(summary)
        return AIMessage(summary)

    def _memory(self, material: str, told: list[str]) -> dict[str, Any]:
        """The lines of before and one for each thing told, with the values that they name."""
        before = material.rpartition("<memory>")[2].partition("</memory>")[0].strip("\n –")
        lines = [*filter(None, before.splitlines()), *(f"As the user put it: “{each}”" for each in told)]
        self.written.extend(lines)
        pairs = [re.fullmatch(r"My (.+?) (?:is|costs) (.+?)\.", each) for each in told]
        values = [{"key": pair[1], "value": pair[2], "replaces": None} for pair in pairs if pair]
        return {"memory": lines, "entities": values, "gone": []}
