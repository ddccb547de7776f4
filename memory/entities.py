"""The entities of a memory: which values come in, and which give way (copilot-rag.md §3.5)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory import change
from memory.change import Change
from memory.source import Source
from memory.state import KEY_CHARS, VALUE_CHARS, Entity, put, same_key
from memory.stated import LABELS, stated, statement
from memory.subject import words
from memory.topic import TOPIC, is_topic, parts
from memory.value import CUE, exchangeable, lacks_unit, same, tells

_SENTENCE = re.compile(r"[^.]{12}(?:[.!?]|다|요|까)$")
"""A value that is a whole sentence is none."""


def stated_in(source: Source) -> list[tuple[str, str]]:
    """Names and values that the user's sentences give by their form.

    Of a name that has a value only that one again: another one is what the sentence says of the thing besides («the
    meeting is at 3 pm», in room 301), or a change, which ``Source.changes`` knows.
    """
    known = {same_key(each.key): source.updated(each).value for each in source.entities}
    pairs = ((key, value) for key, value in stated(source.said) if not source.is_outdated(value, f"{key}: {value}"))
    return [(key, value) for key, value in pairs if same(known.setdefault(same_key(key), value), value)]


def renewed(source: Source, pairs: Sequence[tuple[str, str]]) -> tuple[tuple[Entity, ...], list[Entity]]:
    """The entities with the new ones, and those that had to leave: only values that somebody said, in the turn where
    they were said last. What is said again moves to the end; what is denied is gone."""
    entities = source.entities
    seen = {same_key(each.key): each for each in entities}
    for key, value in pairs:
        number = source.turn_of(value)
        key, value = " ".join(key.split())[:KEY_CHARS], " ".join(value.split())
        if not key or not value or len(value) > VALUE_CHARS or number is None or _SENTENCE.search(value):
            continue
        if source.is_forgotten(key) or source.is_outdated(value, f"{key}: {value}"):
            continue
        known = seen.get(same_key(key))
        if known and not same(known.value, value) and _is_of_another(source, key, value):
            continue
        if key.casefold() in LABELS or (known and (lacks_unit(value, known.value) or source.is_doubtful(value))):
            continue
        entities = put(entities, Entity(key, value, number))
        seen[same_key(key)] = entities[-1]
    for each in entities:
        if (changed := source.updated(each)) != each:
            entities = put(entities, changed)
    kept = {same_key(each.key) for each in entities}
    return source.standing(entities), [source.updated(each) for key, each in seen.items() if key not in kept]


def _is_of_another(source: Source, key: str, value: str) -> bool:
    """Whether the user's sentences tell the value plainly of another thing: a small model may mix them up."""
    told = [(statement(each), each) for each in source.said if tells(each, value)]
    return bool(told) and all(
        said and not CUE.search(sentence) and not words(key) & words(said.subject) for said, sentence in told
    )


def listed(lines: Sequence[str], left: Sequence[Entity]) -> list[str]:
    """The lines with the entities that had no room any more, where no line tells their values: all in one line, behind
    those of earlier topics."""
    told = "\n".join(lines)
    values = [each.line for each in left if not tells(told, each.value)]
    if not values:
        return list(lines)
    known = [line for line in lines if _is_listed(line)]
    others = [line for line in lines if line not in known]
    place = next((at for at, line in enumerate(others) if not is_topic(line)), len(others))
    return [*others[:place], TOPIC.join([*known, *values]), *others[place:]]


def changes(source: Source, entities: Sequence[Entity]) -> list[Change]:
    """Changes that show in entities with a new value that may stand where the old one did."""
    known = [each for line in source.lines if _is_listed(line) for each in map(statement, parts(line)) if each]
    before = {same_key(each.subject): each.value for each in known}
    before |= {same_key(each.key): each.value for each in source.entities}
    pairs = ((before.get(same_key(each.key)), each.value) for each in entities)
    return [
        change.replaced(old, new, source.said)
        for old, new in pairs
        if old is not None and old != new and exchangeable(old, new)
    ]


def _is_listed(line: str) -> bool:
    """Whether a line tells names with their values only."""
    return all((said := statement(part)) is not None and said.listed for part in parts(line))
