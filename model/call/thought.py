"""What a model thinks before its answer, told apart from the answer while both arrive.

Servers send thoughts in a field of their own (``reasoning_content``, ``reasoning``), or as text between tags at the
beginning of the answer: Ollama, LM Studio and vLLM without a parser do, for models such as Qwen3 and DeepSeek R1. A
template that opens the tag in the prompt leaves only the closing one in the answer. A tag anywhere else is text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk

from text.answer.markdown_code import is_in_code
from text.answer.thought_name import THOUGHT_NAMES
from text.cut import find_overlap

THOUGHT, MOVED = "reasoning_content", "thought_before"
"""Names in ``additional_kwargs`` of a chunk: a piece of thought; and the sign that all text before this chunk was one,
because the server did not say where it began."""
FIELDS = ("reasoning_content", "reasoning", "thinking")
"""Fields of a chunk that hold thoughts; a server that sends several says the same in each."""
TAGS = {f"<{name}>": f"</{name}>" for name in THOUGHT_NAMES} | {"[think]": "[/think]", "◁think▷": "◁/think▷"}
"""The tags around thoughts, in small letters: those of most models, of Mistral's and of Moonshot's."""
CLOSING = "</think>"
"""The tag that stands alone where a template opens the thoughts in the prompt."""


class UnopenedModels:
    """The models whose thoughts begin without a tag, by address and name, as far as this process has learned it."""

    def __init__(self) -> None:
        self._known = set[tuple[str, str]]()

    def __contains__(self, place: tuple[str, str]) -> bool:
        return place in self._known

    def learn(self, place: tuple[str, str], is_so: bool) -> None:
        """Hears how the thoughts of a model began."""
        if is_so:
            self._known.add(place)
        else:
            self._known.discard(place)


UNOPENED = UnopenedModels()
"""What is known in this process."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """The next piece of answer and of thought. ``moved``: all of the answer that came before was thought as well."""

    answer: str = ""
    thought: str = ""
    moved: bool = False

    @property
    def pieces(self) -> tuple[str, str]:
        return self.answer, self.thought


@dataclass
class ThoughtSplitter:
    """Sorts the text of one answer. ``begins_inside``: the model is known to begin with thoughts without saying so.

    ``was_unopened``: whether thoughts began without a tag; None as long as the answer does not tell.
    """

    begins_inside: bool = False
    was_unopened: bool | None = None
    is_sure: bool = True
    _close: str = ""
    _held: str = ""
    _answer: str = ""
    _thought: list[str] = field(default_factory=list)
    _is_decided: bool = False
    _has_thought: bool = False

    def hear_field(self) -> None:
        """Hears that the server sends thoughts in a field of their own: a lone closing tag is text then."""
        self.begins_inside, self._has_thought = False, True

    def feed(self, text: str) -> Sorted:
        """Takes the next piece; returns what is sure. Text that may be the beginning of a tag is held back."""
        self._held += text
        answer, thought, moved = "", "", False
        while True:
            if self._close:
                piece, closed = self._read_thought()
                thought += piece
                if not closed:
                    break
            elif not self._is_decided:
                if not self._decide():
                    break
            else:
                piece, closed = self._read_answer()
                if closed:
                    answer, thought, moved = "", answer + piece, True
                else:
                    answer += piece
                    break
        self._thought.append(thought)
        return Sorted(answer, thought, moved)

    def end(self, is_whole: bool) -> Sorted:
        """Returns what was held back. ``is_whole``: the answer has ended by itself; thoughts without any tag were its
        answer then."""
        held, self._held = self._held, ""
        if self._close and self.begins_inside and self.was_unopened is None and is_whole:
            self.was_unopened = False
            return Sorted("".join(self._thought) + held)
        if self._close:
            return Sorted(thought=held)
        is_gap = self._has_thought and not self._is_decided
        return Sorted(held.lstrip() if is_gap else held)

    def _decide(self) -> bool:
        """Reads the beginning, or what follows a thought: a tag, or the answer. Returns False while it may be both."""
        start = self._held.lstrip()
        low = _lower_letters(start)
        tag = next((tag for tag in TAGS if low.startswith(tag)), "")
        if tag:
            self._close, self._held = TAGS[tag], start[len(tag) :]
            self.begins_inside, self._has_thought = False, True
            return True
        if any(each.startswith(low) for each in TAGS):
            return False
        if self.begins_inside and self.was_unopened is None:
            self._close = CLOSING
            return True
        self._is_decided, self._held = True, start if self._has_thought else self._held
        return True

    def _read_thought(self) -> tuple[str, bool]:
        low = _lower_letters(self._held)
        at = low.find(self._close)
        if at >= 0:
            piece, self._held = self._held[:at], self._held[at + len(self._close) :]
            if self.begins_inside:
                self.was_unopened = self._has_thought = True
            self._close = ""
            return piece, True
        kept = find_overlap(low, self._close)
        piece, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        return piece, False

    def _read_answer(self) -> tuple[str, bool]:
        """Returns a piece of the answer, and whether a lone closing tag ends it: it was a thought then."""
        if self._has_thought or self.was_unopened is not None:
            piece, self._held = self._held, ""
            return piece, False
        at = _lower_letters(self._held).find(CLOSING)
        if at < 0:
            kept = find_overlap(_lower_letters(self._held), CLOSING)
            piece, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
            self._answer += piece
            return piece, False
        before = self._answer + self._held[:at]
        self.was_unopened = not _speaks_of_tags(before)
        self.is_sure = before.rstrip(" ").endswith("\n")  # templates close thoughts on a line of its own
        end = at if self.was_unopened else at + len(CLOSING)
        piece, self._held = self._held[:end], self._held[at + len(CLOSING) :]
        self._is_decided = not self.was_unopened
        self._has_thought = self.was_unopened
        if self.was_unopened:
            return piece, True
        piece, self._held = piece + self._held, ""
        return piece, False


def read_thought(message: AIMessage) -> str:
    """Returns the piece of thought that a chunk holds."""
    return str(message.additional_kwargs.get(THOUGHT) or "")


def is_moved(message: AIMessage) -> bool:
    """Returns whether all text before a chunk was thought."""
    return bool(message.additional_kwargs.get(MOVED))


def sort_chunk(chunk: AIMessageChunk, splitter: ThoughtSplitter) -> None:
    """Takes the thoughts out of a chunk's text. Changes the chunk in place: there is one for every token."""
    if not isinstance(chunk.content, str) or not chunk.content:
        return
    put_sorted(chunk, splitter.feed(chunk.content))


