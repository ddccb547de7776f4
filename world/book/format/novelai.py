"""Lorebooks of NovelAI: ``{"lorebookVersion": 5, "entries": [{"text": …, "keys": […]}]}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world.book.field import Field, read_flag_field, read_number_field, read_text_field, read_texts_field
from world.book.form import EntryForm
from world.book.opened import OpenedFile, read_title

FIELDS: dict[str, Field] = {
    "keys": Field(("keys",), read_texts_field, always=True),
    "content": Field(("text",), read_text_field, always=True),
    "title": Field(("displayName",), read_text_field, always=True),
    "enabled": Field(("enabled",), read_flag_field, always=True),
    "constant": Field(("forceActivation",), read_flag_field, always=True),
    "order": Field(("contextConfig.budgetPriority",), read_number_field),
}


def _new_novelai(at: int) -> dict[str, Any]:
    return {"text": "", "displayName": "", "keys": [], "enabled": True, "forceActivation": False}


FORM = EntryForm("novelai", FIELDS, _new_novelai)


def open_novelai(value: Any) -> OpenedFile | None:
    """Opens a lorebook, which its version tells."""
    if not isinstance(value, Mapping) or "lorebookVersion" not in value:
        return None
    return OpenedFile("novelai", FORM, read_title(value), value.get("entries"), ("entries",))
