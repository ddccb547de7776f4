"""How many tokens every part of a world's prompt may take, and texts cut to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Literal

from model.call.token import estimate_tokens
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


SHARE = 3
"""A card's text, and the entries that are always active, may each take a third of what the model reads at once."""
SMALL = Budgets(prefix=600, state=160, files=120, episodes=120, lore=240)
"""At most so much for a small model: it reads forty tokens a second on a machine without a graphics card."""


def choose_smaller_budgets(one: Budgets, other: Budgets) -> Budgets:
    """Returns the smaller budget of every part."""
    return Budgets(**{name: min(getattr(one, name), getattr(other, name)) for name in Budgets.__slots__})


@dataclass(frozen=True, slots=True)
class AuthorRoom:
    """What an author's text takes. ``budget``: as it is set; ``most``: the largest that the model's window allows."""

    tokens: int
    budget: int
    most: int

    @classmethod
    def of(cls, tokens: int, budget: int, window: int) -> AuthorRoom:
        """Returns the room of a text for a model that reads ``window`` tokens at once."""
        return cls(tokens, budget, window // SHARE)

    @property
    def is_raised(self) -> bool:
        """Whether the budget is raised so that nothing of the text is cut."""
        return self.budget < self.tokens <= self.most

    @property
    def is_asked(self) -> bool:
        """Whether the user has to choose: whole, or cut."""
        return self.tokens > max(self.most, self.budget)

    def choose_budget(self, whole: bool | None = None) -> int | None:
        """Returns the budget that holds all of the text; None where the usual one counts. ``whole``: what the user has
        chosen."""
        keeps = self.is_raised or (whole and self.is_asked)
        return self.tokens + SPARE if keeps else None


SPARE = 20
"""Tokens by which a raised budget is larger than the text, for names that are longer than the macros."""


@dataclass(frozen=True, slots=True)
class CutText:
    """A text within its budget. ``lines``: how many of its lines were left out."""

    text: str
    tokens: int
    lines: int


@lru_cache(maxsize=512)
def cut_to_budget(text: str, budget: int, keep: Literal["start", "end"] = "start") -> CutText:
    """Returns as many whole lines of the text as the budget holds, from its start or its end; a part of a line, cut at
    a word, when no whole line fits."""
    total = estimate_tokens(text)
    if total <= budget:
        return CutText(text, total, 0)
    lines = text.split("\n")
    ordered = lines if keep == "start" else lines[::-1]
    for fitting in range(
        _count_fitting_lines(ordered, budget), 0, -1
    ):  # a smaller one where the estimates of lines were rounded
        kept = "\n".join(lines[:fitting] if keep == "start" else lines[-fitting:]).strip()
        if (size := estimate_tokens(kept)) <= budget:
            return CutText(kept, size, len(lines) - fitting)
    kept = _cut_line_words(ordered[0], budget, keep)
    return CutText(kept, estimate_tokens(kept), len(lines))


def _count_fitting_lines(lines: Sequence[str], budget: int) -> int:
    """Returns how many of the first lines the budget about holds."""
    used = accumulate(estimate_tokens(f"{line}\n") for line in lines)
    return sum(1 for _ in takewhile(lambda size: size <= budget, used))


def _cut_line_words(line: str, budget: int, keep: Literal["start", "end"]) -> str:
    """Returns the first or last words of a line that the budget holds."""
    size = estimate_tokens(line)
    while line and size > budget:
        length = int(len(line) * min(budget / size, 0.95))
        if keep == "start":
            line = line[:length].rpartition(" ")[0] or line[:length]
        else:
            line = line[len(line) - length :].partition(" ")[2] or line[len(line) - length :]
        size = estimate_tokens(line)
    return line
