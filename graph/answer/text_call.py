"""Tool calls that a model writes as text, because its server does not know the model's own form of a call.

Seen of Qwen and Hermes (``<tool_call>{…}</tool_call>``), Mistral (``[TOOL_CALLS]``), Llama (``<|python_tag|>`` or plain
JSON), and of many small models: one block of JSON and nothing else. Only a call of an offered tool is one; all else
stays the text that it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolCall

from graph.tool.tool_call import make_call
from text.answer.markdown_code import is_in_code
from text.clean import parse_json
from text.cut import find_overlap

OPENING = "<tool_call>"
_INTROS = ("", "```", "```json", "```tool_call", "```tool_code", "[tool_calls]", "<|python_tag|>")
_OBJECTS = ('{"name":"', '[{"name":"', '{"type":"function"', '[{"type":"function"', '{"function":{"name":"')
_BEGINNINGS = tuple(f"{intro}{opened}" for intro in _INTROS for opened in _OBJECTS)
_HEAD = 400
"""Characters of an answer that show whether it begins with a call."""
_NAMED = re.compile(r'"name":"([^"]*)"')
_SPACE = re.compile(r"\s+")
_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(r"\A```\w*\s*(.*?)\s*(?:```)?\s*\Z", re.DOTALL)
_FUNCTION = re.compile(r"\A<function=([^>\s]+)>\s*(.*?)\s*(?:</function>)?\Z", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


@dataclass
class TextCalls:
    """Watches one answer for calls of the tools ``names``; with no names it lets everything through."""

    names: Collection[str]
    _held: str = ""
    _shown: str = ""
    _is_begun: bool = False
    _is_call: bool = False

    def feed(self, text: str) -> str:
        """Takes the next piece; returns the text that can be shown now: none of what may be a call."""
        if not self.names:
            return text
        self._held += text
        if self._is_call or (not self._is_begun and self._may_begin_with_call()):
            return ""
        self._is_begun = True
        at = self._held.find(OPENING)
        while at >= 0 and is_in_code(self._shown + self._held[:at]):
            at = self._held.find(OPENING, at + 1)
        self._is_call = at >= 0
        end = at if self._is_call else len(self._held) - find_overlap(self._held, OPENING)
        piece, self._held = self._held[:end], self._held[end:]
        self._shown += piece
        return piece

    def end(self) -> tuple[str, list[ToolCall]]:
        """Returns what was held back: as text, or as calls where all of it is calls of offered tools."""
        held, self._held = self._held, ""
        calls = list(_read_calls(held)) if held.strip() else []
        if calls and all(call["name"] in self.names for call in calls):
            return "", calls
        return held, []

    def end_as_text(self) -> str:
        """Returns what was held back, whatever it is."""
        held, self._held = self._held, ""
        return held

    def _may_begin_with_call(self) -> bool:
        """Returns whether the answer so far is the beginning of a call that takes all of it."""
        start = _SPACE.sub("", self._held[:_HEAD]).lower()
        if not any(start.startswith(each) or each.startswith(start) for each in _BEGINNINGS):
            return False
        named = _NAMED.search(start)
        return named is None or named[1] in {name.lower() for name in self.names}


def _read_calls(text: str) -> Iterator[ToolCall]:
    """Yields the calls of a text that holds nothing else; a last call without any name where it holds other things."""
    tagged = _TAGGED.findall(text) if OPENING in text else [_without_frame(text)]
    for body in tagged:
        if function := _FUNCTION.match(body):
            yield make_call(
                function[1], {name: _read_parameter(value) for name, value in _PARAMETER.findall(function[2])}
            )
            continue
        values = _read_values(body)
        if not values:
            yield make_call("", {})
        for value in values:
            function = value.get("function")
            yield _read_call(function if isinstance(function, dict) else value)


def _read_call(value: dict[str, Any]) -> ToolCall:
    """Returns the call that an object is; one without a name for any other object."""
    name, arguments = value.get("name"), value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        arguments = next(iter(_read_values(arguments)), None)
    if isinstance(name, str) and isinstance(arguments, dict):
        return make_call(name, arguments)
    return make_call("", {})


def _without_frame(text: str) -> str:
    """Returns the JSON of an answer without the mark or the fence around it."""
    text = text.strip()
    if fenced := _FENCED.match(text):
        return fenced[1]
    for mark in ("[TOOL_CALLS]", "<|python_tag|>"):
        text = text.removeprefix(mark)
    return text.strip()


def _read_values(text: str) -> list[dict[str, Any]]:
    """Returns the objects of a JSON text: one, a list, or several one after the other; none where it is anything
    else."""
    found, text = list[Any](), text.strip().rstrip(";")
    while text:
        try:
            value, end = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            return []
        found += value if isinstance(value, list) else [value]
        text = text[end:].strip().lstrip(",;").strip()
    return found if all(isinstance(each, dict) for each in found) else []


def _read_parameter(text: str) -> Any:
    """Returns a parameter that stands between tags: JSON where it is JSON, else its text."""
    try:
        return parse_json(text)
    except ValueError:
        return text
