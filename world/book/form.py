"""An entry of a format of other programs: read into an entry of ours, and written so that nothing else changes.

A format is a table of its fields (``world.book.format``); reading and writing follow from it. What a file's entry says
beyond the table stays in ``LoreEntry.extra`` and is written as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from store.world.record import Layer, LoreEntry
from text.cut import cut_graphemes
from world.book.field import Field, WrongField, read_layer_field, set_at, value_at
from world.lore.decorator import decorator_lines, read_decorators
from world.lore.pattern import add_slashes, is_pattern
from world.lore.rule import NO_RULE, Rule, is_keyed, rule_of

KEYWORD_CHARS = 120
CONTENT_CHARS = 20_000
_OWN = frozenset({"keys", "content", "title", "comment", "enabled", "category", "raw_patterns"})
"""What a table may have beside the fields of a rule."""
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EntryForm:
    """The entries of one format. ``new``: the fields that an entry from elsewhere gets, by its number. ``finish``:
    mends the values that were read, where two fields of the format are one of ours. ``usual``: what its programs do
    where neither entry nor file says anything. ``joined``: keys are one text with commas."""

    name: str
    fields: Mapping[str, Field]
    new: Callable[[int], dict[str, Any]]
    finish: Callable[[Values, Mapping[str, Any]], Values] = lambda values, raw: values
    usual: Rule = NO_RULE
    joined: bool = False

    def read(self, raw: Any, usual: Rule, key: str = "") -> LoreEntry:
        """Returns the entry. ``usual``: what the file says for all its entries; ``key``: under which the entry stands
        in its file. Raises ``WrongField``."""
        if not isinstance(raw, Mapping):
            raise WrongField("not_object", field="entry")
        values = self.finish(self._values(raw), raw)
        rule = replace(usual, **{name: value for name, value in values.items() if name not in _OWN})
        decorated = read_decorators(str(values.get("content", "")), rule)
        content = decorated.content.strip()
        keys, patterns = _part_keys(values.get("keys", ()), bool(values.get("raw_patterns")), rule.case_sensitive)
        rule = replace(decorated.rule, patterns=patterns)
        first = (keys or patterns or (cut_graphemes(content, 30),))[0]
        title = (values.get("title") or values.get("comment") or first).strip()
        _check_entry(content, title)
        ours = _read_earlier_export(raw)
        own = ours.get("rule", {} if "layer" in ours else rule.plain)
        usual_layer: Layer = "A1" if rule.constant else "A2"
        return LoreEntry(
            id=0,
            keyword=cut_graphemes(title, KEYWORD_CHARS),
            content=content,
            category=str(ours.get("category") or values.get("category") or ""),
            layer=read_layer_field("extensions.gieok.layer", ours["layer"]) if "layer" in ours else usual_layer,
            keys=tuple(dict.fromkeys(keys)),
            location=str(ours.get("location") or ""),
            enabled=bool(values.get("enabled", ours.get("enabled", True))),
            extra={"format": self.name, "entry": dict(raw), "usual": usual.plain, "key": key},
            rule=own if isinstance(own, dict) else {},
        )

    def _values(self, raw: Mapping[str, Any]) -> Values:
        found = ((name, one, one.find(raw)) for name, one in self.fields.items())
        return {name: one.take(path, value_at(raw, path)) for name, one, path in found if path is not None}

    def write(self, entry: LoreEntry, at: int) -> dict[str, Any]:
        """Returns the entry in this format: as it came, with what was changed since; else as a new one."""
        came = entry.extra.get("entry") if entry.extra.get("format") == self.name else None
        raw = dict(came) if isinstance(came, Mapping) else self.new(at)
        usual = Rule.of(entry.extra["usual"]) if came is not None and "usual" in entry.extra else self.usual
        before = self._again(raw, usual) if came is not None else None
        if entry.rule is None and before is not None:
            entry = replace(entry, rule=before.rule)
        for name, one in self.fields.items():
            value = _field_value(name, entry)
            if value is None or (before is not None and _field_value(name, before) == value):
                continue
            if before is None and not one.always and value == _field_value(name, _PLAIN):
                continue
            path = one.find(raw) or one.paths[0]
            set_at(raw, path, self._write_value(name, one, entry, raw))
        again = self._again(raw, usual)
        if again is None or _noted_values(again) != _noted_values(entry):
            set_at(raw, "extensions.gieok", dict(zip(_NOTED, _noted_values(entry), strict=True)))
        return raw

    def _write_value(self, name: str, one: Field, entry: LoreEntry, raw: Mapping[str, Any]) -> Any:
        value = _field_value(name, entry)
        if name == "content":
            return "\n".join((*decorator_lines(str(value_at(raw, one.paths[0]) or "")), value))
        given = one.give(value)
        return ",".join(given) if self.joined and isinstance(given, list) else given

    def _again(self, raw: Mapping[str, Any], usual: Rule) -> LoreEntry | None:
        try:
            return self.read(raw, usual)
        except WrongField:
            return None


_PLAIN = LoreEntry(0, "", "", rule=Rule().plain)
"""An entry that says nothing: what it shares with one that is written needs no field."""


def _field_value(name: str, entry: LoreEntry) -> Any:
    """Returns what a field of a table says of an entry; None for one that is not written."""
    if name == "keys":
        return (*rule_of(entry).patterns, *entry.keys)
    if name in _OWN:
        own = {"content": entry.content, "title": entry.keyword, "comment": entry.keyword, "enabled": entry.enabled}
        return own.get(name)
    if name.startswith("source_"):
        return name.removeprefix("source_") in rule_of(entry).sources
    if name == "constant":
        return rule_of(entry).constant if is_keyed(entry) else entry.layer == "A1"
    return getattr(rule_of(entry), name, None)


def reread_entry(entry: LoreEntry, form: EntryForm) -> LoreEntry:
    """Returns an entry that came from a file before rules were kept, with the rule of that file: its secondary keys are
    no names of it, and its decorators no text."""
    try:
        fresh = form.read(entry.extra.get("entry"), Rule())
    except WrongField:
        return replace(entry, rule={})
    second = {*rule_of(fresh).secondary} - {*fresh.keys}
    keys = tuple(key for key in entry.keys if key not in second)
    content = read_decorators(entry.content, Rule()).content.strip()
    return replace(entry, rule=fresh.rule, keys=keys, content=content or entry.content)


_NOTED = ("layer", "category", "location", "enabled", "rule")


def _noted_values(entry: LoreEntry) -> tuple[Any, ...]:
    """Returns what must be found again in a file that was written; what a format has no field for is noted."""
    rule = rule_of(entry).plain if is_keyed(entry) else {}
    return entry.layer, entry.category, entry.location, entry.enabled, rule


def _part_keys(keys: tuple[str, ...], raw: bool, case: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the keys that are words, and those that are patterns. ``raw``: all of them are patterns, also without
    slashes."""
    flags = "" if case else "i"
    patterns = [key if is_pattern(key) else add_slashes(key, flags) for key in keys if raw or is_pattern(key)]
    return tuple(key for key in keys if not raw and not is_pattern(key)), tuple(patterns)


def _check_entry(content: str, title: str) -> None:
    if len(content) > CONTENT_CHARS:
        raise WrongField("too_long", field="content", size=len(content), limit=CONTENT_CHARS)
    if not content or not title:
        raise WrongField("empty", field="content")


def _read_earlier_export(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what an earlier export of Gieok noted in the entry."""
    ours = value_at(raw, "extensions.gieok")
    return ours if isinstance(ours, Mapping) else {}
