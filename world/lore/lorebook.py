"""A lorebook that is ready for many requests: built once for each revision, never changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from model.call.token import estimate
from store.world.record import LoreEntry, LoreMark
from world.lore.mention import Matcher, name

ALWAYS = ("A1", "A2")
"""The layers whose entries are always candidates (specification 7.2)."""
_tokens = lru_cache(maxsize=16384)(estimate)
"""The tokens of lorebook lines: more lines come back every turn than ``estimate`` remembers."""


@dataclass(frozen=True, slots=True)
class Lorebook:
    """The entries by id, and what leads to them. ``matcher``: the entries by their words. ``names``: the ids of entries
    by keyword and keys, ``places``: by the place where the author put them; both in plain form. ``always``: the enabled
    entries of ``ALWAYS``. ``enabled``: how many are."""

    entries: Mapping[int, LoreEntry]
    matcher: Matcher
    names: Mapping[str, tuple[int, ...]]
    places: Mapping[str, tuple[int, ...]]
    always: tuple[int, ...]
    enabled: int

    @classmethod
    def of(cls, entries: Iterable[LoreEntry]) -> Lorebook:
        """Builds the lorebook of these entries."""
        known = {entry.id: entry for entry in entries}
        words: dict[str, list[int]] = defaultdict(list)
        names: dict[str, list[int]] = defaultdict(list)
        places: dict[str, list[int]] = defaultdict(list)
        for entry in known.values():
            for word in _words(entry):
                words[word].append(entry.id)
                names[name(word)].append(entry.id)
            if entry.location:
                places[name(entry.location)].append(entry.id)
        enabled = [entry for entry in known.values() if entry.enabled]
        always = tuple(entry.id for entry in enabled if entry.layer in ALWAYS)
        return cls(known, Matcher(words), _fixed(names), _fixed(places), always, len(enabled))


def _words(entry: LoreEntry) -> Iterator[str]:
    return (word for word in dict.fromkeys((entry.keyword, *entry.keys)) if word.strip())


def _fixed(ids: Mapping[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {word: tuple(dict.fromkeys(found)) for word, found in ids.items()}


def line(entry: LoreEntry, mark: LoreMark | None) -> str:
    """Returns the entry as it stands in a prompt: with the content that the story gave it, else the author's."""
    content = entry.content if mark is None or mark.content is None else mark.content
    return f"- {entry.keyword}: {content.strip()}".replace("\n", "\n  ")


def tokens(text: str) -> int:
    """Returns the estimated tokens of an entry's line, remembered."""
    return _tokens(text)


def place(entry: LoreEntry, mark: LoreMark | None) -> str:
    """Returns the plain name of the place where the entry is: where the story put it, else the author."""
    return name(entry.location if mark is None or mark.location is None else mark.location)
