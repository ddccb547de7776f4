"""A lorebook that is ready for many requests: built once for each revision, never changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from model.call.token import estimate
from store.world.record import LoreEntry, LoreMark
from world.lore.mention import Matcher, name

ALWAYS = ("A1", "A2")
"""The layers whose entries are always candidates (specification 12.10)."""


@dataclass(frozen=True, slots=True)
class ReadyEntry:
    """An entry with what every request needs of it. ``names``: its keyword and keys, ``home``: the place where the
    author put it, both in plain form. ``text``: its line in a prompt with the author's content."""

    entry: LoreEntry
    names: frozenset[str]
    home: str
    text: str
    tokens: int

    @classmethod
    def of(cls, entry: LoreEntry) -> ReadyEntry:
        """Returns the entry with what every request needs of it."""
        names = frozenset(name(word) for word in (entry.keyword, *entry.keys)) - {""}
        text = line(entry.keyword, entry.content)
        return cls(entry, names, name(entry.location), text, _tokens(text))

    def told(self, mark: LoreMark | None) -> tuple[str, int]:
        """Returns the line and its tokens: with the content that the story gave it, else the author's."""
        if mark is None or mark.content is None:
            return self.text, self.tokens
        text = line(self.entry.keyword, mark.content)
        return text, _tokens(text)

    def place(self, mark: LoreMark | None) -> str:
        """Returns the plain name of the place where the entry is: where the story put it, else the author."""
        return self.home if mark is None or mark.location is None else name(mark.location)


@dataclass(frozen=True, slots=True)
class Lorebook:
    """The entries by id, and what leads to them. ``matcher``: the entries by their words. ``names``: the ids of entries
    by keyword and keys, ``places``: by the place where the author put them; both in plain form. ``always``: the enabled
    entries of ``ALWAYS``. ``enabled``: all enabled ones."""

    entries: Mapping[int, ReadyEntry]
    matcher: Matcher
    names: Mapping[str, tuple[int, ...]]
    places: Mapping[str, tuple[int, ...]]
    always: tuple[int, ...]
    enabled: frozenset[int]

    @classmethod
    def of(cls, entries: Iterable[LoreEntry]) -> Lorebook:
        """Builds the lorebook of these entries."""
        known = {entry.id: ReadyEntry.of(entry) for entry in entries}
        names = _by((word, id) for id, ready in known.items() for word in ready.names)
        places = _by((ready.home, id) for id, ready in known.items() if ready.home)
        enabled = [ready.entry for ready in known.values() if ready.entry.enabled]
        always = tuple(entry.id for entry in enabled if entry.layer in ALWAYS)
        return cls(known, Matcher(names), names, places, always, frozenset(entry.id for entry in enabled))


def line(keyword: str, content: str) -> str:
    """Returns an entry as it stands in a prompt."""
    return f"- {keyword}: {content.strip()}".replace("\n", "\n  ")


_tokens = lru_cache(maxsize=16384)(estimate)
"""The tokens of lorebook lines: more lines come back every turn than ``estimate`` remembers."""


def _by(pairs: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = defaultdict(list)
    for word, id in pairs:
        found[word].append(id)
    return {word: tuple(ids) for word, ids in found.items()}
