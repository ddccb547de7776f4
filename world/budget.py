"""How many tokens every part of a world's prompt may take, and texts cut to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from model.call.token import estimate
from settings import Settings


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets in tokens. ``files``: for every Markdown file of the user's beside the stable prefix, unless its
    front matter has a budget of its own, and for the story so far."""

    prefix: int = 1500
    state: int = 300
    files: int = 400
    episodes: int = 400
    lore: int = 800

    @classmethod
    def of(cls, settings: Settings) -> Budgets:
        """Returns the budgets of the settings."""
        return cls(
            settings.world_budget_prefix,
            settings.world_budget_state,
            settings.world_budget_files,
            settings.world_budget_episodes,
            settings.world_budget_lore,
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """A text within its budget. ``lines``: how many of its lines were left out."""

    text: str
    tokens: int
    lines: int


@lru_cache(maxsize=512)
def cut(text: str, budget: int, keep: Literal["start", "end"] = "start") -> Cut:
    """Returns as many whole lines of the text as the budget holds, from its start or its end."""
    total = estimate(text)
    if total <= budget:
        return Cut(text, total, 0)
    lines = text.split("\n")
    fitting, used = 0, 0
    for line in lines if keep == "start" else reversed(lines):
        used += estimate(f"{line}\n")
        if used > budget:
            break
        fitting += 1
    kept = lines[:fitting] if keep == "start" else lines[len(lines) - fitting :]
    shown = "\n".join(kept).strip()
    return Cut(shown, estimate(shown), len(lines) - fitting)
