"""Lorebooks of NovelAI: ``{"lorebookVersion": 5, "entries": [{"text": …, "keys": […]}]}``.

Keys are looked for in so many of the last characters (``searchRange``); an entry of a category that is switched off is
off, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from world.book.field import (
    Field,
    read_count_field,
    read_flag_field,
    read_number_field,
    read_text_field,
    read_texts_field,
)
from world.book.form import EntryForm, Values
from world.book.opened import OpenedFile, read_title

MESSAGE_CHARS = 500
"""Characters of about one message: the usual range of NovelAI, 1000, is then SillyTavern's usual depth."""


def _read_range(name: str, value: Any) -> int:
    return math.ceil(read_count_field(name, value) / MESSAGE_CHARS)


FIELDS: dict[str, Field] = {
    "keys": Field(("keys",), read_texts_field, always=True),
    "content": Field(("text",), read_text_field, always=True),
    "title": Field(("displayName",), read_text_field, always=True),
    "enabled": Field(("enabled",), read_flag_field, always=True),
    "constant": Field(("forceActivation",), read_flag_field, always=True),
    "scan_depth": Field(("searchRange",), _read_range, lambda depth: depth * MESSAGE_CHARS),
    "order": Field(("contextConfig.budgetPriority",), read_number_field),
}


def _new_novelai(at: int) -> dict[str, Any]:
    return {"text": "", "displayName": "", "keys": [], "enabled": True, "forceActivation": False}


FORM = EntryForm("novelai", FIELDS, _new_novelai)


def _without_categories(off: frozenset[str]) -> EntryForm:
    """Returns the form of a lorebook in which the entries of these categories are off."""

    def finish(values: Values, raw: Mapping[str, Any]) -> Values:
        return {**values, "enabled": False} if raw.get("category") in off else values

    return replace(FORM, finish=finish)


def open_novelai(value: Any) -> OpenedFile | None:
    """Opens a lorebook, which its version tells."""
    if not isinstance(value, Mapping) or "lorebookVersion" not in value:
        return None
    given = value.get("categories")
    categories = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
    off = frozenset(str(one["id"]) for one in categories if one.get("id") and one.get("enabled") is False)
    return OpenedFile("novelai", _without_categories(off), read_title(value), value.get("entries"), ("entries",))
