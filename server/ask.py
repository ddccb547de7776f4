"""A question about memory in a terminal: one line asks, one line answers (``graph.tool.question.ask``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

from graph.tool.question.ask import Ask
from server.phrase import Language, render_phrase
from text.clean import collapse_spaces

LANGUAGES: tuple[Language, ...] = get_args(Language)
_ALSO = {"예": True, "아니오": False}
"""Words that people use beside those that a question shows."""


@dataclass(frozen=True)
class MemoryDecision:
    """The user's answer to a question about memory. ``lines``: the lines to forget; None for all lines of the
    question."""

    yes: bool
    lines: list[str] | None = None


def render_memory_question(language: Language, ask: Ask) -> str:
    """Returns the question, with the value or the lines in question and the words that answer it."""
    words = {name: render_phrase(language, f"ask.{name}") for name in ("yes", "no")}
    if ask["tool"] == "remember":
        arguments = ask["arguments"]
        return render_phrase(language, "ask.remember", what=f"{arguments['key']} = {arguments['value']}", **words)
    lines = [collapse_spaces(line) for line in ask["arguments"]["lines"]]
    if ask["arguments"].get("pick"):
        numbered = " ".join(f"{number}) {line}" for number, line in enumerate(lines, 1))
        return render_phrase(language, "ask.pick", what=numbered, **words)
    return render_phrase(language, "ask.forget", what=" / ".join(lines), **words)


def parse_memory_decision(language: Language, ask: Ask, typed: str) -> MemoryDecision | None:
    """Reads a typed answer: a word that the question shows, or the numbers of lines. Returns None when it is
    neither."""
    reply = typed.strip().casefold()
    if reply in _list_shown_words(language, "no"):
        return MemoryDecision(False)
    if ask["tool"] == "forget" and ask["arguments"].get("pick"):
        lines = dict(enumerate(ask["arguments"]["lines"], 1))
        numbers = [int(number) for number in re.findall(r"\d{1,3}", reply)] if re.fullmatch(r"[\d\s,]+", reply) else []
        return (
            MemoryDecision(True, [lines[number] for number in numbers])
            if numbers and set(numbers) <= lines.keys()
            else None
        )
    return MemoryDecision(True) if reply in _list_shown_words(language, "yes") else None


def yes_or_no(typed: str) -> bool | None:
    """Reads a plain yes or no, in whichever language it is; None for everything that says more, or something else."""
    reply = typed.strip().rstrip(".!").casefold()
    for language in LANGUAGES:
        for name, yes in (("yes", True), ("no", False)):
            if reply in _list_shown_words(language, name):
                return yes
    return _ALSO.get(reply)


def _list_shown_words(language: Language, name: str) -> list[str]:
    """Returns the word and the letter that a question shows for yes or no: both parts of «yes(y)»."""
    return re.findall(r"\w+", render_phrase(language, f"ask.{name}"))
