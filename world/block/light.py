"""One call of the utility model for a turn whose answer has no block that can be read (specification 12.7)."""

from __future__ import annotations

import threading
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

import prompt
from model.call.json_reply import complete_shaped, shape
from model.modelset import ModelSet
from text.clean import clean
from text.language import Language
from world.block.field import Field
from world.block.read import Fields, read, read_block
from world.live import live_state
from world.state import State

MOST_CHARS = 6_000
"""Of the answer; a longer one is abridged in its middle."""
MOST_TOKENS = 400


def light(
    models: ModelSet, question: str, answer: str, state: State, language: Language, stop: threading.Event
) -> Fields | None:
    """Returns the fields that the utility model reads from a turn; None when its reply cannot be read.

    Raises ``Stopped`` and the errors of the model.
    """
    told = prompt.render(
        "world_extract_turn",
        language,
        state=live_state(state, language),
        question=_abridged(question, MOST_CHARS // 3),
        answer=_abridged(answer, MOST_CHARS),
    )
    messages = [SystemMessage(prompt.render("world_extract", language)), HumanMessage(told)]
    reply = str(complete_shaped(models.utility, messages, SHAPE, stop=stop, max_tokens=MOST_TOKENS).text)
    blocks = read(reply)
    fields: Fields = dict(blocks[-1] if blocks else read_block(reply))
    fields.pop("location_moved", None)  # small models say no beside a new place; the place alone says it
    return fields or None


def _abridged(text: str, most: int) -> str:
    """Returns a text without NUL and halves of signs; of a long one its beginning and its end."""
    text = clean(text)
    return text if len(text) <= most else f"{text[: most // 2]} […] {text[-most // 2 :]}"


_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": _TEXT, "maxItems": 10}
_NUMBER: dict[str, Any] = {"type": "integer"}
_RELATION: dict[str, Any] = {
    "type": "object",
    "properties": {"from": _TEXT, "to": _TEXT, "type": _TEXT, "delta": _NUMBER},
    "required": ["from", "to", "type", "delta"],
    "additionalProperties": False,
}
_PROPERTIES: dict[Field, Any] = {
    "location": _TEXT,
    "hp_change": _NUMBER,
    "items_gained": _TEXTS,
    "items_lost": _TEXTS,
    "npc_met": _TEXTS,
    "npc_died": _TEXTS,
    "relationship_changes": {"type": "array", "items": _RELATION, "maxItems": 5},
    "mood": _TEXT,
}
SHAPE = shape(
    "state",
    {
        "type": "object",
        "properties": _PROPERTIES,
        "required": list(_PROPERTIES),
        "additionalProperties": False,
    },
)
