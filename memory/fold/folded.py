"""The result of a fold, by a model or by code, and its cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memory.state import Entity

MOST_SENTENCES = 20
"""Most sentences of a memory (specification 6.10)."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A memory that may replace the old one, one sentence per line. ``kept``, ``lost``: facts as they were written.
    ``profile``: those of the entities that are proposed as lasting facts of the user."""

    text: str
    entities: tuple[Entity, ...]
    profile: tuple[Entity, ...] = ()
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    seconds: float = 0.0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    calls: int = 0
    model: str = ""


def read_fold_cost(folded: Folded) -> dict[str, Any]:
    """Returns the cost of a fold for the version's record."""
    names = ("seconds", "prompt_tokens", "answer_tokens", "calls", "model")
    return {name: getattr(folded, name) for name in names}


def sum_fold_costs(costs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Returns the sum of several costs; the model is the one of the last cost."""
    total: dict[str, Any] = {}
    for entry in costs:
        summed = {name: total.get(name, 0) + value for name, value in entry.items() if name != "model"}
        total = {**total, **summed, "model": entry["model"]} if entry else total
    return total
