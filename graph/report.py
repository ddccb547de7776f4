"""What the model was given for one call, what was left out, and what full history would have cost (design §4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

PartName = Literal[
    "system",
    "summaries",
    "short",
    "recent",
    "memory",
    "entities",
    "retrieval",
    "world",
    "time",
    "hint",  # only in reports of older versions
    "current",
    "question",
]
Reason = Literal[
    "summarised",
    "over_budget",
    "context_full",
    "casual",
    "memory_cut",
    "entities_cut",
    "memory_away",
    "documents_budget",
]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the prompt, in prompt order.

    ``tokens`` against ``budget`` (0: none is set); ``items``: what it holds, such as turn ranges («1-3», «4») or the
    places of passages. For ``graph.exact``: ``mark`` names the text where it is kept apart (system prompt, memory,
    entities; of the summaries the versions, one after the other); ``text`` is one that stands nowhere else (the time).
    """

    name: PartName
    tokens: int
    budget: int
    items: tuple[str, ...] = ()
    mark: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What is not in the prompt, and why; ``tokens`` where they are known, else 0.

    ``what``: turns that are not there as they were («1-6»); of the long-term memory how many sentences or values had no
    room («3»); of the documents the place of a passage that had none; of a tool of the current turn its name.
    """

    what: str
    reason: Reason
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ContextReport:
    """Tokens by part of one prompt. ``exact``: counted by the model's own tokenizer, not estimated.

    ``total_tokens``: this prompt. ``full_tokens``: the same prompt with the whole history raw and no summaries.
    ``digest``: of all messages, so that a prompt put together again can be told from another one. ``layout``: as in
    ``graph.context.build``.
    """

    turn: int
    parts: tuple[Part, ...]
    left_out: tuple[LeftOut, ...]
    total_tokens: int
    full_tokens: int
    exact: bool
    digest: str = ""
    layout: str = "messages"

    @property
    def saved_tokens(self) -> int:
        """Tokens saved against full history; negative when the summaries cost more than they replace."""
        return self.full_tokens - self.total_tokens

    def part(self, name: PartName) -> Part | None:
        return next((each for each in self.parts if each.name == name), None)

    def plain(self) -> dict[str, Any]:
        """The report as plain data for storage and doors."""
        parts, left_out = map(_plain, self.parts), map(_plain, self.left_out)
        bare = ({name: each[name] for name in each if each[name] or name not in ("mark", "text")} for each in parts)
        return {**_plain(self), "parts": tuple(bare), "left_out": tuple(left_out)}


def _plain(row: Part | LeftOut | ContextReport) -> dict[str, Any]:
    """Its fields as they are: ``dataclasses.asdict`` would copy every letter of them."""
    return {name: getattr(row, name) for name in row.__slots__}
