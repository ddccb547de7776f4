"""What a small model may read into a turn: only what stands in the turn's own words.

A small model that is asked what a scene has changed fills every field, and makes up what the scene does not say. No
rule tells a good reading from a bad one, but code can look whether a name or a number stands in the text at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from text.fold import fold_name
from text.language import Language
from world.block.reading.read import Fields
from world.block.refusal import render_refusal
from world.block.value import read_name_values
from world.naming.person import is_said
from world.naming.resolve import PLAYER
from world.naming.spelling import reduce_name
from world.story.state import StoryState

MOST_DELTA = 10
"""How much a relation may change by one reading of a small model."""
_LISTS = ("items_gained", "items_lost", "npc_met", "npc_died", "npc_left", "npc_revived", "companions")


def filter_witnessed_fields(
    fields: Fields, text: str, state: StoryState, language: Language
) -> tuple[Fields, tuple[str, ...]]:
    """Returns the fields that stand in the text of a turn (question and answer), and why the others were left out.

    The place may also be the one where the story is, and somebody of a relation the player: a scene need not repeat
    either.
    """
    said, known = fold_name(text), {reduce_name(state.me.location), reduce_name(state.player), *PLAYER} - {""}
    kept, refusals = dict[Any, Any](), list[str]()

    def stands(name: object) -> bool:
        return reduce_name(str(name)) in known or is_said(str(name), text)

    for field, value in fields.items():
        rest, left_out = _split_witnessed_value(field, value, said, stands)
        if rest is not None:
            kept[field] = rest
        refusals += [render_refusal(field, "not_said", language, name=name) for name in left_out]
    return kept, tuple(refusals)


def _split_witnessed_value(
    field: str, value: Any, said: str, stands: Callable[[object], bool]
) -> tuple[Any, list[object]]:
    """Returns what is left of a field, None for nothing, and what was left out."""
    if field == "location":
        return (value, []) if stands(value) else (None, [value])
    if field == "hp_change" and isinstance(value, int) and value:
        return (value, []) if re.search(rf"(?<!\d){abs(value)}(?!\d)", said) else (None, [value])
    if field in _LISTS:
        try:
            given = read_name_values(value)
        except ValueError:
            return value, []  # the check of the block says what is wrong with it
        return [name for name in given if stands(name)] or None, [name for name in given if not stands(name)]
    if field == "relationship_changes" and isinstance(value, list):
        sound = [one for one in value if isinstance(one, Mapping) and all(stands(one.get(k)) for k in ("from", "to"))]
        return [_limit_relation_delta(one) for one in sound] or None, [
            _render_relation_pair(one) for one in value if one not in sound
        ]
    return value, []


def _limit_relation_delta(change: Mapping[str, Any]) -> dict[str, Any]:
    delta = change.get("delta")
    return {**change, "delta": max(-MOST_DELTA, min(MOST_DELTA, delta)) if isinstance(delta, int) else delta}


def _render_relation_pair(change: Any) -> str:
    return f"{change.get('from')} → {change.get('to')}" if isinstance(change, Mapping) else str(change)
