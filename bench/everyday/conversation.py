"""The conversations: ``bench/data/plain_ko.jsonl`` and ``plain_en.jsonl``, one conversation a line.

``{"name", "language", "held_out", "turns": [{"kind", "say", ...}]}``; the fields of a turn are those of
``EverydayTurn``. The user's messages and the expected forms may contain the placeholders of ``bench.everyday.when``.
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
"""Kinds of turns. The user tells a new value (``change``), asks for such a value (``current``), for the time in a place
(``place``), or about Gieok itself (``product``)."""


@dataclass(frozen=True)
class EverydayTurn:
    """The message that the user types, and the requirements of a right answer (forms: ``bench.everyday.spelling``).

    ``has``: groups of forms; the answer contains at least one form of every group. ``lacks``: forms that the answer
    must not contain. ``old``: forms that may stand only in a sentence with a form of ``has`` («moved from the 2nd to
    the 9th»). ``items``: the number of list items, all different. ``item``: the number (from 1; -1: the last) of the
    item that the answer is about, in the nearest list that an earlier turn asked for. ``longest``: the most characters.
    ``language``: the language that the turn asks for; ``any`` where several are right; empty for the language of the
    conversation.
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
    """One conversation. ``held_out``: nobody reads the conversation while the product is tuned."""

    name: str
    language: Language
    held_out: bool
    turns: tuple[EverydayTurn, ...]


def conversations(folder: Path = DATA) -> list[Conversation]:
    """Returns all conversations, Korean and English ones in alternation."""
    korean, english = (_read(folder / f"plain_{language}.jsonl") for language in ("ko", "en"))
    return [conversation for pair in zip(korean, english, strict=True) for conversation in pair]


def _read(path: Path) -> list[Conversation]:
    return [_conversation(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _conversation(data: dict[str, Any]) -> Conversation:
    turns = tuple(EverydayTurn(**turn) for turn in data["turns"])
    return Conversation(data["name"], data["language"], data["held_out"], turns)
