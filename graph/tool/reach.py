"""The long-term memory that the tools of one turn reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from memory import USER, Memory, Patience
from text.language import Language


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a search in earlier turns gives to the model. ``foreign``: some of it may be text of a foreign tool."""

    text: str
    foreign: bool = False


@dataclass(frozen=True)
class Reach:
    """The memory of one session of a tenant and user, during turn ``turn``; ``patience``: how long the turn waits for
    Redis.

    ``past``: searches earlier turns. ``listed``: the lines that ``forget`` has listed in
    this turn, by the numbers that it gave them.
    """

    memory: Memory
    tenant: str
    session: str
    turn: int
    language: Language = "ko"
    user: str = USER
    patience: Patience | None = None
    past: Callable[[str], Recalled] = lambda _query: Recalled("")
    listed: dict[int, str] = field(default_factory=dict, compare=False)
