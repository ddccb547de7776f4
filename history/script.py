"""A history that a program sends as one message of the user: every message a paragraph with a name in front.

SillyTavern's «single user message» does so (``src/prompt-converters.js``, ``mergeMessages``). Whoever reads a message
so must know the turns from elsewhere: people write paragraphs with labels, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAID = re.compile(r"^([^\s:：][^\n:：]{0,39})[:：] ", re.MULTILINE)
LEAST = 3
"""Paragraphs with names that a history of one turn and a question has."""


@dataclass(frozen=True, slots=True)
class OneMessageHistory:
    """``turns``: questions with their answers, oldest first; ``question``: what is asked now."""

    turns: tuple[tuple[str, str], ...]
    question: str


def read_script(text: str) -> OneMessageHistory | None:
    """Returns a message as a history, whose last speaker is the user; None for any other message. What stands before
    the first name belongs to nobody."""
    starts = [match for match in _SAID.finditer(text) if match.start() == 0 or text[: match.start()].endswith("\n\n")]
    if len(starts) < LEAST:
        return None
    ends = [match.start() for match in starts[1:]] + [len(text)]
    said = [(match[1], text[match.end() : end].strip()) for match, end in zip(starts, ends, strict=True)]
    user = said[-1][0]
    if user not in {name for name, _ in said[:-1]} or all(name == user for name, _ in said):
        return None
    turns, question, answer = list[tuple[str, str]](), "", ""
    for name, words in said:
        if name != user:
            answer = f"{answer}\n\n{words}" if answer else words
        elif answer:
            turns.append((question, answer))
            question, answer = words, ""
        else:
            question = f"{question}\n\n{words}" if question else words
    return OneMessageHistory(tuple(turns), question) if turns and question else None


__all__ = ["OneMessageHistory", "read_script"]
