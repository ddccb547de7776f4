"""A question about memory in a terminal: one line to ask it, one line to answer it (``graph.tool.ask``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from door.phrase import Language, phrase
from graph.tool.ask import Ask

YES, NO = frozenset({"y", "yes", "예", "네", "응"}), frozenset({"n", "no", "아니요", "아니오", "아니"})


@dataclass(frozen=True)
class Decision:
    """``lines``: which lines to forget, None for all that were asked about."""

    yes: bool
    lines: list[str] | None = None


def question(language: Language, ask: Ask) -> str:
    """The question with what it is about and how to answer it."""
    if ask["tool"] == "remember":
        kept = ask["arguments"]
        return phrase(language, "ask.remember", what=f"{kept['key']} = {kept['value']}")
    lines = [" ".join(line.split()) for line in ask["arguments"]["lines"]]
    if ask["arguments"].get("pick"):
        return phrase(language, "ask.pick", what=" ".join(f"{at}) {line}" for at, line in enumerate(lines, 1)))
    return phrase(language, "ask.forget", what=" / ".join(lines))


def decided(ask: Ask, typed: str) -> Decision | None:
    """What was typed as an answer: yes, no, or the numbers of lines; None when it is none of these."""
    said = typed.strip().casefold()
    if said in NO:
        return Decision(False)
    if ask["tool"] == "forget" and ask["arguments"].get("pick"):
        lines = dict(enumerate(ask["arguments"]["lines"], 1))
        numbers = [int(each) for each in re.findall(r"\d{1,3}", said)] if re.fullmatch(r"[\d\s,]+", said) else []
        return Decision(True, [lines[each] for each in numbers]) if numbers and set(numbers) <= lines.keys() else None
    return Decision(True) if said in YES else None
