"""Memory books of Agnai: ``{"kind": "memory", "entries": [{"keywords": […], "entry": …}]}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world.book.field import Field, flag, read_number, text, texts
from world.book.form import EntryForm
from world.book.opened import OpenedFile, read_title

FIELDS: dict[str, Field] = {
    "keys": Field(("keywords",), texts, always=True),
    "content": Field(("entry",), text, always=True),
    "title": Field(("name",), text, always=True),
    "enabled": Field(("enabled",), flag, always=True),
    "order": Field(("weight", "priority"), read_number, always=True),
}


def _new_agnai(at: int) -> dict[str, Any]:
    return {"name": "", "entry": "", "keywords": [], "priority": 0, "weight": 0, "enabled": True}


FORM = EntryForm("agnai", FIELDS, _new_agnai)


def open_agnai(value: Any) -> OpenedFile | None:
    """Opens a memory book."""
    if not isinstance(value, Mapping) or value.get("kind") != "memory":
        return None
    return OpenedFile("agnai", FORM, read_title(value), value.get("entries"), ("entries",))
