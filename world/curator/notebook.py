"""The text of the block ``narrative_memory``: what is intended, what is promised, which events are planned."""

from __future__ import annotations

import re
from dataclasses import dataclass

from text.clean import clean_text, collapse_spaces
from text.cut import cut_graphemes

LIMIT = 1500
"""The most characters of the memory."""
_PLANNED = re.compile(r"^- \[(\d{1,6})\] (.+)$", re.MULTILINE)


class Unfit(Exception):
    """The error of an edit that the memory does not take; its text tells the model why."""


@dataclass(frozen=True, slots=True)
class Planned:
    """An event that is to happen about turn ``turn``."""

    turn: int
    text: str


def edit_memory_text(memory: str, old: str, new: str) -> str:
    """Returns the memory with ``old``, which must stand in it once, replaced by ``new``; with an empty ``old``, ``new``
    is added at the end. Raises ``Unfit``."""
    if not old.strip():
        return check_memory_text(f"{memory}\n{new}")
    count = memory.count(old)
    if count != 1:
        raise Unfit(
            f"The text to replace stands {count} times in the memory. Copy it exactly, long enough to be unique."
        )
    return check_memory_text(memory.replace(old, new))


def check_memory_text(text: str) -> str:
    """Returns the text as a memory. Raises ``Unfit`` when it is too long."""
    plain = re.sub(r"\n{3,}", "\n\n", clean_text(text)).strip()
    if len(plain) > LIMIT:
        raise Unfit(
            f"The memory would have {len(plain)} characters; {LIMIT} are allowed. Shorten it with rewrite_memory."
        )
    return plain


def with_event(memory: str, turn: int, description: str) -> str:
    """Returns the memory with one more planned event, a line of its own. Raises ``Unfit``."""
    text = collapse_spaces(description)
    if any(one.text == text for one in read_planned_events(memory)):
        raise Unfit("This event is planned already.")
    return check_memory_text(f"{memory}\n- [{turn}] {text}")


def read_planned_events(memory: str) -> list[Planned]:
    """Returns the planned events, the next one first."""
    events = (Planned(int(match[1]), match[2].strip()) for match in _PLANNED.finditer(memory))
    return sorted(events, key=lambda one: one.turn)


def shorten_memory_text(text: str) -> str:
    """Returns as many whole lines of a text as the memory takes, for a model that cannot be asked again."""
    lines, kept = clean_text(text).strip().split("\n"), list[str]()
    for line in lines:
        if len("\n".join((*kept, line))) > LIMIT:
            break
        kept.append(line)
    return "\n".join(kept) or cut_graphemes(clean_text(text).strip(), LIMIT)
