"""What a fold is made from, and how it is put to the model: memory and turns as material, never as instructions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import prompt
from errors import FoldRejected
from memory import change
from memory.ask import fenced
from memory.change import Change
from memory.denied import denied
from memory.factual import doubtful
from memory.line import about, pairs, plain
from memory.state import Entity, Replaced, Turn
from memory.subject import subject, words
from memory.value import exchangeable, tells
from model.modelset import ModelSet
from text import fact, sentence
from text.assertion import assertions
from text.clean import clean
from text.language import Language, detect

SPEECH = {"ko": (500, 160), "en": (900, 300)}
"""Characters of a question and an answer that a small model is given; of longer ones head and tail."""


LABEL = {"ko": ("사용자", "AI"), "en": ("User", "AI")}
"""How the user and the model are named."""

_REQUEST = re.compile(
    r"\b(?:can|could|would|will|shall) (?:you|we|i)\b|\bplease\b|\blet's\b"
    r"|줄래|줄 수|주세요|주실|주시|해줘|해 줘|할까|될까|볼까|갈까",
    re.IGNORECASE,
)
"""A question that asks for something to be done."""


@dataclass(frozen=True)
class Source:
    """What a fold is made from. ``forgotten``, ``replaced``: as in ``State``.

    ``told`` is what of the turns may come in: neither a model nor code sees the rest.
    """

    text: str
    entities: tuple[Entity, ...]
    turns: tuple[Turn, ...]
    pins: tuple[str, ...] = ()
    forgotten: tuple[tuple[str, int], ...] = ()
    default: Language = "ko"
    replaced: tuple[Replaced, ...] = ()

    @cached_property
    def language(self) -> Language:
        """The language that the user speaks."""
        return detect(" ".join(turn.question for turn in self.turns), self.default)

    @cached_property
    def told(self) -> tuple[Turn, ...]:
        """The turns without what the user had forgotten in or after each of them."""
        return tuple(self._without_forgotten(turn) for turn in self.turns)

    @cached_property
    def lines(self) -> list[str]:
        """The sentences of the memory so far."""
        return sentence.split(self.text)

    @cached_property
    def said(self) -> list[str]:
        """What the user stated in the new turns, sentence by sentence."""
        return [each for turn in self.told for each in assertions(clean(turn.question))]

    @cached_property
    def changes(self) -> list[Change]:
        """Changes of values that were set under a key, and that the user said."""
        known = [each.line for each in self.entities]
        by_key = [self._by_key(each) for each in self.replaced if exchangeable(each.old, each.new)]
        return [*by_key, *change.said([*known, *self.lines], self.said)]

    def _by_key(self, each: Replaced) -> Change:
        """What is about a key has all its words; the only sentence that tells the old value, one of them."""
        about = subject(each.key)
        telling = [line for line in (*self.lines, *self.said) if tells(line, each.old)]
        sure = len(telling) > 1 or any(about <= words(line) for line in telling)
        return Change(each.old, each.new, about, sure)

    @cached_property
    def wanted(self) -> tuple[fact.Fact, ...]:
        """Numbers, names, dates … of what the user stated, without what was replaced since or is to be forgotten."""
        return self._current(self.said)

    @cached_property
    def plans(self) -> list[str]:
        """Questions in which the user asks for something to be done on a day or at a time, such as a booking."""
        asked = [line for turn in self.told for line in sentence.split(clean(turn.question)) if line not in self.said]
        return [line for line in asked if _REQUEST.search(line) and _dated(line)]

    @cached_property
    def asked(self) -> tuple[fact.Fact, ...]:
        """Facts of the plans: they are looked for, though nobody stated them."""
        return self._current(self.plans)

    @cached_property
    def before(self) -> tuple[fact.Fact, ...]:
        """What the memory so far holds, without values that were replaced since and what is to be forgotten."""
        return self._current([line for line in self.lines if not self.is_forgotten(line)])

    def _current(self, lines: Sequence[str]) -> tuple[fact.Fact, ...]:
        """The facts of these sentences without values that were replaced since."""
        told = {(each.text, line) for line in lines for each in fact.facts(line)}
        old = {(value, line) for value, line in told if change.outdated(value, line, self.changes)}
        gone = {value for value, _ in old} - {value for value, _ in told - old}
        return tuple(each for each in fact.facts("\n".join(lines)) if each.text not in gone)

    def is_outdated(self, value: str, where: str) -> bool:
        """Whether a value was replaced: what it is said of here, or every sentence that tells it."""
        telling = [line for line in (*self.said, *self.lines) if tells(line, value)]
        return change.outdated(value, where, self.changes) or (
            bool(telling) and all(change.outdated(value, line, self.changes) for line in telling)
        )

    def is_doubtful(self, value: str) -> bool:
        """Whether the user tells a value in plans, wishes and the like only."""
        telling = [line for line in self.said if tells(line, value)]
        return bool(telling) and all(map(doubtful, telling))

    @cached_property
    def everything(self) -> str:
        """All that a memory may state."""
        spoken = [part for turn in self.told for part in (turn.question, turn.answer)]
        known = [each.line for each in self.entities]
        return "\n".join([self.text, *self.pins, *known, *spoken])

    def turn_of(self, value: str) -> int | None:
        """The newest turn that tells this value, else the newest that holds it however spaced."""
        wanted, spoken = (
            plain(value),
            [(turn.number, f"{turn.question}\n{turn.answer}") for turn in reversed(self.told)],
        )
        holding = [(number, said) for number, said in spoken if wanted in plain(said)]
        return next((number for number, said in holding if tells(said, value)), holding[0][0] if holding else None)

    def updated(self, entity: Entity) -> Entity:
        """An entity whose value the user said has changed, with the new one."""
        changed = change.apply(entity.line, self.changes)
        value = changed.removeprefix(f"{entity.key}: ")
        if changed == entity.line or not changed.startswith(f"{entity.key}: "):
            return entity
        return Entity(entity.key, value, self.turn_of(value) or self.turns[-1].number)

    def standing(self, entities: Iterable[Entity]) -> tuple[Entity, ...]:
        """Entities with the values of now, without those that the user denied."""
        return tuple(each for each in map(self.updated, entities) if not denied(each, self.said))

    def place(self, text: str) -> int:
        """Where in the turns a sentence belongs: the statement that it shares the most letter pairs with."""
        own = pairs(text)
        return max(range(len(self.said)), key=lambda at: len(own & pairs(self.said[at])), default=0)

    def is_forgotten(self, text: str) -> bool:
        """Whether the user had this forgotten in or after the first of these turns and has not said it again since."""
        first = self.turns[0].number if self.turns else 0
        return any(
            number >= first and about(what, text) and not self._said_since(what, number)
            for what, number in self.forgotten
        )

    def _said_since(self, what: str, number: int) -> bool:
        """Also by hand: what the memory holds of it now was pinned, written or set since it was forgotten."""
        later = [turn for turn in self.turns if turn.number > number]
        said = [line for turn in later for line in assertions(clean(turn.question))]
        return any(about(what, line) for line in (*said, *self._held))

    @cached_property
    def _held(self) -> list[str]:
        return [*self.pins, *self.lines, *(each.line for each in self.entities)]

    def _without_forgotten(self, turn: Turn) -> Turn:
        """The turn without what is forgotten, and its answer without the values that the user gave there."""
        gone = [what for what, number in self.forgotten if number >= turn.number]
        asked, answered = (sentence.split(clean(part)) for part in (turn.question, turn.answer))
        left = [line for line in asked if not any(about(what, line) for what in gone)]
        values = fact.facts("\n".join(line for line in asked if line not in left))
        kept = [line for line in answered if not any(about(what, line) for what in gone)]
        kept = [line for line in kept if not any(fact.holds(line, each) for each in values)]
        if (left, kept) == (asked, answered):
            return turn
        return replace(turn, question="\n".join(left), answer="\n".join(kept))

    def rejected(self, why: Mapping[str, Any], cost: dict[str, Any]) -> FoldRejected:
        """The error that keeps the old memory; ``why``: its reason; ``cost``: what the try took."""
        return FoldRejected(first=self.turns[0].number, last=self.turns[-1].number, cost=cost, **why)


def _dated(line: str) -> bool:
    return any(each.kind in ("date", "time") for each in fact.facts(line))


def opening(source: Source, models: ModelSet) -> tuple[str, str]:
    """The system prompt, and memory and dialogue: the same for every request, so that a server reads it once."""
    lines = "\n".join(source.lines) or "–"
    user, ai = LABEL[source.language]
    room = _speech(source, models)
    spoken = [
        f"[{user}] {abridged(turn.question, room[0])}\n[{ai}] {abridged(turn.answer, room[1])}" for turn in source.told
    ]
    dialogue = "\n".join(spoken)
    frame = f"<memory>\n{fenced(lines)}\n</memory>\n<dialogue>\n{fenced(dialogue)}\n</dialogue>"
    return prompt.render("memory_fold", source.language), frame


def _speech(source: Source, models: ModelSet) -> tuple[int, int]:
    if (models.side.folds == "extracted"):
        return SPEECH[source.language]
    each = models.context_size // 4 // max(1, len(source.turns))  # a token is at least a character
    return each, each


def abridged(text: str, most: int) -> str:
    """Head and tail of a text that is longer than ``most`` characters."""
    text = " ".join(clean(text).split())
    return text if len(text) <= most else f"{text[: most * 2 // 3]} […] {text[-most // 3 :]}"
