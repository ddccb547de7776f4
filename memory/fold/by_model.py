"""The fold by a strong model, in one structured reply; code verifies it and edits none of its words.

Rejected is only what is empty, over-long, half as long as before without a reason, or drops a pin. Facts that went
missing are asked for once, then kept as lost and shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

import prompt
from memory.fold.folded import MOST_SENTENCES, Folded
from memory.line import bare, letters_of, same
from memory.source import Source, abridged, held_by, whole
from memory.state import KEY_CHARS, MOST_ENTITIES, VALUE_CHARS, Entity, put, same_key
from model.modelset import ModelSet
from model.reply import objects, shape
from model.talk import Talk
from text import fact, sentence
from text.clean import clean
from text.fence import fenced

SLACK = 1.5
"""Over-long: more than this times 20 sentences or the room."""
LEAST = 200
"""Characters of a memory below which half of it may go without a reason."""
MOST_GONE = 40
"""What a reply may say to be gone."""
SMALL_REPLY = 2000
"""Longest reply of a model that is asked for it though its profile leaves folds to code: it may never end."""
MOST_ASKED = 20
"""Missing facts that are asked for."""
LABEL = {"ko": ("사용자", "AI"), "en": ("User", "AI")}
"""How the user and the model are named."""

Fault = dict[str, Any]
"""Why a new memory is not taken, as values of ``FoldRejected``: ``reason`` and ``reason_code``; empty: it is taken."""


def make(
    source: Source,
    models: ModelSet,
    room: int,
    stop: threading.Event | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> Folded:
    """The next memory as the model writes it. Raises ``FoldRejected``, ``Stopped`` and the model's own errors."""
    begun, talk = time.monotonic(), Talk(models, stop, _opening(source, models))
    draft = _written(source, talk, room, step)
    made = Folded(
        text=draft.text,
        entities=draft.entities,
        kept=held_by(draft.whole, source.wanted)[0],
        lost=draft.lost(source),
        seconds=time.monotonic() - begun,
        prompt_tokens=talk.prompt_tokens,
        answer_tokens=talk.answer_tokens,
        calls=talk.calls,
        model=models.side_name,
    )
    if fault := draft.fault(source, models, room):
        cost = {"seconds": made.seconds, "prompt_tokens": made.prompt_tokens, "answer_tokens": made.answer_tokens}
        raise source.rejected(fault, {**cost, "calls": made.calls, "model": made.model})
    return made


def _written(source: Source, talk: Talk, room: int, step: Callable[[str], None]) -> _Draft:
    """The model's memory; asked once more when it cannot be taken or lacks facts."""
    limits = {"sentences": MOST_SENTENCES, "tokens": room, "pins": _pins(source)}
    bound = {} if talk.models.side.folds == "model" else {"max_tokens": SMALL_REPLY}
    first = _draft(source, talk.ask(prompt.render("memory_fold_reply", source.language, **limits), SHAPE, **bound))
    step("asked")
    lost, fault = first.lost(source), first.fault(source, talk.models, room)
    if not lost and not fault:
        return first
    missing = ", ".join(lost[:MOST_ASKED]) or "–"
    again = prompt.render("memory_fold_again", source.language, lost=missing, **limits)
    second = _draft(source, talk.ask(again, SHAPE, **bound))
    step("repaired")
    return min(
        (second, first), key=lambda draft: (bool(draft.fault(source, talk.models, room)), len(draft.lost(source)))
    )


# --- what it is asked ----------------------------------------------------------------------------


def _opening(source: Source, models: ModelSet) -> list[AnyMessage]:
    """The system prompt, and memory and dialogue as material: the same for every request."""
    user, ai = LABEL[source.language]
    most = models.context_size // 4 // max(1, len(source.turns))  # a token is at least a character
    spoken = (f"[{user}] {abridged(turn.question, most)}\n[{ai}] {abridged(turn.answer, most)}" for turn in source.told)
    parts = {
        "memory": "\n".join(source.lines),
        "entities": "\n".join(entity.line for entity in source.entities),
        "dialogue": "\n".join(spoken),
    }
    frame = "\n".join(f"<{tag}>\n{fenced(text, *parts) or '–'}\n</{tag}>" for tag, text in parts.items())
    return [SystemMessage(prompt.render("memory_fold", source.language)), HumanMessage(frame)]


def _pins(source: Source) -> str:
    listed = "\n".join(f"- {pin}" for pin in source.pins)
    return prompt.render("memory_fold_pins", source.language, pins=listed) if listed else ""


def _text() -> dict[str, Any]:
    return {"type": "string"}


