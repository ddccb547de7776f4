"""A file of a known format before its entries are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from world.book.field import BookProblem
from world.book.form import EntryForm
from world.lore.rule import NO_RULE, Rule


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """``kind``: the name of the format, for the page and the export. ``title``: the name of the book, empty for the
    file's. ``entries``: as they stand in the file, and ``path``: where, as names from the root on. ``usual``: what the
    file says for all its entries. ``card``: the fields of its character."""

    kind: str
    form: EntryForm
    title: str
    entries: Any
    path: tuple[str, ...]
    usual: Rule = NO_RULE
    card: dict[str, Any] | None = None
    problems: tuple[BookProblem, ...] = ()

    @property
    def place(self) -> str:
        """Returns where the entries stand, as it is told to the user."""
        return ".".join(self.path)


Opener = Callable[[Any], OpenedFile | None]
"""Returns what a file holds, if its JSON is of this format. Raises ``WrongField``."""


def read_title(value: Mapping[str, Any]) -> str:
    """Returns the name that a book has in its file."""
    title = value.get("name")
    return title.strip() if isinstance(title, str) else ""
