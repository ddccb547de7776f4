"""The card or lorebook that a world came from, on the disk: ``card.json`` and the picture or archive around it.

A world is exported as it was imported, with what was changed since; and rules of entries ask for the character's name,
tags and texts.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import private
from text.clean import parse_json
from world.book.model import Book, Card, Origin

CARD, CONTAINER = "card.json", "card.bin"
MOST_BYTES = 40_000_000


@dataclass(frozen=True, slots=True)
class StoredCard:
    """``name``: of the book. ``card``: without its picture; None for a lorebook. ``prefix``: the text of
    ``stable_prefix.md`` that was made of the card."""

    name: str
    card: Card | None
    origin: Origin
    prefix: str


class CardFiles:
    """The cards of all worlds below ``folder``, which ``world.file.file.WorldFiles`` empties with the worlds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, world: str) -> StoredCard | None:
        """Returns the card of a world, without the file around it; None when the world came from none, or when the file
        is damaged."""
        path = self._folder / world / CARD
        try:
            status = path.stat()
            return _load_card(path, status.st_mtime_ns, status.st_size, status.st_ino)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def container(self, world: str) -> bytes:
        """Returns the picture or archive around a world's card; empty for none."""
        try:
            return (self._folder / world / CONTAINER).read_bytes()
        except OSError:
            return b""

    def write(self, world: str, book: Book, prefix: str) -> None:
        """Stores what a world came from. Raises ``OSError``."""
        origin, card = book.origin, book.card
        if origin is None:
            return
        folder = self._folder / world
        private.make_folder(folder)
        if origin.container:
            _replace_file(folder / CONTAINER, origin.container)
        told: dict[str, Any] = {
            "name": book.name,
            "card": {"name": card.name, "fields": card.fields} if card is not None else None,
            "kind": origin.kind,
            "root": origin.root,
            "path": list(origin.path),
            "keyed": origin.keyed,
            "others": [list(one) for one in origin.others],
            "prefix": prefix,
        }
        _replace_file(folder / CARD, json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))


@lru_cache(maxsize=128)
def _load_card(path: Path, modified: int, size: int, inode: int) -> StoredCard | None:
    """Reads a card; the last three arguments tell one state of the file from another."""
    if size > MOST_BYTES:
        return None
    told = parse_json(path.read_text("utf-8"))
    card = Card(told["card"]["name"], told["card"]["fields"]) if told["card"] else None
    others = tuple((str(key), raw) for key, raw in told["others"])
    origin = Origin(told["kind"], told["root"], tuple(told["path"]), bool(told["keyed"]), others)
    return StoredCard(told["name"], card, origin, told["prefix"])


def _replace_file(path: Path, data: bytes) -> None:
    """Replaces or creates a file in one step."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
