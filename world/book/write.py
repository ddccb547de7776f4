"""Writes a lorebook, with its character where the format has one, for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

from store.world.record import LoreEntry
from text.clean import encodable
from world.book.container import charx_with, png_with
from world.book.field import CARD, FIELDS, INFO, RISU
from world.book.model import Book, Card

Format = Literal["world_info", "card_v2", "card_v3", "card_png", "charx", "risu"]
FORMATS: tuple[Format, ...] = get_args(Format)
SUFFIXES: dict[Format, str] = {
    "world_info": ".json",
    "card_v2": ".json",
    "card_v3": ".json",
    "card_png": ".png",
    "charx": ".charx",
    "risu": ".json",
}


def write_book(book: Book, form: Format) -> bytes:
    """Returns the file. A format of cards gets a card of the book's name when the book has none. Layer, category and
    place of an entry are noted in ``extensions.gieok``, where they are found again."""
    return _WRITERS[form](book)


def _world_info(book: Book) -> bytes:
    entries = {str(at): _entry(INFO, at, entry) for at, entry in enumerate(book.entries)}
    return _json({"name": book.name, "entries": entries})


def _risu(book: Book) -> bytes:
    return _json({"type": "risu", "ver": 1, "data": [_entry(RISU, at, entry) for at, entry in enumerate(book.entries)]})


def _card_json(book: Book, version: Literal["2", "3"]) -> bytes:
    card = book.card or Card(book.name, {})
    entries = [_entry(CARD, at, entry) for at, entry in enumerate(book.entries)]
    data = _CARD_FIELDS | card.fields | {"name": card.name}
    if entries:
        known = data.get("character_book")
        data["character_book"] = {**(known if isinstance(known, dict) else {}), "name": book.name, "entries": entries}
        data["character_book"].setdefault("extensions", {})
    if version == "3":
        data.setdefault("group_only_greetings", [])
    return _json({"spec": f"chara_card_v{version}", "spec_version": f"{version}.0", "data": data})


def _png(book: Book) -> bytes:
    picture = book.card.picture if book.card else b""
    return png_with(picture, {b"chara": _card_json(book, "2"), b"ccv3": _card_json(book, "3")})


def _charx(book: Book) -> bytes:
    return charx_with(_card_json(book, "3"), book.card.picture if book.card else b"")


_CARD_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("description", "personality", "scenario", "first_mes", "mes_example", "creator_notes"), ""),
    **dict.fromkeys(("system_prompt", "post_history_instructions", "creator", "character_version"), ""),
    "alternate_greetings": [],
    "tags": [],
    "extensions": {},
}
_WRITERS: dict[Format, Callable[[Book], bytes]] = {
    "world_info": _world_info,
    "card_v2": lambda book: _card_json(book, "2"),
    "card_v3": lambda book: _card_json(book, "3"),
    "card_png": _png,
    "charx": _charx,
    "risu": _risu,
}


def _entry(family: str, at: int, entry: LoreEntry) -> dict[str, Any]:
    """Returns an entry in the names of a family of formats, on top of the fields that it came with."""
    source = entry.extra.get("entry")
    kept = dict(source) if isinstance(source, dict) and _family_of(entry) == family else {}
    values: dict[str, Any] = {
        "keys": _keys(family, entry, kept),
        "content": entry.content,
        "name": entry.keyword,
        "comment": entry.keyword,
        "enabled": entry.enabled,
        "disabled": not entry.enabled,
        "constant": entry.layer == "A1",
    }
    ours = {"layer": entry.layer, "category": entry.category, "location": entry.location}
    named = {FIELDS[name].names[family]: value for name, value in values.items() if family in FIELDS[name].names}
    known = kept.get("extensions")
    extensions = {**(known if isinstance(known, dict) else {}), "gieok": ours}
    return {**_DEFAULTS[family](at), **kept, **named, "extensions": extensions}


def _family_of(entry: LoreEntry) -> str:
    form = str(entry.extra.get("format", ""))
    return CARD if form.startswith("card") else form


def _keys(family: str, entry: LoreEntry, kept: dict[str, Any]) -> Any:
    """Returns the keys of an entry. Second keys stay where the file had them; RisuAI writes keys as one text."""
    second = _list(kept.get(FIELDS["secondary"].names[family]))
    patterns = [key for key in _list(kept.get(FIELDS["keys"].names[family])) if key not in entry.keys]
    keys = [*patterns, *(key for key in entry.keys if key not in second)]
    return ",".join(keys) if family == RISU else keys


def _list(value: Any) -> Sequence[str]:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


_DEFAULTS: dict[str, Callable[[int], dict[str, Any]]] = {
    CARD: lambda at: {"id": at, "insertion_order": 100, "use_regex": False, "selective": False, "secondary_keys": []},
    INFO: lambda at: {"uid": at, "keysecondary": [], "selective": False, "order": 100, "position": 0},
    RISU: lambda at: {"secondkey": "", "insertorder": 100, "mode": "normal", "selective": False},
}


def _json(value: dict[str, Any]) -> bytes:
    return encodable(json.dumps(value, ensure_ascii=False, indent=1)).encode("utf-8")
