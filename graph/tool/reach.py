"""Whose long-term memory the tools of one turn reach, and which questions show that they are wanted."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memory import USER, Memory, Patience
from text.language import Language


@dataclass(frozen=True)
class Reach:
    """The memory of one session of a tenant and user, during turn ``turn``; ``patience``: what that waits for Redis."""

    memory: Memory
    tenant: str
    session: str
    turn: int
    language: Language = "ko"
    user: str = USER
    patience: Patience | None = None


def cue(*patterns: str) -> Callable[[str], bool]:
    """Whether a question shows one of these patterns."""
    wanted = re.compile("|".join(patterns), re.IGNORECASE)
    return lambda question: bool(wanted.search(question))


def plain(text: str) -> str:
    """The letters and digits of a text, to compare by."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())
