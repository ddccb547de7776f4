"""The conversations: ``bench/data/plain_ko.jsonl`` and ``plain_en.jsonl``, one conversation a line.

``{"name", "language", "held_out", "turns": [{"kind", "say", ...}]}``; the fields of a turn are those of ``Turn``. What
is said and what is expected may hold the placeholders of ``bench.everyday.when``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from text.language import Language

DATA = Path(__file__).parents[1] / "data"
KINDS = (
    "tell", "ask", "follow", "list", "rewrite", "talk", "change", "current", "sum", "date", "place", "product", "recall"
)  # fmt: skip
"""``change``: a value is told anew; ``current``: such a value is asked; ``place``: the time in a place; ``product``:
about Gieok itself."""


@dataclass(frozen=True)
class Turn:
    """What the user types, and what a right answer has (forms: ``bench.everyday.spelling``).

    ``has``: groups of forms, of each group one must be there. ``lacks``: forms that must not be there. ``old``: forms
    that may be there only in a sentence that holds a form of ``has``, too («moved from the 2nd to the 9th»). ``items``:
    so many list items, all different. ``item``: the answer is about this item (from 1; -1: the last) of the nearest
    list that was asked for. ``longest``: characters at most. ``language``: the language asked for, ``any`` where
    the answer may be in several; empty: that of the conversation.
    """

    kind: str
    say: str
    has: Sequence[Sequence[str]] = ()
    lacks: Sequence[str] = ()
    old: Sequence[str] = ()
    items: int = 0
    item: int = 0
    longest: int = 0
    language: str = ""


@dataclass(frozen=True)
class Conversation:
    """One conversation. ``held_out``: kept apart while the product is tuned."""

    name: str
    language: Language
    held_out: bool
    turns: tuple[Turn, ...]


def conversations(folder: Path = DATA) -> list[Conversation]:
    """All conversations, Korean and English by turns."""
    korean, english = (_read(folder / f"plain_{language}.jsonl") for language in ("ko", "en"))
    return [each for pair in zip(korean, english, strict=True) for each in pair]


def _read(path: Path) -> list[Conversation]:
    return [_conversation(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _conversation(data: dict[str, Any]) -> Conversation:
    turns = tuple(Turn(**each) for each in data["turns"])
    return Conversation(data["name"], data["language"], data["held_out"], turns)