def put_sorted(chunk: AIMessageChunk, sorted_text: Sorted) -> None:
    """Writes sorted text into a chunk."""
    chunk.content = sorted_text.answer
    if sorted_text.thought:
        chunk.additional_kwargs[THOUGHT] = read_thought(chunk) + sorted_text.thought
    if sorted_text.moved:
        chunk.additional_kwargs[MOVED] = True


def move_thoughts(delta: dict[str, Any]) -> None:
    """Brings the thoughts of a server's delta into one field, as text: they have several names, and come as parts of
    the content as well."""
    content = delta.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        delta["content"] = "".join(_join_text(part) for part in parts if part.get("type") != "thinking")
        inner = (part.get("thinking") for part in parts if part.get("type") == "thinking")
        delta.setdefault(THOUGHT, "".join(map(_join_text, inner)))
    found = next((delta[name] for name in FIELDS if isinstance(delta.get(name), str) and delta[name]), "")
    for name in FIELDS:
        delta.pop(name, None)
    if found:
        delta[THOUGHT] = found


def _join_text(part: Any) -> str:
    """Returns the text of a part of the content, which may be a list of parts."""
    if isinstance(part, list):
        return "".join(map(_join_text, part))
    return str(part.get("text") or "") if isinstance(part, dict) else part if isinstance(part, str) else ""


_ASCII = {at: at + 32 for at in range(ord("A"), ord("Z") + 1)}


def _lower_letters(text: str) -> str:
    """Returns a text with small letters, each at its place: «İ».lower() is two."""
    return text.translate(_ASCII)


def _speaks_of_tags(before: str) -> bool:
    """Returns whether a closing tag after this text is one that the answer writes about: it stands in code, or the
    opening one was there."""
    return is_in_code(before) or "<think" in before.lower()


__all__ = [
    "THOUGHT",
    "UNOPENED",
    "Sorted",
    "ThoughtSplitter",
    "is_moved",
    "move_thoughts",
    "put_sorted",
    "read_thought",
    "sort_chunk",
]
