"""Reads a model's answer while it streams: what it thought, what it says, and the tools it calls.

Each piece of text goes through what may hold it back: calls written as text, the client's stop words, and for a small
model the check of its sums.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from langchain_core.messages import AIMessageChunk, ToolCall

from graph.answer.equation import Equations
from graph.answer.stop_word import StopWords
from graph.answer.text_call import TextCalls
from model.call.thought import is_moved, read_thought
from text.answer import loop
from text.clean import clean_text


class Think(Protocol):
    """Shows a piece of thought. ``seconds``: how long this answer has been thought about; ``moved``: the text shown so
    far belongs to it and is part of ``text``."""

    def __call__(self, text: str, seconds: float, *, moved: bool) -> None: ...


@dataclass
class AnswerReader:
    """Reads one answer. ``show``, ``think``: show a piece. ``names``: the tools that may be called in text. ``small``:
    sums are corrected, and an answer that goes round in circles ends there."""

    show: Callable[[str], None]
    think: Think
    stop_words: Sequence[str] = ()
    names: Collection[str] = ()
    small: bool = False
    thought: str = ""
    answer: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    corrected: list[tuple[str, str]] = field(default_factory=list)
    _loop_start: int | None = None
    _began: float | None = None

    def __post_init__(self) -> None:
        self._begin_text()

    def _begin_text(self) -> None:
        self.answer = ""
        self._written = TextCalls(self.names)
        self._words = StopWords(self.stop_words)
        self._sums = Equations(lambda *sum_: self.corrected.append(sum_))

    @property
    def met_stop_word(self) -> bool:
        """Whether the answer ended at a stop word."""
        return self._words.met

    def hear(self, chunk: AIMessageChunk) -> bool:
        """Takes the next chunk; returns whether the answer is over, because the model would go on in vain."""
        said, thought, moved = clean_text(str(chunk.text)), clean_text(read_thought(chunk)), is_moved(chunk)
        if self._began is None and (said or thought):
            self._began = time.monotonic()
        if moved:
            thought = self.answer + self._flush() + thought
            self._begin_text()
        if thought:
            self.thought += thought
            self.think(thought, time.monotonic() - (self._began or 0.0), moved=moved)
        if said:
            self._grow(self._words.feed(self._written.feed(said)))
        return self._loop_start is not None or self._words.met

    def end(self, *, takes_calls: bool = True) -> str:
        """Returns the answer. ``takes_calls``: False for an answer that was stopped, or that has calls already."""
        rest, calls = self._written.end() if takes_calls else (self._written.end_as_text(), [])
        self.calls = calls
        self._grow(self._words.feed(rest) + self._words.end())
        if self.small and (last := self._sums.end()):
            self._show(last)
        return self.answer if self._loop_start is None else self.answer[: self._loop_start].rstrip()

    def _grow(self, piece: str) -> None:
        if text := self._sums.feed(piece) if self.small else piece:
            self._show(text)
            self._loop_start = loop.find_loop_start(self.answer) if self.small else None

    def _show(self, text: str) -> None:
        self.show(text)
        self.answer += text

    def _flush(self) -> str:
        """Returns the text that is held back."""
        held = self._words.feed(self._written.end_as_text()) + self._words.end()
        return self._sums.feed(held) + self._sums.end() if self.small else held
