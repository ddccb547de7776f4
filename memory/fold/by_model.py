"""The fold by a strong model, in one structured reply. Code checks the reply and changes none of its words.

Of more than 20 sentences the oldest leave that no pin needs. A reply is rejected only if it is unreadable, empty, too
long, half as long as the old memory without a reason, takes over what others wrote, or lacks a pin. The model is asked
once more for missing facts; facts that are still missing are recorded as lost and shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, BeforeValidator, ConfigDict

import prompt
from errors import ModelOutputError, UpstreamError
from memory.fold.fold_input import FoldInput, abridge_text, held_by, join_memory_text
from memory.fold.folded import MOST_SENTENCES, Folded, read_fold_cost
from memory.line import is_same_line, letters_of, strip_line_turns
from memory.state import KEY_CHARS, MOST_ENTITIES, VALUE_CHARS, Entity, add_entity, same_key
from model.call.json_reply import build_response_format, find_valid_object
from model.call.lenient import read_items, read_word, read_words
from model.call.talk import Talk
from model.modelset import ModelSet
from text import sentence
from text.clean import clean_text, collapse_spaces
from text.fact import fact
from text.fence import fence_text

SLACK = 1.5
"""A memory is too long above this multiple of the room, and a reply may have this multiple of 20 sentences."""
LEAST = 200
"""An old memory of at most this many characters may shrink by half without a reason."""
MOST_GONE = 40
"""Most statements that a reply may list as gone."""
SMALL_REPLY = 2000
"""Most tokens of a reply by a model that folds on request although its profile leaves folds to code: it may never
end."""
MOST_ASKED = 20
"""Most missing facts that the second request names."""
LABEL = {"ko": ("사용자", "AI"), "en": ("User", "AI")}
"""The names of the user and the model in the prompt, by language."""

Fault = dict[str, Any]
"""Why a memory is rejected, as values of ``FoldRejected``: ``reason`` and ``reason_code``; empty when it is
accepted."""


def fold_by_model(
    source: FoldInput,
    models: ModelSet,
    room: int,
    stop: threading.Event | None = None,
    step: Callable[[str], None] = lambda _: None,
) -> Folded:
    """Returns the next memory, written by the model. Raises ``FoldRejected``, ``Stopped`` and the model's own
    errors."""
    start, talk = time.monotonic(), Talk(models, stop, _build_fold_opening(source, models))
    draft = _ask_memory_draft(source, talk, room, step)
    folded = Folded(
        text=draft.text,
        entities=draft.entities,
        profile=draft.profile,
        kept=held_by(draft.whole, source.user_facts)[0],
        lost=draft.list_lost_facts(source),
        seconds=time.monotonic() - start,
        prompt_tokens=talk.prompt_tokens,
        answer_tokens=talk.answer_tokens,
        calls=talk.calls,
        model=models.side_name,
        cached_tokens=talk.cached_tokens,
        usd=talk.usd,
        cache_usd=talk.cache_usd,
    )
    if fault := draft.fault(source, models, room):
        raise source.make_rejection(fault, read_fold_cost(folded))
    return folded


def _ask_memory_draft(source: FoldInput, talk: Talk, room: int, step: Callable[[str], None]) -> _FoldDraft:
    """Returns the model's draft; asks again when it is faulty or lacks facts, and returns the better one then."""
    limits = {"sentences": MOST_SENTENCES, "tokens": room, "pins": _render_pin_request(source)}
    bound = {} if talk.models.side.folds == "model" else {"max_tokens": SMALL_REPLY}
    first = _build_fold_draft(
        source, talk.ask(prompt.render_prompt("memory_fold_reply", source.language, **limits), SHAPE, **bound)
    )
    step("asked")
    lost, fault = first.list_lost_facts(source), first.fault(source, talk.models, room)
    if not lost and not fault:
        return first
    missing = ", ".join(lost[:MOST_ASKED]) or "–"
    request = prompt.render_prompt("memory_fold_again", source.language, lost=missing, **limits)
    try:
        second = _build_fold_draft(source, talk.ask(request, SHAPE, **bound))
    except (
        UpstreamError,
        ModelOutputError,
    ):  # the first reply is paid for; it stands, or is rejected for its own fault
        return first
    step("repaired")
    return min(
        (second, first),
        key=lambda draft: (bool(draft.fault(source, talk.models, room)), len(draft.list_lost_facts(source))),
    )


# --- the request --------------------------------------------------------------------------------


