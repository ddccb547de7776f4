"""What a fold gives, whoever makes it, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memory.state import Entity

MOST_SENTENCES = 20
"""Sentences of a memory (copilot-rag.md §8)."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A memory that may replace the old one, a sentence a line. ``kept``, ``lost``: facts as they were written."""

    text: str
    entities: tuple[Entity, ...]
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    seconds: float = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0
    model: str = ""


def cost(folded: Folded) -> dict[str, Any]:
    """What a fold cost, for the version's record."""
    names = ("seconds", "prompt_tokens", "answer_tokens", "calls", "model")
    return {name: getattr(folded, name) for name in names}


def together(costs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sum of several; the model is that of the last."""
    total: dict[str, Any] = {}
    for one in costs:
        summed = {name: total.get(name, 0) + value for name, value in one.items() if name != "model"}
        total = {**total, **summed, "model": one["model"]} if one else total
    return total
