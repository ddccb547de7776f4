"""The long-term memory that the tools of one turn reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from memory import USER, Memory
from text.language import Language


@dataclass(frozen=True, slots=True)
class RecalledTurns:
    """What a search in earlier turns gives to the model. ``foreign``: some of it may be text of a foreign tool.
    ``items``: the turns in it, in the order of their marks (``graph.context.past.PastEntry.item``)."""

    text: str
    foreign: bool = False
    items: tuple[str, ...] = ()


class SearchPast(Protocol):
    """Searches earlier turns for a query; ``day``: only of days that begin so, ``conversation``: only of conversations
    whose title has this."""

    def __call__(self, query: str, day: str = "", conversation: str = "") -> RecalledTurns: ...


def _find_nothing(query: str, day: str = "", conversation: str = "") -> RecalledTurns:
    return RecalledTurns("")


@dataclass(frozen=True)
class MemoryReach:
    """The memory of one session of a tenant and user, during turn ``turn``.

    ``past``: searches earlier turns. ``quoted``: the answer that quotes them, where no model is to be asked for it.
    ``listed``: the lines that ``forget`` has listed in this turn, by the numbers that it gave them.
    """

    memory: Memory
    tenant: str
    session: str
    turn: int
    language: Language = "ko"
    user: str = USER
    past: SearchPast = _find_nothing
    quoted: RecalledTurns | None = None
    listed: dict[int, str] = field(default_factory=dict, compare=False)
