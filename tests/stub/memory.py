"""A long-term memory in a list, with the calls that tools make of ``memory.Memory``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from errors import MemoryAway, PinsFull

Kind = Literal["pin", "memory", "entity", "turn"]


@dataclass(frozen=True)
class Line:
    """One line of memory, as ``Memory.lines`` gives it."""

    number: int
    text: str
    kind: Kind = "entity"
    turn: int = 0


@dataclass
class ListedMemory:
    """``texts``: its lines, in order; ``away``: Redis cannot be used; ``full``: it takes no more pins."""

    texts: list[str] = field(default_factory=list)
    pins: list[str] = field(default_factory=list)
    away: bool = False
    full: bool = False

    def remember(self, _tenant: str, _session: str, key: str, value: str, **_: Any) -> bool:
        self.texts = [text for text in self.texts if not text.startswith(f"{key}: ")] + [f"{key}: {value}"]
        return not self.away

    def lines(self, _tenant: str, _session: str, **_: Any) -> list[Line]:
        return [Line(number, text) for number, text in enumerate(self.texts, 1)]

    def drop(self, _tenant: str, _session: str, texts: Sequence[str], **_: Any) -> list[str] | None:
        gone = [text for text in self.texts if text in texts]
        self.texts = [text for text in self.texts if text not in texts]
        return None if self.away else gone

    def pin(self, _tenant: str, _session: str, statement: str, **_: Any) -> None:
        if self.away:
            raise MemoryAway(where="there", reason="it is away")
        if self.full:
            raise PinsFull(limit=20)
        self.pins.append(statement)

    def recall(self, _tenant: str, _session: str, query: str, **_: Any) -> list[str]:
        return [text for text in self.texts if query in text]