def _build_fold_opening(source: FoldInput, models: ModelSet) -> list[AnyMessage]:
    """Returns the system prompt, and a message with memory and dialogue as material: the same for both requests."""
    user, ai = LABEL[source.language]
    most = models.context_size // 4 // max(1, len(source.turns))  # characters; each takes at most one token
    spoken = (
        f"[{user}] {abridge_text(turn.question, most)}\n[{ai}] {abridge_text(turn.answer, most)}"
        for turn in source.allowed_turns
    )
    parts = {
        "memory": "\n".join(source.lines),
        "entities": "\n".join(entity.line for entity in source.entities),
        "dialogue": "\n".join(spoken),
    }
    frame = "\n".join(f"<{tag}>\n{fence_text(text, *parts) or '–'}\n</{tag}>" for tag, text in parts.items())
    return [SystemMessage(prompt.render_prompt("memory_fold", source.language)), HumanMessage(frame)]


def _render_pin_request(source: FoldInput) -> str:
    bullets = "\n".join(f"- {pin}" for pin in source.pins)
    return prompt.render_prompt("memory_fold_pins", source.language, pins=bullets) if bullets else ""


def _build_fold_text_schema() -> dict[str, Any]:
    return {"type": "string"}


def _build_fold_list_schema(items: dict[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most}


def _build_fold_object_schema(**properties: dict[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_OLD = {"anyOf": [_build_fold_text_schema(), {"type": "null"}]}
SHAPE = build_response_format(
    "memory",
    _build_fold_object_schema(
        memory=_build_fold_list_schema(_build_fold_text_schema(), int(SLACK * MOST_SENTENCES)),
        entities=_build_fold_list_schema(
            _build_fold_object_schema(
                key=_build_fold_text_schema(),
                value=_build_fold_text_schema(),
                replaces=_OLD,
                lasting={"type": "boolean"},
            ),
            MOST_ENTITIES,
        ),
        gone=_build_fold_list_schema(_build_fold_text_schema(), MOST_GONE),
    ),
)


# --- the reply ----------------------------------------------------------------------------------


def _clean_reply_line(value: Any) -> Any:
    return collapse_spaces(clean_text(value)) if isinstance(value, str) else value


Line = Annotated[str, BeforeValidator(_clean_reply_line), BeforeValidator(read_word)]


def _split_reply_sentences(value: Any) -> Any:
    return sentence.split_sentences(clean_text(value)) if isinstance(value, str) else value


Lines = Annotated[tuple[Line, ...], BeforeValidator(read_words)]


def _read_flag(value: Any) -> bool:
    return value is True or str(value).strip().casefold() == "true"


class _Pair(BaseModel):
    model_config = ConfigDict(extra="ignore")

    key: Line
    value: Line
    replaces: Annotated[Line | None, BeforeValidator(read_word)] = None
    lasting: Annotated[bool, BeforeValidator(_read_flag)] = False


def _read_entities(value: Any) -> Any:
    """Returns entities as a list of objects; some models write one object of keys and values instead."""
    if isinstance(value, dict) and "key" not in value:
        value = [{"key": key, "value": one} for key, one in value.items()]
    return read_items(_Pair)(value)


class _FoldReply(BaseModel):
    """The JSON that the model is asked for. What cannot be read beside the sentences is left out."""

    model_config = ConfigDict(extra="ignore")

    memory: Annotated[Lines, BeforeValidator(_split_reply_sentences)]
    entities: Annotated[tuple[_Pair, ...], BeforeValidator(_read_entities)] = ()
    gone: Lines = ()


@dataclass(frozen=True, slots=True)
class _FoldDraft:
    """A reply as a memory. ``reasons``: what the model lists as replaced or gone; None when the reply is unreadable.
    ``profile``: the entities that it calls lasting facts of the user."""

    text: str = ""
    entities: tuple[Entity, ...] = ()
    reasons: str | None = None
    profile: tuple[Entity, ...] = ()

    @property
    def whole(self) -> str:
        return join_memory_text(self.text, self.entities)

    def list_lost_facts(self, source: FoldInput) -> tuple[str, ...]:
        """Returns facts of the new turns and of the old memory that neither the new memory nor the reasons hold."""
        accounted = f"{self.whole}\n{self.reasons or ''}"
        return tuple(dict.fromkeys(held_by(accounted, (*source.user_facts, *source.before))[1]))

    def fault(self, source: FoldInput, models: ModelSet, room: int) -> Fault:
        """Returns why this draft must not replace the memory; empty when it may."""
        if self.reasons is None:
            return {"reason": "it could not be read", "reason_code": "unreadable"}
        if not self.text:
            return {"reason": "it is empty", "reason_code": "empty"}
        sentences, tokens = len(sentence.split_sentences(self.text)), models.count(self.text)
        if tokens > SLACK * room:
            reason = f"it has {sentences} sentences and {tokens} tokens"
            return {"reason": reason, "reason_code": "too_long", "sentences": sentences, "tokens": tokens}
        before = "\n".join(source.lines)
        if len(before) > LEAST and 2 * len(self.text) < len(before) and not self.reasons:
            values = {"before": len(before), "after": len(self.text)}
            reason = f"it has {len(self.text)} characters instead of {len(before)} and does not say what is gone"
            return {"reason": reason, "reason_code": "halved", **values}
        if other := next(filter(source.is_of_others, self.text.splitlines()), None):
            return {"reason": f"it takes over what others wrote: {other}", "reason_code": "foreign", "what": other}
        pin = next((pin for pin in source.pins if not _is_pin_held(self.text, pin)), None)
        return {"reason": f"it lost what is pinned: {pin}", "reason_code": "pinned", "what": pin} if pin else {}


def _build_fold_draft(source: FoldInput, answer: str) -> _FoldDraft:
    reply = find_valid_object(answer, _FoldReply)
    if reply is None:
        return _FoldDraft()
    said = dict[str, str]()
    for line in filter(None, reply.memory):
        said.setdefault(letters_of(strip_line_turns(line)) or line, line)  # what a reply says twice stands once
    lines = [line for line in said.values() if not source.is_forgotten(line)]
    reasons = [*reply.gone, *(pair.replaces for pair in reply.entities if pair.replaces)]
    lasting = {same_key(pair.key) for pair in reply.entities if pair.lasting}
    entities = _merge_reply_entities(source, reply)
    profile = tuple(entity for entity in entities if same_key(entity.key) in lasting)
    return _FoldDraft("\n".join(_cut_to_most(lines, source.pins)), entities, "\n".join(filter(None, reasons)), profile)


def _cut_to_most(lines: list[str], pins: tuple[str, ...]) -> list[str]:
    """Returns the lines without the oldest sentences above 20; sentences that a pin needs stay (specification 6.10)."""
    kept = [(at, piece) for at, line in enumerate(lines) for piece in sentence.split_sentences(line)]
    if len(kept) <= MOST_SENTENCES:
        return lines
    held, place = [pin for pin in pins if _is_pin_held("\n".join(lines), pin)], 0
    while len(kept) > MOST_SENTENCES and place < len(kept):
        rest = kept[:place] + kept[place + 1 :]
        text = "\n".join(piece for _, piece in rest)
        if all(_is_pin_held(text, pin) for pin in held):
            kept = rest
        else:
            place += 1
    return [" ".join(piece for _, piece in line) for _, line in groupby(kept, key=lambda piece: piece[0])]


def _merge_reply_entities(source: FoldInput, reply: _FoldReply) -> tuple[Entity, ...]:
    """Returns the old entities with the reply's ones, without those that the model lists as gone.

    An entity that the reply repeats, and that no new turn tells, keeps its place and its turn.
    """
    entities = source.entities
    for pair in reply.entities:
        if not 0 < len(pair.key) <= KEY_CHARS or not 0 < len(pair.value) <= VALUE_CHARS:
            continue
        number, known = source.turn_of(pair.value), (same_key(pair.key), pair.value)
        unchanged = number is None and any((same_key(entity.key), entity.value) == known for entity in entities)
        if unchanged or source.is_of_others(pair.value):
            continue
        if not source.is_forgotten(f"{pair.key}: {pair.value}"):
            entities = add_entity(entities, Entity(pair.key, pair.value, source.newest if number is None else number))
    replied = {same_key(pair.key) for pair in reply.entities}
    return tuple(entity for entity in entities if same_key(entity.key) in replied or not _is_gone(entity, reply.gone))


def _is_gone(entity: Entity, gone: tuple[str, ...]) -> bool:
    return any(same_key(what) == same_key(entity.key) or is_same_line(what, entity.line) for what in gone)


def _is_pin_held(text: str, pin: str) -> bool:
    """Tells whether a text contains a pinned statement: word for word, or all the facts of a statement with facts."""
    if letters_of(strip_line_turns(pin)) in letters_of(text):
        return True
    facts = fact.find_facts(pin)
    return bool(facts) and all(fact.has_fact_value(text, value) for value in facts)
