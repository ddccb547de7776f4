"""Which keyed entries are active and why: a pure function of the entries, the texts, the history and a seed.

The order of the checks is SillyTavern's (``checkWorldInfo``): timed effects, recursion, decorators, constant, sticky,
keys; then inclusion groups and chances, again for every step of recursion. Chances and groups are drawn from a hash of
the turn and the answer's number among its siblings, so a request is decided the same however often it is made.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from text.fold import fold_name
from world.lore.key import FORMS, Form, Key, ScannedText, read_keys
from world.lore.rule import Rule, Source

MOST_STEPS = 16
"""Steps of recursion after which it ends whatever the entries say."""
NAMED = 2
"""Messages whose names come before everybody else: the question and the answer before it."""
How = Literal["constant", "key", "sticky", "activate", "again", "vector"]
Hindrance = Literal[
    "secondary", "required", "excluded", "chance", "group", "cooldown", "delay", "answers", "once", "trigger",
    "character", "greeting", "dont_activate",
]  # fmt: skip
"""What kept an entry out although one of its keys stands there."""
Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KeyedEntry:
    """An entry with its rule, ready to be looked for. ``content``: what recursion reads."""

    id: int
    rule: Rule
    keys: tuple[Key, ...]
    secondary: tuple[Key, ...]
    required: tuple[tuple[Key, ...], ...]
    excluded: tuple[tuple[Key, ...], ...]
    excluded_all: tuple[tuple[Key, ...], ...]
    content: str

    @classmethod
    def of(cls, id: int, rule: Rule, keys: Sequence[str], content: str) -> KeyedEntry:
        """Returns an entry with all its keys made ready; names stand in them for macros."""
        required, excluded, excluded_all = (
            tuple(read_keys(some, rule) for some in lists)
            for lists in (rule.required, rule.excluded, rule.excluded_all)
        )
        first, second = read_keys((*keys, *rule.patterns), rule), read_keys(rule.secondary, rule)
        return cls(id, rule, first, second, required, excluded, excluded_all, content)


class KeyedBook:
    """The enabled keyed entries of a lorebook, the highest order first, with an index of their keys: a request looks at
    those entries only whose keys begin somewhere as its text does, whatever the size of the book."""

    def __init__(self, entries: Iterable[KeyedEntry] = ()) -> None:
        self.entries = tuple(sorted(entries, key=lambda one: (-one.rule.order, one.id)))
        self.by_id = {one.id: one for one in self.entries}
        self.rank = {one.id: rank for rank, one in enumerate(self.entries)}
        self.always = frozenset(one.id for one in self.entries if _is_always_asked(one))
        self.depth = max((one.rule.scan_depth for one in self.entries), default=0)
        self.rules = tuple(one.rule for one in self.entries)
        self.asks_vectors = any(rule.vectorized for rule in self.rules)
        self._starts: dict[Form, dict[str, set[int]]] = {form: defaultdict(set) for form in FORMS}
        for one in self.entries:
            for key in one.keys:
                if key.needle:
                    self._starts[key.form][key.needle[:2]].add(one.id)
        self._single = {form for form, starts in self._starts.items() if any(len(start) == 1 for start in starts)}

    def find(self, texts: Sequence[str]) -> set[int]:
        """Returns the ids of the entries that have a key whose first two letters stand in the texts."""
        text, found = ScannedText(texts), set[int]()
        for form, starts in self._starts.items():
            if starts:
                hay = text.in_form(form)
                here = set(map(str.__add__, hay, hay[1:]))
                here |= set(hay) if form in self._single else set()
                for start in here & starts.keys():
                    found |= starts[start]
        return found


def _is_always_asked(entry: KeyedEntry) -> bool:
    """Returns whether an entry may be active without one of its words in the text."""
    rule, has_pattern = entry.rule, any(key.pattern is not None for key in entry.keys)
    return bool(rule.constant or rule.forced == "on" or rule.keeps or rule.vectorized or has_pattern)


@dataclass(frozen=True, slots=True)
class Scan:
    """What is looked through for one request, and where its story stands.

    ``messages``: speakers and texts, the newest first. ``sources``: the texts beside the chat. ``triggers``: the kinds
    of this request. ``names``, ``tags``: of the story's character. ``count``: messages there are, as SillyTavern counts
    them; ``answers``: those of the narrator. ``greeting``: the number of the greeting that the story began with, None
    where that is not known. ``seed``: the same for the same turn and answer. ``effects``: of the turn before
    (``ActivationDecision.effects``).
    """

    messages: tuple[tuple[str, str], ...] = ()
    sources: Mapping[Source, str] = field(default_factory=dict)
    triggers: frozenset[str] = frozenset({"normal"})
    names: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    count: int = 1
    answers: int = 0
    greeting: int | None = None
    seed: str = ""
    effects: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Activation:
    """Why an entry is active. ``key``: the one that was found; ``second``: the secondary key that decided; ``step``: of
    recursion, 0 for the first look; ``named``: a key stands in the last two messages."""

    how: How
    key: str = ""
    second: str = ""
    step: int = 0
    named: bool = False


@dataclass(frozen=True, slots=True)
class BlockedEntry:
    """Why an entry is not active although a key of it was found. ``detail``: the key, the chance and the number drawn,
    the messages still to come."""

    hindrance: Hindrance
    key: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ActivationDecision:
    """The active entries by id, and those whose key stands there while something keeps them out."""

    active: Mapping[int, Activation]
    blocked: Mapping[int, BlockedEntry]
    _timing: _Timing
    _entries: Mapping[int, KeyedEntry]

    def effects(self, taken: Iterable[int]) -> Plain:
        """Returns what later turns of this branch need to know, as plain JSON; ``taken``: the entries in the prompt."""
        return self._timing.after([self._entries[id] for id in taken if id in self.active])


class _Timing:
    """Sticky, cooldown and what was ever active, at one request; counted from the effects of the turn before."""

    def __init__(self, entries: Mapping[int, KeyedEntry], scan: Scan) -> None:
        self._count = scan.count
        self.seen = set(scan.effects.get("seen", ()))
        self.sticky = {int(id): tuple(span) for id, span in scan.effects.get("sticky", {}).items()}
        self.cooldown = {int(id): tuple(span) for id, span in scan.effects.get("cooldown", {}).items()}
        ended = [id for id, (_, end) in self.sticky.items() if scan.count >= end]
        self.sticky = {id: span for id, span in self.sticky.items() if id not in ended}
        self.cooldown = {id: span for id, span in self.cooldown.items() if scan.count < span[1]}
        for id in ended:  # a cooldown begins when the entry has been sticky
            if id in entries and (length := entries[id].rule.cooldown):
                self.cooldown[id] = (scan.count, scan.count + length)

    def messages_left(self, id: int) -> int:
        """Returns for how many messages an entry is still cooling down."""
        return int(self.cooldown[id][1] - self._count)

    def after(self, taken: Iterable[KeyedEntry]) -> Plain:
        """Returns the effects with those that begin now."""
        sticky, cooldown, seen = dict(self.sticky), dict(self.cooldown), set(self.seen)
        for entry in taken:
            rule, id, now = entry.rule, entry.id, self._count
            if rule.sticky:
                sticky.setdefault(id, (now, now + rule.sticky))
            if rule.cooldown:
                cooldown.setdefault(id, (now, now + rule.cooldown))
            if rule.keeps or rule.once:
                seen.add(id)
        spans = {"sticky": sticky, "cooldown": cooldown}
        plain: Plain = {
            name: {str(id): list(span) for id, span in found.items()} for name, found in spans.items() if found
        }
        return plain | ({"seen": sorted(seen)} if seen else {})


def decide_activation(book: KeyedBook, scan: Scan, near: frozenset[int] = frozenset()) -> ActivationDecision:
    """Returns which entries are active. ``near``: those that are among the nearest to the question by their vectors; it
    counts where the author asked for that."""
    return _Round(book, scan, near).run()


class _Round:
    """The steps of one decision."""

    def __init__(self, book: KeyedBook, scan: Scan, near: frozenset[int]) -> None:
        self._book, self._scan, self._near = book, scan, near
        self._timing = _Timing(book.by_id, scan)
        self._waiting = {*book.always, *self._timing.sticky, *near} & book.by_id.keys()
        self._seen = set(self._waiting)
        self._active: dict[int, Activation] = {}
        self._blocked: dict[int, BlockedEntry] = {}
        self._found: list[str] = []
        self._texts: dict[tuple[int, tuple[Source, ...], bool], ScannedText] = {}
        self._taken: set[str] = set()
        last = scan.messages[:NAMED]
        self._last = ScannedText(
            [text for _, text in last], [f"{name}: {text}" if name else text for name, text in last]
        )
        self._levels = sorted({rule.recursion_delay for rule in book.rules if rule.recursion_delay})
        self._level = self._levels.pop(0) if self._levels else 0

    def run(self) -> ActivationDecision:
        new = [*(text for _, text in self._scan.messages[: self._book.depth]), *self._scan.sources.values()]
        for step in range(MOST_STEPS):
            hits = self._book.find(new) - self._seen
            self._waiting |= hits
            self._seen |= hits
            taken = self._take(self._look(step), step)
            new = [one.content for one in taken if one.rule.recursive and not one.rule.recursion_prevented]
            if not new and not self._levels:
                break
            if not new:
                self._level = self._levels.pop(0)
            self._found += new
            self._texts = {asked: text for asked, text in self._texts.items() if not asked[2]}
        blocked = {id: block for id, block in self._blocked.items() if id not in self._active}
        return ActivationDecision(self._active, blocked, self._timing, self._book.by_id)

    def _look(self, step: int) -> list[tuple[KeyedEntry, Activation]]:
        """Returns the waiting entries that are active at this step, the highest order first."""
        found = []
        for id in sorted(self._waiting, key=self._book.rank.__getitem__):
            entry = self._book.by_id[id]
            activation = self._check(entry, step)
            if activation is not None:
                found.append((entry, activation))
                self._waiting.remove(id)
        return found

    def _check(self, entry: KeyedEntry, step: int) -> Activation | None:
        """Returns why an entry is active; None when it is not."""
        rule, id, timing = entry.rule, entry.id, self._timing
        sticky = id in timing.sticky
        if not sticky and (rule.recursion_delay > (self._level if step else 0)):
            return None
        if not sticky and step and (rule.recursion_excluded or not rule.recursive):
            return None
        if rule.forced == "on":
            return self._unless(entry, Activation("activate", step=step))
        if rule.keeps and id in timing.seen:
            return self._unless(entry, Activation("again", step=step))
        if rule.constant:
            return self._unless(entry, Activation("constant", step=step))
        if sticky:
            return self._unless(entry, Activation("sticky", step=step))
        if rule.vectorized and id in self._near:
            return self._unless(entry, Activation("vector", step=step))
        if rule.scan_depth <= 0 or not entry.keys:
            return None
        text = self._text(rule, bool(step))
        key = next((one for one in entry.keys if one.is_in(text)), None)
        if key is None:
            return None
        second = self._second(entry, text, key)
        if second is None:
            return None
        named = any(one.is_in(self._last) for one in entry.keys)
        return self._unless(entry, Activation("key", key.text, second, step, named))

    def _text(self, rule: Rule, recursed: bool) -> ScannedText:
        """Returns what the rule looks through: messages, texts beside them, and what other entries say."""
        recursed = recursed and bool(self._found)
        asked = (rule.scan_depth, rule.sources, recursed)
        if asked not in self._texts:
            messages = self._scan.messages[: rule.scan_depth]
            more = [text for source in rule.sources if (text := self._scan.sources.get(source, ""))]
            more += self._found if recursed else []
            named = [f"{name}: {text}" if name else text for name, text in messages]
            self._texts[asked] = ScannedText([*(text for _, text in messages), *more], [*named, *more])
        return self._texts[asked]

    def _second(self, entry: KeyedEntry, text: ScannedText, key: Key) -> str | None:
        """Returns the secondary key that decided, empty for none; None when the other keys keep the entry out."""
        rule, second = entry.rule, ""
        if rule.selective and entry.secondary:
            named = [one for one in entry.secondary if one.is_in(text)]
            fits, detail = _SECONDARY[rule.logic](entry.secondary, named)
            if not fits:
                self._block(entry, "secondary", key.text, detail)
                return None
            second = named[0].text if named else ""
        for keys in entry.required:
            if not any(one.is_in(text) for one in keys):
                self._block(entry, "required", key.text, ", ".join(one.text for one in keys))
                return None
        for keys in entry.excluded:
            if hit := next((one for one in keys if one.is_in(text)), None):
                self._block(entry, "excluded", key.text, hit.text)
                return None
        for keys in entry.excluded_all:
            if all(one.is_in(text) for one in keys):
                self._block(entry, "excluded", key.text, ", ".join(one.text for one in keys))
                return None
        return second

    def _unless(self, entry: KeyedEntry, activation: Activation) -> Activation | None:
        """Returns the activation unless something other than keys keeps the entry out. Asked last, so that what is
        told about an entry begins with a key that stands there."""
        hindrance = _find_hindrance(entry, self._scan, self._timing)
        if hindrance is None:
            return activation
        self._block(entry, hindrance[0], activation.key, hindrance[1])
        return None

    def _block(self, entry: KeyedEntry, hindrance: Hindrance, key: str, detail: str = "") -> None:
        self._blocked[entry.id] = BlockedEntry(hindrance, key, detail)

    # --- groups and chances ---------------------------------------------------------------------

    def _take(self, found: list[tuple[KeyedEntry, Activation]], step: int) -> list[KeyedEntry]:
        """Returns the entries that are active now, after inclusion groups and chances."""
        reasons = {entry.id: activation for entry, activation in found}
        sticky_first = sorted((entry for entry, _ in found), key=lambda one: one.id not in self._timing.sticky)
        new = []
        for entry in self._choose_of_groups(sticky_first, step):
            drawn = self._draw(entry.id, "chance") * 100
            needs_none = entry.rule.chance >= 100 or entry.id in self._timing.sticky
            if needs_none or drawn < entry.rule.chance:
                new.append(entry)
                self._active[entry.id] = reasons[entry.id]
                self._taken.update(entry.rule.groups)
            else:
                self._block(entry, "chance", reasons[entry.id].key, f"{drawn:.0f} / {entry.rule.chance:g} %")
        return new

    def _choose_of_groups(self, entries: list[KeyedEntry], step: int) -> list[KeyedEntry]:
        """Returns the entries without those that another one of their group keeps out."""
        groups: dict[str, list[KeyedEntry]] = defaultdict(list)
        for entry in entries:
            for name in entry.rule.groups:
                groups[name].append(entry)
        lost = set[int]()
        for name, members in groups.items():
            here = [one for one in members if one.id not in lost]
            keep = self._winners(name, here, step)
            for one in here:
                if one.id not in keep:
                    lost.add(one.id)
                    self._block(one, "group", "", name)
        return [entry for entry in entries if entry.id not in lost]

    def _winners(self, name: str, members: list[KeyedEntry], step: int) -> set[int]:
        """Returns the ids of those of a group that stay: sticky ones, else one."""
        sticky = {one.id for one in members if one.id in self._timing.sticky}
        if sticky:
            return sticky
        if any(one.rule.group_scored for one in members):
            scores = {one.id: self._score(one, bool(step)) for one in members}
            best = max(scores.values())
            members = [one for one in members if not one.rule.group_scored or scores[one.id] == best]
        if name in self._taken:
            return set()
        first = next((one for one in members if one.rule.group_first), None)  # the highest order stands first
        if first is not None or len(members) < 2:
            return {one.id for one in (members[:1] if first is None else [first])}
        drawn = self._draw(name, "group") * sum(max(0.0, one.rule.group_weight) for one in members)
        for one in members:
            drawn -= max(0.0, one.rule.group_weight)
            if drawn < 0:
                return {one.id}
        return {members[-1].id}

    def _score(self, entry: KeyedEntry, recursed: bool) -> int:
        """Returns how many keys of an entry are named, as SillyTavern scores a group."""
        text = self._text(entry.rule, recursed)
        first = sum(one.is_in(text) for one in entry.keys)
        second = sum(one.is_in(text) for one in entry.secondary)
        if entry.rule.logic == "and_any" or (entry.rule.logic == "and_all" and second == len(entry.secondary)):
            return first + second if entry.keys else 0
        return first

    def _draw(self, what: object, why: str) -> float:
        """Returns a number from 0 up to 1 that only depends on the turn, the answer's number and ``what``."""
        digest = hashlib.blake2b(f"{self._scan.seed}|{why}|{what}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64


def _find_hindrance(entry: KeyedEntry, scan: Scan, timing: _Timing) -> tuple[Hindrance, str] | None:
    """Returns what other than keys keeps an entry out, with a detail."""
    rule, id = entry.rule, entry.id
    if rule.delay > scan.count:
        return "delay", str(rule.delay - scan.count)
    if id in timing.cooldown and id not in timing.sticky:
        return "cooldown", str(timing.messages_left(id))
    if rule.triggers and not scan.triggers & {*rule.triggers}:
        return "trigger", ", ".join(rule.triggers)
    if _is_for_others(rule, scan):
        return "character", ", ".join((*rule.characters, *rule.tags))
    if rule.greeting is not None and scan.greeting is not None and rule.greeting != scan.greeting:
        return "greeting", str(rule.greeting)
    if rule.forced == "on":
        return None
    if rule.forced == "off":
        return "dont_activate", ""
    if rule.once and id in timing.seen:
        return "once", ""
    if rule.keeps and id in timing.seen:
        return None
    if scan.answers < rule.after_answers:
        return "answers", str(rule.after_answers - scan.answers)
    if rule.every_answers > 1 and scan.answers % rule.every_answers:
        return "answers", str(rule.every_answers - scan.answers % rule.every_answers)
    return None


def _is_for_others(rule: Rule, scan: Scan) -> bool:
    """Returns whether the rule's filter keeps the story's character out. Nothing is filtered where neither is known."""
    names = set(map(loosen_name, rule.characters)) | {loosen_name(one).rstrip("0123456789") for one in rule.characters}
    tags = {fold_name(one) for one in rule.tags if not is_tag_id(one)}
    for wanted, here in ((names, set(map(loosen_name, scan.names))), (tags, scan.tags)):
        if wanted and here and bool(here & wanted) == rule.outsiders:
            return True
    return False


def loosen_name(name: str) -> str:
    """Returns the name of a character, or of SillyTavern's file with it, in the form in which the two are compared."""
    return re.sub(r"^default_(?=.)|\.png$|[\W_]+", "", fold_name(name))


def is_tag_id(tag: str) -> bool:
    """Returns whether a tag is SillyTavern's own number for one, which only its installation knows."""
    return re.fullmatch(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{10,}", tag.strip().casefold()) is not None


def _list_unnamed(keys: Sequence[Key], named: Sequence[Key]) -> str:
    return ", ".join(one.text for one in keys if one not in named)


_SECONDARY = {
    "and_any": lambda keys, named: (bool(named), _list_unnamed(keys, named)),
    "and_all": lambda keys, named: (len(named) == len(keys), _list_unnamed(keys, named)),
    "not_any": lambda keys, named: (not named, ", ".join(one.text for one in named)),
    "not_all": lambda keys, named: (len(named) < len(keys), ", ".join(one.text for one in named)),
}
"""By the logic: whether the secondary keys let the entry be active, and the keys that keep it out."""
