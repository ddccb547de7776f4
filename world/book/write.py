"""Writes a lorebook, with its character where the format has one, for other programs.

What came from a file of the same kind comes out as it came in: only what was changed since differs.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, Literal, get_args

from text.clean import escape_surrogates
from world.book.container import charx_with, is_png, is_zip_book, png_with
from world.book.form import EntryForm
from world.book.format import FORMS
from world.book.model import Book, Card, Origin

Format = Literal["world_info", "card_v2", "card_v3", "card_png", "charx", "lorebook_v3", "risu", "novelai", "agnai"]
FORMATS: tuple[Format, ...] = get_args(Format)
SUFFIXES: dict[Format, str] = {
    "world_info": ".json",
    "card_v2": ".json",
    "card_v3": ".json",
    "card_png": ".png",
    "charx": ".charx",
    "lorebook_v3": ".json",
    "risu": ".json",
    "novelai": ".lorebook",
    "agnai": ".json",
}
Json = dict[str, Any]


def write_book(book: Book, form: Format) -> bytes:
    """Returns the file. A format of cards gets a card of the book's name when the book has none. What a format has no
    field for is noted in ``extensions.gieok`` of an entry, where it is found again."""
    return _WRITERS[form](book)


def write_again(book: Book) -> bytes:
    """Returns a book in the kind of file that it came from. Raises ``ValueError`` for one that came from none."""
    origin = book.origin
    if origin is None:
        raise ValueError("the book came from no file")
    if is_png(origin.container):
        older = origin.kind == "card_v2"
        return png_with(
            origin.container, {b"chara" if older else b"ccv3": _encode_json(_card_json(book, "2" if older else "3"))}
        )
    if is_zip_book(origin.container):
        return _write_charx_card(book)
    if origin.kind in ("card_v2", "card_v3"):
        return _encode_json(_card_json(book, origin.kind[-1]))
    form = next((FORMS[one] for one in (entry.extra.get("format") for entry in book.entries) if one in FORMS), None)
    return _encode_json(_placed_again(book, origin, form or FORMS["card"]))


def _write_entries(book: Book, form: EntryForm) -> Any:
    """Returns the entries in a format: under the keys, and among the others, that they had in a file of it."""
    origin = book.origin
    written = [(str(one.extra.get("key", "")), form.write(one, at)) for at, one in enumerate(book.entries)]
    same = origin is not None and all(one.extra.get("format") in (form.name, None) for one in book.entries)
    others = list(origin.others) if origin is not None and same else []
    if form.name == "world_info" and not (origin is not None and same and origin.path and not origin.keyed):
        return _under_keys(written, others)
    listed = [raw for _, raw in written]
    for key, raw in others:
        listed.insert(min(int(key), len(listed)) if key.isdecimal() else len(listed), raw)
    return listed


def _under_keys(written: list[tuple[str, Json]], others: list[tuple[str, Any]]) -> Json:
    whole = [*written, *others]
    taken, found = {key for key, _ in whole if key}, dict[str, Any]()
    free = (str(number) for number in range(len(whole) * 2 + 1) if str(number) not in taken)
    for key, raw in whole:
        found[key if key and key not in found else next(free)] = raw
    return dict(sorted(found.items(), key=lambda one: (0, int(one[0])) if one[0].isdecimal() else (1, 0)))


def _placed_again(book: Book, origin: Origin, form: EntryForm) -> Any:
    """Returns the JSON of the file that a book came from, with its entries."""
    entries = _write_entries(book, form)
    if origin.keyed and isinstance(entries, list):
        entries = _under_keys(
            list(zip((str(one.extra.get("key", "")) for one in book.entries), entries, strict=False)), []
        )
    if not origin.path:
        return entries if origin.root is None else origin.root
    root = copy.deepcopy(origin.root)
    inner = root
    for name in origin.path[:-1]:
        inner = inner.setdefault(name, {})
    inner[origin.path[-1]] = entries
    return root


def _of_kind(book: Book, kind: str, form: EntryForm, usual: Json) -> bytes:
    """Returns a book as a file of one kind: the one that it came from, else a new one."""
    origin = book.origin
    if origin is not None and origin.kind == kind:
        return _encode_json(_placed_again(book, origin, form))
    return _encode_json({name: _write_entries(book, form) if value is ... else value for name, value in usual.items()})


def _world_info(book: Book) -> bytes:
    return _of_kind(book, "world_info", FORMS["world_info"], {"name": book.name, "entries": ...})


def _write_risu_book(book: Book) -> bytes:
    return _of_kind(book, "risu", FORMS["risu"], {"type": "risu", "ver": 1, "data": ...})


def _write_novelai_book(book: Book) -> bytes:
    return _of_kind(book, "novelai", FORMS["novelai"], {"lorebookVersion": 5, "entries": ...})


def _write_agnai_book(book: Book) -> bytes:
    usual = {"kind": "memory", "name": book.name, "description": "", "entries": ...}
    return _of_kind(book, "agnai", FORMS["agnai"], usual)


def _lorebook_v3(book: Book) -> bytes:
    origin = book.origin
    if origin is not None and origin.kind == "lorebook_v3":
        return _encode_json(_placed_again(book, origin, FORMS["card"]))
    inner = {"name": book.name, "extensions": {}, "entries": _write_entries(book, FORMS["card"])}
    return _encode_json({"spec": "lorebook_v3", "data": inner})


# --- cards ------------------------------------------------------------------------------------------


def _card_json(book: Book, version: str) -> Json:
    card, origin = book.card or Card(book.name, {}), book.origin
    root = dict(origin.root) if origin is not None and isinstance(origin.root, dict) else {}
    is_same = origin is not None and origin.kind == f"card_v{version}"
    data = {**({} if is_same else _CARD_FIELDS), **card.fields}
    if str(data.get("name", "")).strip() != card.name:
        data["name"] = card.name
    known = data.get("character_book")
    if book.entries or (origin is not None and origin.others) or (isinstance(known, dict) and "entries" in known):
        inner = dict(known) if isinstance(known, dict) else {"name": book.name, "extensions": {}}
        data["character_book"] = {**inner, "entries": _write_card_entries(book)}
    if version == "3" and not is_same:
        data.setdefault("group_only_greetings", [])
    told = root if str(root.get("spec", "")).startswith("chara_card_v") else {}
    spec = {} if is_same else {"spec": f"chara_card_v{version}", "spec_version": f"{version}.0"}
    return {**told, **spec, "data": data}


def _write_card_entries(book: Book) -> Any:
    """Returns the entries of a card: as an object where its file had one."""
    entries = _write_entries(book, FORMS["card"])
    if book.origin is None or not book.origin.keyed or "card" not in book.origin.kind:
        return entries
    keys = (str(one.extra.get("key", "")) for one in book.entries)
    return _under_keys(list(zip(keys, entries, strict=False)), [])


def _write_png_card(book: Book) -> bytes:
    origin, picture = book.origin, book.card.picture if book.card else b""
    container = origin.container if origin is not None and is_png(origin.container) else picture
    older, newer = _encode_json(_card_json(book, "2")), _encode_json(_card_json(book, "3"))
    return png_with(container, {b"chara": older, b"ccv3": newer})


def _write_charx_card(book: Book) -> bytes:
    origin = book.origin
    archive = origin.container if origin is not None and is_zip_book(origin.container) else b""
    return charx_with(_encode_json(_card_json(book, "3")), book.card.picture if book.card else b"", archive)


_CARD_FIELDS: Json = {
    **dict.fromkeys(("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"), ""),
    **dict.fromkeys(("system_prompt", "post_history_instructions", "creator", "character_version"), ""),
    "alternate_greetings": [],
    "tags": [],
    "extensions": {},
}
_WRITERS: dict[Format, Callable[[Book], bytes]] = {
    "world_info": _world_info,
    "card_v2": lambda book: _encode_json(_card_json(book, "2")),
    "card_v3": lambda book: _encode_json(_card_json(book, "3")),
    "card_png": _write_png_card,
    "charx": _write_charx_card,
    "lorebook_v3": _lorebook_v3,
    "risu": _write_risu_book,
    "novelai": _write_novelai_book,
    "agnai": _write_agnai_book,
}


def _encode_json(value: Any) -> bytes:
    return escape_surrogates(json.dumps(value, ensure_ascii=False, indent=1)).encode("utf-8")