def _list(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_OLD = {"anyOf": [_text(), {"type": "null"}]}
SHAPE = shape(
    "memory",
    _object(
        memory=_list(_text(), int(SLACK * MOST_SENTENCES)),
        entities=_list(_object(key=_text(), value=_text(), replaces=_OLD), MOST_ENTITIES),
        gone=_list(_text(), MOST_GONE),
    ),
)


# --- what it replied -----------------------------------------------------------------------------


def _one_line(value: Any) -> Any:
    return " ".join(clean(value).split()) if isinstance(value, str) else value


Line = Annotated[str, BeforeValidator(_one_line)]


class _Pair(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    key: Line
    value: Line
    replaces: Line | None = None


class _Reply(BaseModel):
    """The JSON that is asked for."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    memory: tuple[Line, ...]
    entities: tuple[_Pair, ...] = ()
    gone: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class _Draft:
    """A reply as a memory. ``reasons``: what the model says is replaced or no longer holds; None: no such reply."""

    text: str = ""
    entities: tuple[Entity, ...] = ()
    reasons: str | None = None

    @property
    def whole(self) -> str:
        return whole(self.text, self.entities)

    def lost(self, source: Source) -> tuple[str, ...]:
        """Facts of the new turns and of the memory before that are in neither the new one nor the reasons."""
        told = f"{self.whole}\n{self.reasons or ''}"
        return tuple(dict.fromkeys(held_by(told, (*source.wanted, *source.before))[1]))

    def fault(self, source: Source, models: ModelSet, room: int) -> Fault:
        """Why this must not replace the memory; empty when it may."""
        if self.reasons is None:
            return {"reason": "it could not be read", "reason_code": "unreadable"}
        if not self.text:
            return {"reason": "it is empty", "reason_code": "empty"}
        sentences, tokens = len(sentence.split(self.text)), models.count(self.text)
        if sentences > SLACK * MOST_SENTENCES or tokens > SLACK * room:
            reason = f"it has {sentences} sentences and {tokens} tokens"
            return {"reason": reason, "reason_code": "too_long", "sentences": sentences, "tokens": tokens}
        before = "\n".join(source.lines)
        if len(before) > LEAST and 2 * len(self.text) < len(before) and not self.reasons:
            values = {"before": len(before), "after": len(self.text)}
            reason = f"it has {len(self.text)} characters instead of {len(before)} and does not say what is gone"
            return {"reason": reason, "reason_code": "halved", **values}
        pin = next((pin for pin in source.pins if not _has(self.text, pin)), None)
        return {"reason": f"it lost what is pinned: {pin}", "reason_code": "pinned", "what": pin} if pin else {}


def _draft(source: Source, answer: str) -> _Draft:
    reply = next(filter(None, map(_read, objects(answer))), None)
    if reply is None:
        return _Draft()
    lines = [line for line in reply.memory if line and not source.is_forgotten(line)]
    reasons = [*reply.gone, *(pair.replaces for pair in reply.entities if pair.replaces)]
    return _Draft("\n".join(lines), _entities(source, reply), "\n".join(filter(None, reasons)))


def _read(value: dict[str, Any]) -> _Reply | None:
    try:
        return _Reply.model_validate(value)
    except ValidationError:
        return None


def _entities(source: Source, reply: _Reply) -> tuple[Entity, ...]:
    """The entities with the new ones, without those that the model says are gone.

    One that is only listed again, and told in no new turn, stays where it is.
    """
    entities = source.entities
    for pair in reply.entities:
        if not 0 < len(pair.key) <= KEY_CHARS or not 0 < len(pair.value) <= VALUE_CHARS:
            continue
        number, known = source.turn_of(pair.value), (same_key(pair.key), pair.value)
        again = number is None and any((same_key(one.key), one.value) == known for one in entities)
        if not again and not source.is_forgotten(f"{pair.key}: {pair.value}"):
            entities = put(entities, Entity(pair.key, pair.value, source.newest if number is None else number))
    fresh = {same_key(pair.key) for pair in reply.entities}
    return tuple(one for one in entities if same_key(one.key) in fresh or not _is_gone(one, reply.gone))


def _is_gone(entity: Entity, gone: tuple[str, ...]) -> bool:
    return any(same_key(what) == same_key(entity.key) or same(what, entity.line) for what in gone)


def _has(text: str, pin: str) -> bool:
    """Whether a pinned statement stands in a text: word for word, or all its facts when it has some."""
    if letters_of(bare(pin)) in letters_of(text):
        return True
    facts = fact.facts(pin)
    return bool(facts) and all(fact.holds(text, one) for one in facts)
