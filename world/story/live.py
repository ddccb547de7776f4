"""The state of a story as text, for live_state.md and for prompts (specification 12.6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from store.world.record import DEAD, HELD, LOST, Character, Location, PlayerItem, Relation
from text.language import Language
from world.story.state import FULL_HP, StoryState

Named = TypeVar("Named", Character, PlayerItem, Location)
MOST = 12
"""How many names a line has at most, so that a large world leaves room for the other lines."""
_LABELS: dict[str, dict[Language, str]] = {
    "location": {"ko": "위치", "en": "Location"},
    "inventory": {"ko": "인벤토리", "en": "Inventory"},
    "place": {"ko": "이곳의 상태", "en": "This place"},
    "ways": {"ko": "이어진 곳", "en": "Leads to"},
    "here": {"ko": "함께 있는 인물", "en": "People here"},
    "along": {"ko": "동행", "en": "Travelling along"},
    "away": {"ko": "다른 곳에 있는 인물", "en": "Elsewhere"},
    "dead": {"ko": "죽은 인물", "en": "Dead"},
    "lost": {"ko": "잃은 물건", "en": "No longer held"},
    "relations": {"ko": "관계", "en": "Relations"},
    "time": {"ko": "시간", "en": "Time"},
    "mood": {"ko": "분위기", "en": "Mood"},
    "places": {"ko": "아는 곳", "en": "Known places"},
    "nothing": {"ko": "없음", "en": "none"},
    "unknown": {"ko": "알 수 없음", "en": "unknown"},
    "is_dead": {"ko": "죽음", "en": "dead"},
}


def live_state(state: StoryState, language: Language) -> str:
    """Returns what is so now, one line for each kind, the most important first: place, hit points and inventory, time,
    this place, who travels along, the people in this place, mood, where the others are, the dead, what was lost,
    relations, known places. Lines without content are left out, and names that the curator has left out: of lists of
    what is past or far away."""
    lines = (
        ("time", state.time.line),
        ("place", _render_place_status(state.locations.get(state.me.location))),
        ("ways", _join_shown_names(_list_adjacent_places(state))),
        (
            "along",
            _join_shown_names(
                _render_live_person(one, language) for one in _list_newest_characters(state) if _is_along(one)
            ),
        ),
        (
            "here",
            _join_shown_names(
                _render_live_person(one, language) for one in _list_people_here(state) if not _is_along(one)
            ),
        ),
        ("mood", state.mood),
        ("away", _join_shown_names(f"{one.name} ({one.location})" for one in _filter_shown(state, _find_away(state)))),
        (
            "dead",
            _join_shown_names(one.name for one in _filter_shown(state, _list_newest_characters(state)) if one.dead),
        ),
        (
            "lost",
            _join_shown_names(
                one.name for one in _filter_shown(state, [*state.items.values()][::-1]) if one.status == LOST
            ),
        ),
        ("relations", _join_shown_names(_render_live_relation(one) for one in _list_shown_relations(state))),
        ("places", _join_shown_names(_list_other_places(state))),
    )
    told = (f"{_LABELS[label][language]}: {text}" for label, text in lines if text)
    return "\n".join((_render_player_line(state, language), *told))


def _render_player_line(state: StoryState, language: Language) -> str:
    """Returns the line of specification 12.6: «위치: 어둠의 숲 | HP: 85/100 | 인벤토리: 불꽃 검, 치유 물약»; what was
    gained or used last stands first."""
    me = state.me
    held = _join_shown_names(render_held_item(one) for one in [*state.items.values()][::-1] if one.status == HELD)
    parts = (
        f"{_LABELS['location'][language]}: {me.location or _LABELS['unknown'][language]}",
        f"HP: {me.hp}/{max(FULL_HP, me.hp)}" if me.hp is not None else "",
        f"{_LABELS['inventory'][language]}: {held or _LABELS['nothing'][language]}",
    )
    return " | ".join(filter(None, parts))


def render_held_item(one: PlayerItem) -> str:
    """Returns a thing with how many there are of it."""
    return f"{one.name} ×{one.count}" if one.count > 1 else one.name


def _render_place_status(location: Location | None) -> str:
    return location.status if location else ""


def _list_adjacent_places(state: StoryState) -> Sequence[str]:
    location = state.locations.get(state.me.location)
    return location.adjacent if location else ()


def _list_newest_characters(state: StoryState) -> list[Character]:
    """Returns everybody but the player, the last one who came into the story first."""
    return [one for one in [*state.characters.values()][::-1] if one.name != state.player]


def _is_along(one: Character) -> bool:
    """Returns whether somebody travels along with the player; no dead one does, whatever the row says."""
    return one.companion and not one.dead


def _list_people_here(state: StoryState) -> list[Character]:
    here = state.me.location
    return [one for one in _list_newest_characters(state) if here and one.location == here]


def _find_away(state: StoryState) -> list[Character]:
    """Returns the living of whom the story knows that they are elsewhere."""
    here = state.me.location
    return [one for one in _list_newest_characters(state) if not one.dead and one.location and one.location != here]


def _render_live_person(one: Character, language: Language) -> str:
    status = _LABELS["is_dead"][language] if one.status == DEAD else "" if one.status == "alive" else one.status
    told = ", ".join(filter(None, (f"HP {one.hp}" if one.hp is not None else "", status)))
    return f"{one.name} ({told})" if told else one.name


def _list_shown_relations(state: StoryState) -> list[Relation]:
    """Returns the relations of the player and among the people here, those of the people here first, then the
    strongest; one of strength 0 says nothing."""
    here = {one.name for one in _list_people_here(state)}
    felt = [one for one in state.relations.values() if one.strength]
    known = [one for one in felt if state.player in _pair_relation_names(one) or _pair_relation_names(one) <= here]
    known = [
        one for one in known if _pair_relation_names(one) & here or not state.is_left_out(*_pair_relation_names(one))
    ]
    return sorted(known, key=lambda one: (not _pair_relation_names(one) & here, -abs(one.strength)))


def _filter_shown(state: StoryState, rows: Sequence[Named]) -> list[Named]:
    """Returns the rows whose names the curator has not left out."""
    return [one for one in rows if not state.is_left_out(one.name)]


def _pair_relation_names(one: Relation) -> set[str]:
    return {one.from_char, one.to_char}


def _render_live_relation(one: Relation) -> str:
    return f"{one.from_char} → {one.to_char} {one.rel_type} ({one.strength:+d})"


def _list_other_places(state: StoryState) -> list[str]:
    here = state.me.location
    return [
        f"{one.name} ({one.status})" if one.status else one.name
        for one in _filter_shown(state, [*state.locations.values()][::-1])
        if one.name != here
    ]


def _join_shown_names(names: Iterable[str]) -> str:
    known = list(names)
    more = f" … (+{len(known) - MOST})" if len(known) > MOST else ""
    return ", ".join(known[:MOST]) + more
