"""Lorebooks of NovelAI: ``{"lorebookVersion": 5, "entries": [{"text": …, "keys": […]}]}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world.book.field import Field, flag, read_number, text, texts
from world.book.form import EntryForm
from world.book.opened import OpenedFile, read_title

FIELDS: dict[str, Field] = {
    "keys": Field(("keys",), texts, always=True),
    "content": Field(("text",), text, always=True),
    "title": Field(("displayName",), text, always=True),
    "enabled": Field(("enabled",), flag, always=True),
    "constant": Field(("forceActivation",), flag, always=True),
    "order": Field(("contextConfig.budgetPriority",), read_number),
}


def _new_novelai(at: int) -> dict[str, Any]:
    return {"text": "", "displayName": "", "keys": [], "enabled": True, "forceActivation": False}


FORM = EntryForm("novelai", FIELDS, _new_novelai)


def open_novelai(value: Any) -> OpenedFile | None:
    """Opens a lorebook, which its version tells."""
    if not isinstance(value, Mapping) or "lorebookVersion" not in value:
        return None
    return OpenedFile("novelai", FORM, read_title(value), value.get("entries"), ("entries",))
