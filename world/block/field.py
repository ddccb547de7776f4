"""The fields of a state block, and the names under which models write them: exact names of a format, in both languages.

Specification 12.7: location, location_moved, hp_change, items_gained, npc_met, relationship_changes, mood. Ours beside
them: items_lost, items_used, npc_left, npc_location, companions, npc_died, npc_revived, location_status, time.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

Field = Literal[
    "location",
    "location_moved",
    "hp_change",
    "items_gained",
    "items_lost",
    "items_used",
    "npc_met",
    "npc_left",
    "npc_location",
    "companions",
    "npc_died",
    "npc_revived",
    "relationship_changes",
    "location_status",
    "time",
    "mood",
]
FIELDS: tuple[Field, ...] = get_args(Field)
_OTHER: dict[Field, tuple[str, ...]] = {
    "location": ("위치", "장소", "현재 위치"),
    "location_moved": ("moved", "위치 이동", "장소 이동", "이동 여부", "위치 변경"),
    "hp_change": ("HP 변화", "체력 변화"),
    "items_gained": ("획득 아이템", "얻은 아이템", "획득한 아이템", "아이템 획득", "item_gained"),
    "items_lost": ("잃은 아이템", "잃어버린 아이템", "아이템 소실", "아이템 손실", "item_lost"),
    "items_used": ("사용 아이템", "사용한 아이템", "쓴 아이템", "item_used"),
    "npc_met": ("만난 NPC", "만난 인물", "NPC 조우", "npcs_met"),
    "npc_died": ("죽은 NPC", "사망 NPC", "사망한 NPC", "npcs_died"),
    "npc_left": ("떠난 NPC", "떠난 인물", "헤어진 NPC", "헤어진 인물", "npcs_left"),
    "npc_location": ("NPC 위치", "인물 위치", "npc_locations"),
    "companions": ("동행", "함께 다니는 인물"),
    "npc_revived": ("되살아난 NPC", "되살아난 인물", "부활한 NPC", "npcs_revived"),
    "relationship_changes": ("관계 변화", "관계 변경", "relationship_change"),
    "location_status": ("장소 상태", "위치 상태"),
    "time": ("time of day", "day", "date", "시간", "시간대", "날짜", "때", "일차"),
    "mood": ("분위기",),
}


def normalise_field_name(name: str) -> str:
    """Returns a name in the form in which names are compared: without case, spaces, hyphens, and marks around it."""
    return re.sub(r"[\s_-]+", "", name.strip("\"'`*_ ").casefold())


BY_NAME: dict[str, Field] = {
    normalise_field_name(name): field for field in FIELDS for name in (field, field.replace("_", " "), *_OTHER[field])
}
_WRITTEN = {name for field in FIELDS for name in (field, field.replace("_", " "), *_OTHER[field])}
NAMES: tuple[str, ...] = tuple(sorted(_WRITTEN, key=len, reverse=True))
_MARKS = (
    r"[ \t>]*(?:(?:[-*•]|\d{1,2}[.)])[ \t]+)?(?:[\u2600-\u27bf\U0001f300-\U0001faff][\ufe0f\u200d]?[ \t]*){0,2}"
    r"[\"'`*_]{0,3}"
)
"""What may stand before a name: a quotation's sign, a bullet or number, a picture, signs of bold text."""
LINE = re.compile(
    _MARKS + "(" + "|".join(re.escape(name) for name in NAMES) + r")[\"'`*_]{0,3}[ \t]*[:：=][ \t]*(.*)", re.IGNORECASE
)
"""A line that says one field: groups name and value."""
_LOWER = tuple(name.casefold() for name in NAMES)
_OPEN_MARKS = re.compile(_MARKS)


def field_of(line: str) -> Field | None:
    """Returns the field that a line says, or None."""
    match = LINE.match(line)
    return BY_NAME.get(normalise_field_name(match[1])) if match else None


def says_state(line: str) -> bool:
    """Returns whether a line says a field that a story's own texts do not name: the head of a scene has its time, and a
    letter its date."""
    return field_of(line) not in (None, "time")


def may_become(line: str) -> bool:
    """Returns whether a line that is not complete yet may turn into one that says a field."""
    match = _OPEN_MARKS.match(line)
    rest = line[match.end() if match else 0 :].casefold()
    if not rest or re.fullmatch(r"[-*•]|\d{1,2}[.)]?", rest):
        return True
    return any(
        name.startswith(rest) or (rest.startswith(name) and _is_field_rest(rest[len(name) :])) for name in _LOWER
    )


def _is_field_rest(rest: str) -> bool:
    """Returns whether what follows a name can still be the rest of a field's line."""
    return not rest.strip(" \t\"'`*_") or rest.lstrip(" \t\"'`*_")[0] in ":：="
