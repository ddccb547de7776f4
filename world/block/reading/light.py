"""One call of the utility model for a turn whose answer has no block that can be read (specification 12.7)."""

from __future__ import annotations

import threading
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

import prompt
from model.call.json_reply import build_response_format, complete_shaped
from model.modelset import ModelSet
from text.clean import clean_text
from text.cut import cut_to_ends
from text.language import Language
from world.block.field import Field
from world.block.reading.read import Fields, read_answer_blocks, read_block
from world.naming.person import is_said
from world.naming.spelling import reduce_name
from world.story.live import live_state
from world.story.state import StoryState

MOST_CHARS = 6_000
"""Of the answer; a longer one is abridged in its middle."""
MOST_TOKENS = 400


def extract_turn_fields(
    models: ModelSet,
    question: str,
    answer: str,
    state: StoryState,
    language: Language,
    stop: threading.Event,
    calls: list[AIMessage] | None = None,
) -> Fields | None:
    """Returns the fields that the utility model reads from a turn; None when its reply cannot be read. ``calls``: takes
    the model's reply, with the tokens that it took.

    Raises ``Stopped`` and the errors of the model.
    """
    told = prompt.render_prompt(
        "world_extract_turn",
        language,
        state=live_state(state, language),
        question=cut_to_ends(clean_text(question), MOST_CHARS // 3),
        answer=cut_to_ends(clean_text(answer), MOST_CHARS),
    )
    messages = [SystemMessage(prompt.render_prompt("world_extract", language)), HumanMessage(told)]
    small = models.side.prompt == "bare"
    places, people = (find(state, question, answer) for find in (_find_places, _find_people))
    wanted = _shape_small(places, people) if small else SHAPE
    message = complete_shaped(models.utility, messages, wanted, stop=stop, max_tokens=MOST_TOKENS)
    if calls is not None:
        calls.append(message)
    reply = str(message.text)
    blocks = read_answer_blocks(reply)
    fields: Fields = dict(blocks[-1] if blocks else read_block(reply))
    fields.pop("location_moved", None)  # small models say no beside a new place; the place alone says it
    if not fields.get("companions"):
        fields.pop("companions", None)  # every field must be filled, so an empty list says nothing
    return fields or None


_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT, "maxItems": 10}
_NUMBER: dict[str, Any] = {"type": "integer"}
_RELATION: dict[str, Any] = {
    "type": "object",
    "properties": {"from": _TEXT, "to": _TEXT, "type": _TEXT, "delta": _NUMBER},
    "required": ["from", "to", "type", "delta"],
    "additionalProperties": False,
}
_WHERE: dict[str, Any] = {
    "type": "object",
    "properties": {"name": _TEXT, "location": _TEXT},
    "required": ["name", "location"],
    "additionalProperties": False,
}
_PROPERTIES: dict[Field, Any] = {
    "location": _TEXT,
    "hp_change": _NUMBER,
    "items_gained": _TEXTS,
    "items_lost": _TEXTS,
    "npc_met": _TEXTS,
    "companions": _TEXTS,
    "npc_left": _TEXTS,
    "npc_location": {"type": "array", "items": _WHERE, "maxItems": 5},
    "npc_died": _TEXTS,
    "npc_revived": _TEXTS,
    "relationship_changes": {"type": "array", "items": _RELATION, "maxItems": 5},
    "time": _TEXT,
    "mood": _TEXT,
}
_FOR_STRONG: tuple[Field, ...] = ("companions", "npc_left", "npc_location", "npc_revived", "time")
"""Fields that a small model is not asked for: it fills all of them, and each takes its time."""


def _build_shape(properties: dict[Field, Any]) -> dict[str, Any]:
    whole = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return build_response_format("state", whole)


SHAPE = _build_shape(_PROPERTIES)


def _shape_small(places: list[str], people: list[str]) -> dict[str, Any]:
    """Returns the shape for a small model. ``places``, ``people``: among which it must choose where the player is and
    who is met; empty: any."""
    few = {name: value for name, value in _PROPERTIES.items() if name not in _FOR_STRONG}
    where, who = ({"type": "string", "enum": names} if names else _TEXT for names in (places, people))
    return _build_shape({**few, "location": where, "npc_met": {**_TEXTS, "items": who}})


def _find_places(state: StoryState, question: str, answer: str) -> list[str]:
    """Returns the known places that the player's own words name, then those of the answer, then where the story is:
    what a small model may choose from. Empty where the player names none."""
    here = state.me.location
    known = [name for name in state.locations if name != here]
    own = [name for name in known if reduce_name(name) in reduce_name(question)]
    told = [name for name in known if name not in own and reduce_name(name) in reduce_name(answer)]
    return [*own, *told, *filter(None, (here,))] if own else []


def _find_people(state: StoryState, question: str, answer: str) -> list[str]:
    """Returns the known people whom the player's own words name, then those at this place whom the answer names: of
    whom else the answer speaks may be far away. Empty where the player names nobody."""
    known = [one for one in state.characters.values() if one.name != state.player]
    own = [one.name for one in known if is_said(one.name, question)]
    near = [one for one in known if one.companion or (one.location and one.location == state.me.location)]
    told = [one.name for one in near if one.name not in own and is_said(one.name, answer)]
    return [*own, *told] if own else []
