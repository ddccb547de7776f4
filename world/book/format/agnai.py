"""Memory books of Agnai, ``{"kind": "memory", "entries": [{"keywords": […], "entry": …}]}``, and its characters, which
may have one.

Source: ``common/characters.ts`` and ``web/pages/Character/port.ts`` in its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from world.book.field import (
    Field,
    WrongField,
    read_flag_field,
    read_number_field,
    read_text_field,
    read_texts_field,
)
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


_CARD = {
    "first_mes": "greeting",
    "scenario": "scenario",
    "mes_example": "sampleChat",
    "system_prompt": "systemPrompt",
    "post_history_instructions": "postHistoryInstructions",
    "creator_notes": "description",
    "creator": "creator",
    "character_version": "characterVersion",
}
"""The texts of a card and their names in a character of Agnai."""
_OWN = ("persona", "greeting", "scenario", "sampleChat")
"""What every character has, also one without ``kind``."""


def open_agnai(value: Any) -> OpenedFile | None:
    """Opens a memory book, or a character in Agnai's own form."""
    if not isinstance(value, Mapping):
        return None
    if value.get("kind") == "memory":
        return OpenedFile("agnai", FORM, read_title(value), value.get("entries"), ("entries",))
    if value.get("kind") == "character" or all(name in value for name in _OWN):
        return _open_character(value)
    return None


def _open_character(value: Mapping[str, Any]) -> OpenedFile:
    name, book = read_title(value), value.get("characterBook")
    if not name:
        raise WrongField("empty", field="name")
    card: dict[str, Any] = {"name": name, "description": _render_persona(name, value.get("persona"))}
    card |= {ours: read_text_field(theirs, value[theirs]) for ours, theirs in _CARD.items() if value.get(theirs)}
    for ours, theirs in (("alternate_greetings", "alternateGreetings"), ("tags", "tags")):
        if value.get(theirs):
            card[ours] = list(read_texts_field(theirs, value[theirs]))
    extensions = dict(value["extensions"]) if isinstance(value.get("extensions"), Mapping) else {}
    if isinstance(note := value.get("insert"), Mapping) and note.get("prompt"):
        extensions["depth_prompt"] = {"prompt": note["prompt"], "depth": note.get("depth", 0)}
    card["extensions"] = {**extensions, "agnai": {"persona": value.get("persona")}}  # Agnai takes it back from there
    entries = book.get("entries") if isinstance(book, Mapping) else None
    return OpenedFile("agnai_character", FORM, name, entries, ("characterBook", "entries"), card=card)


def _render_persona(name: str, persona: Any) -> str:
    """Returns who a character is, in the form that its author has chosen."""
    given = persona.get("attributes") if isinstance(persona, Mapping) else None
    if given is not None and not isinstance(given, Mapping):
        raise WrongField("not_object", field="persona.attributes")
    attributes = {str(key): read_texts_field(str(key), told) for key, told in (given or {}).items()}
    kind = persona.get("kind") if isinstance(persona, Mapping) else None
    if kind == "text":
        return "\n".join(attributes.get("text", ()))
    if kind == "boostyle":
        return " + ".join((name, *(one for told in attributes.values() for one in told)))
    quoted = {key: [f'"{one}"' for one in told] for key, told in attributes.items()}
    if kind == "wpp":
        lines = (f"{key}({' + '.join(told)})" for key, told in quoted.items())
        return "\n".join((f'[character("{name}") {{', *lines, "}]"))
    listed = "; ".join(f"{key}: {', '.join(told)}" for key, told in quoted.items())
    return f'[ character: "{name}"; {listed} ]'
