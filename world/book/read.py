"""Reads lorebooks and cards: World Info, character cards v2 and v3 (JSON, PNG, CHARX), RisuAI.

A field with a wrong value is named, and its entry left out; the other entries stay. A file that is none of these
raises ``BadBook``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from errors import FileTooLarge
from store.world.record import Layer, LoreEntry
from text.clean import clean
from world.book.container import bad, card_in_charx, card_in_png, is_png, is_zip
from world.book.field import FIELDS, Format, Problem, WrongField, family, layer
from world.book.model import Book, Card, named

LIMIT = 30_000_000
"""Largest file in bytes."""
MOST_ENTRIES = 5000
KEYWORD_CHARS = 120
CONTENT_CHARS = 20_000
CARDS: dict[str, Format] = {"chara_card_v2": "card_v2", "chara_card_v3": "card_v3"}


def read_book(data: bytes, name: str = "", player: str = "") -> Book:
    """Returns what a file holds. ``name``: the file's, for a book without a name of its own; ``player``: the name that
    stands for ``{{user}}``, empty to keep the macro. Raises ``BadBook``, ``FileTooLarge``."""
    value, picture = _json(data, name)
    try:
        return _book(value, picture, name, player)
    except WrongField as error:
        raise bad(name, error.code, **error.values) from error


def _json(data: bytes, name: str) -> tuple[Any, bytes]:
    """Returns the JSON of the file, and its picture. Raises ``BadBook``."""
    if len(data) > LIMIT:
        raise FileTooLarge(size=len(data), limit=LIMIT)
    content, picture = data, b""
    if is_png(data):
        content, picture = card_in_png(data, name), data
    elif is_zip(data):
        content, picture = card_in_charx(data, name, LIMIT)
    try:
        return _cleaned(json.loads(content.decode("utf-8-sig"))), picture
    except (ValueError, RecursionError) as error:
        raise bad(name, "no_json" if content is data else "damaged") from error


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    return {clean(key): _cleaned(one) for key, one in value.items()} if isinstance(value, dict) else value


def _book(value: Any, picture: bytes, name: str, player: str) -> Book:
    if not isinstance(value, Mapping):
        raise bad(name, "no_book")
    if value.get("spec") in CARDS or isinstance(value.get("data"), Mapping):
        return _card(value, picture, name, player)
    if value.get("type") == "risu" and isinstance(value.get("data"), list):
        return _entries("risu", value["data"], "data", _title(value, name), player)
    if "entries" in value:
        form: Format = "card_v3" if _looks_like_card(value["entries"]) else "world_info"
        return _entries(form, value["entries"], "entries", _title(value, name), player)
    raise bad(name, "no_book")


def _card(value: Mapping[str, Any], picture: bytes, name: str, player: str) -> Book:
    spec, data = value.get("spec"), value.get("data")
    if spec not in CARDS:
        raise WrongField("not_known", field="spec", known=", ".join(CARDS))
    if not isinstance(data, Mapping):
        raise WrongField("not_object", field="data")
    if not isinstance(data.get("name"), str) or not data["name"].strip():
        raise WrongField("empty", field="data.name")
    card = Card(data["name"].strip(), dict(data), picture)
    book = data.get("character_book")
    if book is None:
        return Book(card.name, (), card)
    if not isinstance(book, Mapping):
        return Book(card.name, (), card, (Problem("data", "not_object", {"field": "character_book"}),))
    title = str(book.get("name") or card.name)
    read = _entries(CARDS[spec], book.get("entries"), "character_book.entries", title, player, card.name)
    return Book(title, read.entries, card, read.problems)


@dataclass
class _Reading:
    """The entries of one file while they are read."""

    form: Format
    player: str
    character: str
    entries: list[LoreEntry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def take(self, place: str, given: Any) -> None:
        """Adds one entry, or the reason why it was left out."""
        try:
            entry, pattern = _entry(given, self.form, self.character, self.player)
        except WrongField as error:
            self.problems.append(Problem(place, error.code, error.values))
            return
        self.entries.append(entry)
        if pattern:
            self.problems.append(Problem(place, "regex", {"key": pattern}, left_out=False))


def _entries(form: Format, given: Any, place: str, title: str, player: str, character: str = "") -> Book:
    reading = _Reading(form, player, character)
    for at, (where, entry) in enumerate(_each(given, place)):
        if at >= MOST_ENTRIES:
            reading.problems.append(Problem(place, "too_many", {"limit": MOST_ENTRIES}))
            break
        reading.take(where, entry)
    return Book(title, tuple(reading.entries), None, tuple(reading.problems))


def _each(given: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yields every entry with its place in the file: lists and SillyTavern's objects with numbers."""
    if isinstance(given, Mapping):
        yield from ((f"{place}.{key}", entry) for key, entry in given.items())
    elif isinstance(given, list):
        yield from ((f"{place}[{at}]", entry) for at, entry in enumerate(given))
    elif given is not None:
        raise WrongField("not_entries", field=place)


def _entry(given: Any, form: Format, character: str, player: str) -> tuple[LoreEntry, str]:
    """Returns the entry, and the first key of it that is not used, if any. Raises ``WrongField``."""
    if not isinstance(given, Mapping):
        raise WrongField("not_object", field="entry")
    values = {name: _value(one, given, form) for name, one in FIELDS.items()}
    content = named(values["content"], character, player).strip()
    if len(content) > CONTENT_CHARS:
        raise WrongField("too_long", field="content", size=len(content), limit=CONTENT_CHARS)
    keys, pattern = _plain_keys(values["keys"], values["regex"])
    keyword = (values["name"] or values["comment"] or (keys[0] if keys else content[:30])).strip()[:KEYWORD_CHARS]
    if not content or not keyword:
        raise WrongField("empty", field="content")
    ours = _ours(given)
    chosen: Layer | None = layer("extensions.gieok.layer", ours["layer"]) if "layer" in ours else None
    entry = LoreEntry(
        id=0,
        keyword=keyword,
        content=content,
        category=str(ours.get("category") or values["group"] or ""),
        layer=chosen or ("A1" if values["constant"] else "A2"),
        keys=tuple(dict.fromkeys(named(key, character, player) for key in (*keys, *values["secondary"]))),
        location=str(ours.get("location") or ""),
        enabled=values["enabled"] and not values["disabled"],
        extra={"format": form, "entry": dict(given)},
    )
    return entry, pattern


def _value(one: Any, given: Mapping[str, Any], form: Format) -> Any:
    name = one.names.get(family(form))
    return one.default if name is None or name not in given else one.take(name, given[name])


def _ours(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what an earlier export of Gieok noted in the entry."""
    extensions = given.get("extensions")
    ours = extensions.get("gieok") if isinstance(extensions, Mapping) else None
    return ours if isinstance(ours, Mapping) else {}


def _plain_keys(keys: tuple[str, ...], regex: bool) -> tuple[tuple[str, ...], str]:
    """Returns the keys that are words, and the first that is none. Regular expressions are kept for the export and not
    used: one from a foreign file may take for ever."""
    patterns = [key for key in keys if regex or (len(key) > 1 and key.startswith("/") and key.rfind("/") > 0)]
    return tuple(key for key in keys if key not in patterns), patterns[0] if patterns else ""


def _looks_like_card(entries: Any) -> bool:
    """Returns whether the entries of a book without a card use the names of cards."""
    return any(isinstance(entry, Mapping) and "keys" in entry for _, entry in _each(entries, "entries"))


def _title(value: Mapping[str, Any], name: str) -> str:
    title = value.get("name")
    return title if isinstance(title, str) and title.strip() else name.rpartition(".")[0] or name
