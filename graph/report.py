"""What the model was given for one call, what was left out, and what full history would have cost (design §4)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

PartName = Literal[
    "system", "summaries", "recent", "memory", "entities", "retrieval", "world", "time", "question", "current"
]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the prompt, in prompt order: its tokens against its budget, what it holds (turn labels), its text."""

    name: PartName
    tokens: int
    budget: int
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something left out of the prompt, and why: summarised, over_budget, context_full, casual or failed."""

    what: str
    reason: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ContextReport:
    """Tokens by part of one prompt. ``exact``: counted by the model's tokenizer, not estimated.

    ``total_tokens``: this prompt; ``full_tokens``: the same prompt with the whole history raw.
    """

    turn: int
    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...]
    total_tokens: int
    full_tokens: int
    exact: bool
    summarised_turns: tuple[int, ...]
    raw_turns: tuple[int, ...]

    @property
    def saved_tokens(self) -> int:
        """Tokens that the summaries saved against full history; negative when they cost more."""
        return self.full_tokens - self.total_tokens

    def plain(self) -> dict[str, Any]:
        """The report as plain data for storage and doors."""
        return asdict(self)
