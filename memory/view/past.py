"""What a search in past turns may read: this conversation, the user's others where memory is carried over, and of both
nothing that the user has had forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.state import MemoryLine
from memory.view.listed import is_forgotten
from text import sentence

MOST_OTHERS = 1000
"""The most other sessions of a user that are searched."""


@dataclass(frozen=True)
class Past:
    """The past of one session. ``others``: the user's other sessions, the last used ``MOST_OTHERS``; empty when memory
    is not carried over. ``forgotten``: the texts that the user had forgotten."""

    session: str
    others: tuple[str, ...]
    forgotten: Sequence[MemoryLine]

    def hides(self, at: float, texts: Iterable[str]) -> bool:
        """Tells whether a turn of the moment ``at`` (Unix seconds) must not be found, because one of its sentences says
        what the user has had forgotten since."""
        return bool(self.forgotten) and any(
            is_forgotten(line, at, self.forgotten) for text in texts for line in sentence.split_sentences(text)
        )
