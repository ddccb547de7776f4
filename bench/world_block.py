"""State blocks as models write them: whole, or damaged in the ways that are usual (bench world_truth)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

Fields = Mapping[str, Any]

NAMES: dict[str, dict[str, str]] = {
    "ko": {
        "location": "위치",
        "location_moved": "이동 여부",
        "hp_change": "HP 변화",
        "items_gained": "얻은 아이템",
        "items_lost": "잃은 아이템",
        "npc_met": "만난 NPC",
        "npc_died": "죽은 NPC",
        "npc_left": "떠난 NPC",
        "npc_location": "NPC 위치",
        "companions": "동행",
        "npc_revived": "되살아난 NPC",
        "relationship_changes": "관계 변화",
        "location_status": "장소 상태",
        "mood": "분위기",
    },
    "en": {
        "location": "Location",
        "location_moved": "Moved",
        "hp_change": "HP change",
        "items_gained": "Items gained",
        "items_lost": "Items lost",
        "npc_met": "NPCs met",
        "npc_died": "NPCs died",
        "npc_left": "NPCs left",
        "npc_location": "NPC location",
        "companions": "Companions",
        "npc_revived": "NPCs revived",
        "relationship_changes": "Relationship changes",
        "location_status": "Location status",
        "mood": "Mood",
    },
}
"""What a model calls the fields that translates them, or writes them as people do."""
AFTER = {"ko": "무엇을 하시겠습니까?", "en": "What do you do?"}


def whole(fields: Fields) -> str:
    """Returns the block as the instruction asks for it (specification 12.7)."""
    return f"```state\n{_lines(fields)}\n```"


def damaged(kind: str, fields: Fields, language: str, chance: random.Random) -> str:
    """Returns the block, damaged in this way."""
    return DAMAGES[kind](fields, language, chance)


def _lines(fields: Fields) -> str:
    return "\n".join(f"{name}: {_value(value)}" for name, value in fields.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {_value(one)}' for name, one in value.items())}}}"
    return str(value)


def _cut(fields: Fields, language: str, chance: random.Random) -> str:
    """The answer ends at its token limit, somewhere in the second half of the block."""
    text = whole(fields).removesuffix("\n```")
    return text[: chance.randint(len(text) // 2, len(text) - 2)]


def _unfenced(fields: Fields, language: str, chance: random.Random) -> str:
    return _lines(fields)


def _json(fields: Fields, language: str, chance: random.Random) -> str:
    text = json.dumps(fields, ensure_ascii=False, indent=chance.choice((None, 2)))
    return f"```json\n{text}\n```" if chance.random() < 0.5 else f"```state\n{text}\n```"


def _translated(fields: Fields, language: str, chance: random.Random) -> str:
    return whole({NAMES[language][name]: value for name, value in fields.items()})


def _trailed(fields: Fields, language: str, chance: random.Random) -> str:
    return f"{whole(fields)}\n\n{AFTER[language]}"


def _mistyped(fields: Fields, language: str, chance: random.Random) -> str:
    return whole({name: _other(name, value) for name, value in fields.items()})


def _other(name: str, value: Any) -> Any:
    """Returns the value in a form that a reader must put right: words for truth values, units, bare names, signs."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f'"{value:+d} HP"'
    if name == "relationship_changes":
        return [{**one, "delta": f'"{one["delta"]:+d}"'} for one in value]
    if isinstance(value, list) and len(value) == 1:
        return f'"{value[0]}"'
    return value


DAMAGES: dict[str, Callable[[Fields, str, random.Random], str]] = {
    "cut": _cut,
    "unfenced": _unfenced,
    "json": _json,
    "translated": _translated,
    "trailed": _trailed,
    "mistyped": _mistyped,
}
