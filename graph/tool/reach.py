"""The long-term memory that the tools of one turn reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from memory import USER, Memory, Patience
from text.language import Language


@dataclass(frozen=True)
class Reach:
    """The memory of one session of a tenant and user, during turn ``turn``; ``patience``: how long the turn waits for
    Redis.

    ``past``: searches earlier turns and returns text for the model. ``listed``: the lines that ``forget`` has listed in
    this turn, by the numbers that it gave them.
    """

    memory: Memory
    tenant: str
    session: str
    turn: int
    language: Language = "ko"
    user: str = USER
    patience: Patience | None = None
    past: Callable[[str], str] = lambda _query: ""
    listed: dict[int, str] = field(default_factory=dict, compare=False)
