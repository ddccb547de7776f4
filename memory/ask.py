"""Asking the utility model for a fold, and reading its constrained answers."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from model.modelset import ModelSet
from model.stream import complete, cut_off, usage
from text import sentence
from text.clean import clean

KEY_LETTERS, VALUE_LETTERS = 24, 60
_MARK = re.compile(r"^[\s>#*•·–-]+(?=\S)|^\d{1,2}[.)]\s+|\*\*|`")


@dataclass
class Talk:
    """One exchange: each request goes on where the last one ended, so that a server has its beginning in its cache.

    ``opening``: system prompt and material.
    """

    models: ModelSet
    stop: threading.Event | None
    opening: tuple[str, str]
    prompt_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0
    _messages: list[AnyMessage] = field(default_factory=list)

    def ask(self, request: str, **bind: Any) -> str:
        """The model's reply to a further request."""
        if not self._messages:
            system, material = self.opening
            self._messages = [SystemMessage(system), HumanMessage(f"{material}\n\n{request}")]
        else:
            self._messages.append(HumanMessage(request))
        answer = complete(self.models.utility, list(self._messages), stop=self.stop, **bind)
        asked, _, answered, exact = usage(answer)
        self.calls += 1
        self.prompt_tokens += asked if exact else sum(self.models.count(each.text) for each in self._messages)
        self.answer_tokens += answered if exact else self.models.count(answer.text)
        self._messages.append(AIMessage(answer.text))
        said = answer.text.strip()
        prose = "response_format" not in bind
        return said.rpartition("\n")[0] if prose and cut_off(answer) else said  # half a line may be half a number


def notes_shape(count: int, length: int) -> dict[str, Any]:
    """``response_format`` for notes and whether the topic is new."""
    note = {"type": "string", "minLength": 4, "maxLength": length}
    notes = {"type": "array", "items": note, "minItems": 1, "maxItems": count}
    schema = {
        "type": "object",
        "properties": {"notes": notes, "new_topic": {"type": "boolean"}},
        "required": ["notes", "new_topic"],
    }
    return _format("memory", schema, count * (length + 8) + 32)


def pairs_shape(count: int) -> dict[str, Any]:
    """``response_format`` for entities."""
    key = {"type": "string", "minLength": 1, "maxLength": KEY_LETTERS}
    value = {"type": "string", "minLength": 1, "maxLength": VALUE_LETTERS}
    pair = {"type": "object", "properties": {"key": key, "value": value}, "required": ["key", "value"]}
    return _format("entities", {"type": "array", "items": pair, "maxItems": count}, count * 60 + 16)


def read_notes(answer: str) -> tuple[list[str], bool]:
    """Notes and ``new_topic``; of an answer that was cut off, the notes that are whole."""
    try:
        read = json.loads(answer)
    except ValueError:
        texts = [json.loads(part) for part in re.findall(r'"(?:[^"\\\n]|\\.)*"', answer)]
        read = {"notes": [text for text in texts if text not in ("notes", "new_topic")] or sentence.split(answer)}
    if isinstance(read, list):
        read = {"notes": read}
    notes = read.get("notes", []) if isinstance(read, dict) else []
    said = [bare(clean(note)) for note in notes if isinstance(note, str)]
    strayed = [note for note in said if note.startswith("new_topic")]  # a key of the shape among the notes
    new = isinstance(read, dict) and read.get("new_topic") is True
    return [note for note in said if note and note not in strayed], new or any("true" in note for note in strayed)


def read_pairs(answer: str) -> list[tuple[str, str]]:
    """Keys and values; of an answer that was cut off, the pairs that are whole."""
    try:
        read = json.loads(answer)
    except ValueError:
        read = []
        for part in re.findall(r"\{[^{}]*\}", answer):
            try:
                read.append(json.loads(part))
            except ValueError:
                continue
    items = read if isinstance(read, list) else next((each for each in read.values() if isinstance(each, list)), [])
    found = [(each.get("key"), each.get("value")) for each in items if isinstance(each, dict)]
    return [(clean(key), clean(value)) for key, value in found if isinstance(key, str) and isinstance(value, str)]


def bare(line: str) -> str:
    """A line without list marks and emphasis, in single spaces."""
    return " ".join(_MARK.sub("", line).split())


def fenced(text: str) -> str:
    """The text as data: it cannot close the frame it stands in."""
    return re.sub(r"<(?=/?\s*(?:dialogue|memory))", "‹", clean(text), flags=re.IGNORECASE)


def _format(name: str, schema: dict[str, Any], tokens: int) -> dict[str, Any]:
    shape = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
    return {"response_format": shape, "max_tokens": tokens}
