"""A lorebook that is ready for many requests: built once for each revision, never changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from model.call.token import estimate_tokens
from store.world.record import LoreEntry, LoreMark
from world.lore.activation import KeyedBook, KeyedEntry
from world.lore.macro import NOBODY, Moment, Names, expand_macros, has_changing
from world.lore.mention import Matcher, name
from world.lore.rule import Rule, is_keyed, rule_of
from world.naming.spelling import is_bent, reduce_name

ALWAYS = ("A1", "A2")
"""The layers whose entries are always candidates (specification 12.10)."""


@dataclass(frozen=True, slots=True)
class ReadyEntry:
    """An entry with what every request needs of it. ``names``: its keyword and keys, ``home``: the place where the
    author put it, both in plain form. ``text``: its line in a prompt with the author's content. ``rule``: None for an
    entry that is active by its layer. ``fillers``: the names for its macros; ``changing``: it has macros whose text may
    be another one in every turn."""

    entry: LoreEntry
    names: frozenset[str]
    home: str
    text: str
    tokens: int
    rule: Rule | None = None
    fillers: Names = NOBODY
    changing: bool = False

    @classmethod
    def of(cls, entry: LoreEntry, fillers: Names = NOBODY) -> ReadyEntry:
        """Returns the entry with what every request needs of it."""
        rule = rule_of(entry) if is_keyed(entry) else None
        fillers = replace(fillers, character=rule.character or fillers.character) if rule is not None else fillers
        names = frozenset(name(fillers.fill(word)) for word in (entry.keyword, *entry.keys)) - {""}
        text = _line_of(entry, entry.content, rule, fillers, None)
        changing = has_changing(entry.content)
        return cls(entry, names, name(entry.location), text, _tokens(text), rule, fillers, changing)

    def render_line(self, mark: LoreMark | None, moment: Moment | None = None) -> tuple[str, int]:
        """Returns the line and its tokens: with the content that the story gave it, else the author's."""
        rewritten = mark is not None and mark.content is not None
        if not rewritten and not self.changing:
            return self.text, self.tokens
        content = mark.content if mark is not None and mark.content is not None else self.entry.content
        text = _line_of(self.entry, content, self.rule, self.fillers, moment)
        return text, _tokens(text)

    def place(self, mark: LoreMark | None) -> str:
        """Returns the plain name of the place where the entry is: where the story put it, else the author."""
        return self.home if mark is None or mark.location is None else name(mark.location)


@dataclass(frozen=True, slots=True)
class Lorebook:
    """The entries by id, and what leads to them. ``matcher``: the entries by their words. ``names``: the ids of entries
    by keyword and keys, ``places``: by the place where the author put them; both in plain form. ``always``: the enabled
    entries of ``ALWAYS`` that are active by their layer. ``enabled``: all enabled ones. ``keyed``: the enabled ones
    that are active by a rule. ``called``: the ids by bare names (``world.naming``).
    ``links``: of every id those of the layered entries that its content names, or whose content names it."""

    entries: Mapping[int, ReadyEntry]
    matcher: Matcher
    names: Mapping[str, tuple[int, ...]]
    places: Mapping[str, tuple[int, ...]]
    always: tuple[int, ...]
    enabled: frozenset[int]
    keyed: KeyedBook = field(default_factory=KeyedBook)
    called: Mapping[str, frozenset[int]] = field(default_factory=dict)
    links: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def find_called(self, word: str) -> frozenset[str]:
        """Returns all bare names of the one entry that is called so; empty where none is, or several are."""
        own = reduce_name(word)
        ids = self.called.get(own) or next(
            (
                self.called[own[:end]]
                for end in range(len(own) - 1, 1, -1)
                if own[:end] in self.called and is_bent(own, own[:end])
            ),
            frozenset(),
        )
        if len(ids) != 1:
            return frozenset()
        return frozenset(map(reduce_name, self.entries[next(iter(ids))].names))

    @property
    def constant_tokens(self) -> int:
        """Returns what the entries take that are always active and take of the budget."""
        ready = (self.entries[id] for id in self.keyed.always)
        return sum(one.tokens for one in ready if one.rule and one.rule.constant and not one.rule.budget_free)

    @classmethod
    def of(cls, entries: Iterable[LoreEntry], fillers: Names = NOBODY) -> Lorebook:
        """Builds the lorebook of these entries. ``fillers``: the names for the macros ``{{user}}`` and ``{{char}}``."""
        known = {entry.id: ReadyEntry.of(entry, fillers) for entry in entries}
        names = _group_ids_by_word((word, id) for id, ready in known.items() for word in ready.names)
        places = _group_ids_by_word((ready.home, id) for id, ready in known.items() if ready.home)
        enabled = [ready for ready in known.values() if ready.entry.enabled]
        always = tuple(one.entry.id for one in enabled if one.rule is None and one.entry.layer in ALWAYS)
        keyed = KeyedBook(_ready_keyed(one, one.rule) for one in enabled if one.rule is not None)
        ids = frozenset(one.entry.id for one in enabled)
        called = {
            word: frozenset(found)
            for word, found in _group_ids_by_word(
                (reduce_name(word), id) for word in names for id in names[word]
            ).items()
        }
        matcher = Matcher(names)
        layered = {one.entry.id: one.entry.content for one in enabled if one.rule is None}
        return cls(known, matcher, names, places, always, ids, keyed, called, _find_links(layered, matcher))


def _find_links(contents: Mapping[int, str], matcher: Matcher) -> dict[int, frozenset[int]]:
    """Returns to which entries every entry is linked: those that its content names, and those whose content names it.
    Only entries that are active by their layer come along by a link."""
    links: dict[int, set[int]] = defaultdict(set)
    for id, content in contents.items():
        for other in matcher.find(content) - {id}:
            links[other].add(id)
            if other in contents:
                links[id].add(other)
    return {id: frozenset(others) for id, others in links.items()}


def render_entry_line(keyword: str, content: str) -> str:
    """Returns an entry as it stands in a prompt."""
    return f"- {keyword}: {content.strip()}".replace("\n", "\n  ")


def _line_of(entry: LoreEntry, content: str, rule: Rule | None, fillers: Names, moment: Moment | None) -> str:
    """Returns an entry's line. A keyed one stands without its name, which its author wrote for himself."""
    content = expand_macros(content, fillers, str(entry.id), moment)
    if rule is None:
        return render_entry_line(fillers.fill(entry.keyword), content)
    return f"- {content.strip()}".replace("\n", "\n  ")


def _ready_keyed(ready: ReadyEntry, rule: Rule) -> KeyedEntry:
    fill = ready.fillers.fill
    content = expand_macros(ready.entry.content, ready.fillers, str(ready.entry.id))
    named = replace(
        rule,
        patterns=tuple(map(fill, rule.patterns)),
        secondary=tuple(map(fill, rule.secondary)),
        required=tuple(tuple(map(fill, keys)) for keys in rule.required),
        excluded=tuple(tuple(map(fill, keys)) for keys in rule.excluded),
        excluded_all=tuple(tuple(map(fill, keys)) for keys in rule.excluded_all),
    )
    return KeyedEntry.of(ready.entry.id, named, [fill(key) for key in ready.entry.keys], content)


_tokens = lru_cache(maxsize=16384)(estimate_tokens)
"""The tokens of lorebook lines: more lines come back every turn than ``estimate_tokens`` remembers."""


def _group_ids_by_word(pairs: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = defaultdict(list)
    for word, id in pairs:
        found[word].append(id)
    return {word: tuple(ids) for word, ids in found.items()}
