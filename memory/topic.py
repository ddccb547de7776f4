"""An earlier topic as one line of the memory (copilot-rag.md §3.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memory.line import shorten
from text import fact

TOPIC = " ⁄ "
"""Between the sentences of a topic, a sign that nobody types; without their own ends they stay one sentence."""
_ENDS = " .!?…。！？"


def is_topic(line: str) -> bool:
    """Whether a line is an earlier topic that was brought down to one line."""
    return TOPIC in line


def parts(line: str) -> list[str]:
    """The sentences of a line."""
    return line.split(TOPIC)


def rejoined(line: str, told: Sequence[str]) -> str:
    """The line with other sentences in the place of its own."""
    return TOPIC.join(told) if is_topic(line) else told[0]


def without(line: str, gone: Callable[[str], bool]) -> str:
    """The line without sentences that are to go; '' when none stays."""
    return TOPIC.join(part for part in parts(line) if not gone(part))


def shortened(lines: Sequence[str], facts: Sequence[fact.Fact], most: int) -> str:
    """Sentences that hold the most of these facts, and the newest, in one line of ``most`` characters."""
    chosen: list[str] = []
    left = list(facts)
    while left:
        fitting = [line for line in lines if line not in chosen and len(TOPIC.join([*chosen, line])) <= most]
        best = max(fitting, key=lambda line: sum(fact.holds(line, each) for each in left) / len(line), default=None)
        if best is None or not any(fact.holds(best, each) for each in left):
            break
        chosen.append(best)
        left = [each for each in left if not fact.holds(best, each)]
    for line in reversed(lines):  # what room is left goes to the newest of the others
        if line not in chosen and len(TOPIC.join([*chosen, line])) <= most:
            chosen.append(line)
    if not chosen:
        return shorten(lines[-1], most) or lines[-1][:most] if lines else ""
    return TOPIC.join(line.rstrip(_ENDS) for line in lines if line in chosen)
