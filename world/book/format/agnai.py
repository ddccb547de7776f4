"""Memory books of Agnai: ``{"kind": "memory", "entries": [{"keywords": […], "entry": …}]}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world.book.field import Field, read_flag_field, read_number_field, read_text_field, read_texts_field
from world.book.form import EntryForm
from world.book.opened import OpenedFile, read_title

FIELDS: dict[str, Field] = {
    "keys": Field(("keywords",), read_texts_field, always=True),
    "content": Field(("entry",), read_text_field, always=True),
    "title": Field(("name",), read_text_field, always=True),
    "enabled": Field(("enabled",), read_flag_field, always=True),
    "order": Field(("weight", "priority"), read_number_field, always=True),
}


def _new_agnai(at: int) -> dict[str, Any]:
    return {"name": "", "entry": "", "keywords": [], "priority": 0, "weight": 0, "enabled": True}


FORM = EntryForm("agnai", FIELDS, _new_agnai)


def open_agnai(value: Any) -> OpenedFile | None:
    """Opens a memory book."""
    if not isinstance(value, Mapping) or value.get("kind") != "memory":
        return None
    return OpenedFile("agnai", FORM, read_title(value), value.get("entries"), ("entries",))
