"""Reads the files of other programs, by the formats of ``world.book.format``.

A field with a wrong value is named, and its entry left out; the other entries stay. A file of no known format raises
``BadBook``, which says what is known.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from errors import FileTooLarge
from store.world.record import LoreEntry
from text.clean import clean_text
from world.book.container import build_book_error, card_in_charx, card_in_png, is_png, is_zip_book
from world.book.field import BookProblem, WrongField
from world.book.format import OPENERS
from world.book.format.card import VERSIONS
from world.book.format.risu import is_folder
from world.book.model import TEXTS, Book, Card, Origin
from world.book.opened import OpenedFile
from world.lore.activation import is_tag_id
from world.lore.decorator import read_decorators
from world.lore.macro import KNOWN, read_macros
from world.lore.pattern import compile_pattern
from world.lore.rule import Rule, rule_of

LIMIT = 30_000_000
"""Largest file in bytes."""
MOST_ENTRIES = 5000
_RISUM = b"\x6f\x00"
"""How a packed module of RisuAI begins (``readModule`` in its code). Its bytes are exchanged by a table whose licence
does not fit this program's; RisuAI itself writes its modules as CHARX, too."""


def read_book(data: bytes, name: str = "") -> Book:
    """Returns what a file holds. ``name``: the file's, for a book without a name of its own. Raises ``BadBook``,
    ``FileTooLarge``."""
    value, picture = _load_book_json(data, name)
    try:
        opened = next(filter(None, (open_(value) for open_ in OPENERS)), None)
        if opened is None:
            raise build_book_error(name, "no_book")
        return _Reading(opened).book(value, data, picture, name)
    except WrongField as error:
        raise build_book_error(name, error.code, **error.values) from error


def _load_book_json(data: bytes, name: str) -> tuple[Any, bytes]:
    """Returns the JSON of the file, and its picture. Raises ``BadBook``."""
    if len(data) > LIMIT:
        raise FileTooLarge(size=len(data), limit=LIMIT)
    content, picture = data, b""
    if is_png(data):
        content, picture = card_in_png(data, name), data
    elif is_zip_book(data):
        content, picture = card_in_charx(data, name, LIMIT)
    if content.startswith(_RISUM):
        raise build_book_error(name, "risum")
    try:
        return _clean_json_value(json.loads(content.decode("utf-8-sig"))), picture
    except (ValueError, RecursionError) as error:
        raise build_book_error(name, "no_json" if content is data else "damaged") from error


def _clean_json_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_json_value(one) for one in value]
    return {clean_text(key): _clean_json_value(one) for key, one in value.items()} if isinstance(value, dict) else value


@dataclass
class _Reading:
    """The entries of one file while they are read."""

    opened: OpenedFile
    entries: list[LoreEntry] = field(default_factory=list)
    problems: list[BookProblem] = field(default_factory=list)
    others: list[tuple[str, Any]] = field(default_factory=list)

    def book(self, value: Any, data: bytes, picture: bytes, name: str) -> Book:
        """Reads all entries and returns the book."""
        opened, given = self.opened, self.opened.entries
        for at, (key, raw) in enumerate(_list_keyed_entries(given, opened.place)):
            if at >= MOST_ENTRIES:
                self.problems.append(BookProblem(opened.place, "too_many", {"limit": MOST_ENTRIES}))
                break
            self._take(key, raw, _name_entry_place(opened.place, key, isinstance(given, list)))
        root = _strip_entries(value, opened.path)
        fields = root["data"] if opened.kind in VERSIONS.values() else opened.card  # without the entries
        card = (
            None
            if opened.card is None
            else Card(_choose_card_title(opened.card, opened.title), dict(fields or {}), picture)
        )
        title = opened.title or (card.name if card else "") or name.rpartition(".")[0] or name
        return Book(
            title,
            tuple(self.entries),
            card,
            (*opened.problems, *(_find_unknown_macros(card) if card is not None else ()), *self.problems),
            origin=Origin(
                opened.kind,
                root,
                opened.path if given is not None else (),
                isinstance(given, Mapping),
                tuple(self.others),
                data if is_png(data) or is_zip_book(data) else b"",
            ),
        )

    def _take(self, key: str, raw: Any, place: str) -> None:
        """Adds one entry with what does nothing here; or the reason why it is none."""
        form = self.opened.form
        if is_folder(raw):
            self._leave(key, raw, BookProblem(place, "folder", {"field": str(raw.get("comment") or "folder")}))
            return
        try:
            entry = form.read(raw, _merge_rules(form.usual, self.opened.usual), key)
        except WrongField as error:
            self._leave(key, raw, BookProblem(place, error.code, error.values))
            return
        self.entries.append(entry)
        self.problems += (
            BookProblem(place, code, {"key": what}, left_out=False) for code, what in _without_effect(entry)
        )

    def _leave(self, key: str, raw: Any, problem: BookProblem) -> None:
        self.others.append((key, raw))
        self.problems.append(problem)


def _merge_rules(usual: Rule, told: Rule) -> Rule:
    """Returns what a format does usually, with what its file says."""
    return Rule.of({**usual.plain, **told.plain})


def _without_effect(entry: LoreEntry) -> Iterator[tuple[str, str]]:
    """Yields what of an entry does nothing: patterns that are not understood, tags that only another
    installation knows, unknown decorators and macros."""
    rule = rule_of(entry)
    yield from (("regex", key) for key in (*rule.patterns, *rule.secondary) if _is_unknown(key))
    yield from (("tag_id", tag) for tag in rule.tags if is_tag_id(tag))
    field = next((one for one in ("content", "text", "entry") if one in entry.extra["entry"]), "content")
    written = str(entry.extra["entry"].get(field, ""))
    yield from (("decorator", name) for name in read_decorators(written, Rule()).unknown)
    yield from (("macro", f"{{{{{name}}}}}") for name in read_macros(entry.content) if name not in KNOWN)


def _find_unknown_macros(card: Card) -> Iterator[BookProblem]:
    """Yields the macros in a card's own texts that are not known."""
    greetings = "\n".join(card.greetings)
    for place, text in (*((name, card.text(name)) for name in TEXTS), ("first_mes", greetings), ("note", card.note)):
        for name in read_macros(text):
            if name not in KNOWN:
                yield BookProblem(place, "macro", {"key": f"{{{{{name}}}}}"}, left_out=False)


def _is_unknown(key: str) -> bool:
    return key.startswith("/") and key.rfind("/") > 0 and compile_pattern(key) is None


def _list_keyed_entries(given: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yields every entry with its key in the file: of lists their numbers, of SillyTavern's objects their names."""
    if isinstance(given, Mapping):
        yield from given.items()
    elif isinstance(given, list):
        yield from ((str(at), entry) for at, entry in enumerate(given))
    elif given is not None:
        raise WrongField("not_entries", field=place)


def _name_entry_place(place: str, key: str, listed: bool) -> str:
    return f"{place}[{key}]" if listed else f"{place}.{key}"


def _strip_entries(value: Any, path: tuple[str, ...]) -> Any:
    """Returns the JSON of a file with nothing where its entries stand."""
    if not path:
        return None
    root = copy.copy(value)
    inner = root
    for name in path[:-1]:
        if not isinstance(inner.get(name), Mapping):
            return root
        inner[name] = copy.copy(inner[name])
        inner = inner[name]
    if path[-1] in inner:
        inner[path[-1]] = None
    return root


def _choose_card_title(card: Mapping[str, Any], other: str) -> str:
    name = card.get("name")
    return name.strip() if isinstance(name, str) and name.strip() else other
