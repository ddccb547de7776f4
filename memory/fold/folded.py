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
    ``profile``: those of the entities that are proposed as lasting facts of the user. ``usd``: None where the price is
    not known; ``cache_usd``: what the provider's cache saved."""

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
    cached_tokens: int = 0
    usd: float | None = None
    cache_usd: float = 0.0


def read_fold_cost(folded: Folded) -> dict[str, Any]:
    """Returns the cost of a fold for the version's record."""
    names = ("seconds", "prompt_tokens", "cached_tokens", "answer_tokens", "calls", "model", "usd", "cache_usd")
    return {name: getattr(folded, name) for name in names}


def sum_fold_costs(costs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Returns the sum of several costs; the model is the one of the last cost. Of calls whose price is not known, or
    was not noted by the version that made them, the sum is not known."""
    entries = [entry for entry in costs if entry]
    if not entries:
        return {}
    names = dict.fromkeys(name for entry in entries for name in entry if name not in ("model", "usd"))
    total = {name: sum(entry.get(name, 0) for entry in entries) for name in names}
    prices = [entry.get("usd") for entry in entries if entry.get("prompt_tokens")]
    usd = None if None in prices else sum(filter(None, prices))
    return {**total, "usd": usd, "model": entries[-1]["model"]}
