"""A long-term memory in a list, with the calls that tools make of ``memory.Memory``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from errors import PinsFull
from memory import NumberedLine


@dataclass
class ListedMemory:
    """``texts``: its lines, in order; ``full``: it takes no more pins."""

    texts: list[str] = field(default_factory=list)
    pins: list[str] = field(default_factory=list)
    full: bool = False

    @property
    def reader(self) -> ListedMemory:
        return self

    @property
    def writer(self) -> ListedMemory:
        return self

    @property
    def eraser(self) -> ListedMemory:
        return self

    def remember(self, _tenant: str, _session: str, key: str, value: str, **_: Any) -> None:
        self.texts = [text for text in self.texts if not text.startswith(f"{key}: ")] + [f"{key}: {value}"]

    def read_lines(self, _tenant: str, _session: str, **_: Any) -> list[NumberedLine]:
        return [NumberedLine(number, text, "entity", 0) for number, text in enumerate(self.texts, 1)]

    def forget_lines(self, _tenant: str, _session: str, texts: Sequence[str], **_: Any) -> list[str]:
        gone = [text for text in self.texts if text in texts]
        self.texts = [text for text in self.texts if text not in texts]
        return gone

    def pin(self, _tenant: str, _session: str, statement: str, **_: Any) -> None:
        if self.full:
            raise PinsFull(limit=20)
        self.pins.append(statement)
