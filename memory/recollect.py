"""Looking things up in a memory, and dropping them from it: for the tools ``recall_memory`` and ``forget``.

By words and letter pairs, without a model: the memory as a whole is in the context anyway (copilot-rag.md §1.2); this
finds what has left it.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from memory import topic
from memory.line import about, pairs
from memory.state import Entity, State, Turn, Version, same_key
from memory.subject import words
from text import sentence
from text.assertion import assertions

MOST_FORGOTTEN = 50
Difference = tuple[Literal["same", "gone", "new"], str]


def search(query: str, state: State, base: State | None, versions: Sequence[Version], limit: int) -> list[str]:
    """Statements about the query, best first: the memory of now before what earlier versions and turns say.

    Each says where it is from. An empty query gives the memory of now. What was forgotten is not found again.
    """
    now = _now(base, state) if base else _now(state)
    found = [(line, 2.0, "") for line in now]
    for turn in state.short:
        found += [(line, 1.5, f" (turn {turn.number})") for line in _said(turn, state)]
    for version in reversed(versions):
        kept = [line for line in sentence.split(version.text) if not _gone(line, 0, state)]
        found += [(line, 1.2, f" (M{version.number})") for line in kept]
        for turn in version.turns:
            found += [(line, 1.0, f" (turn {turn.number})") for line in _said(turn, state)]
    if not query.strip():
        return list(dict.fromkeys(now))[:limit]
    return _best(query, found, limit)


def told(what: str, state: State, users: State, versions: Sequence[Version]) -> list[str]:
    """What a session's memory and its user's say of something that is named, now and in earlier versions, and what was
    said of it in turns that are kept; without what was forgotten already."""
    turns = [*state.short, *(turn for each in versions for turn in each.turns)]
    said = [(line, turn.number) for turn in turns for line in assertions(turn.question)]
    said += [(line, 0) for each in versions for line in sentence.split(each.text)]
    lines = [part for line in (*_now(state), *_now(users)) for part in topic.parts(line)]
    lines += [line for line, number in said if not _gone(line, number, state)]
    named = [each.line for each in (*state.entities, *users.entities) if _names(what, each.key, each.value)]
    return list(dict.fromkeys([*named, *(line for line in lines if about(what, line))]))


def difference(old: str, new: str) -> list[Difference]:
    """The sentences of both texts in order, each with what became of it."""
    marks: dict[str, Literal["same", "gone", "new"]] = {"  ": "same", "- ": "gone", "+ ": "new"}
    lines = difflib.ndiff(sentence.split(old), sentence.split(new))
    return [(marks[line[:2]], line[2:]) for line in lines if line[:2] in marks]


def without(state: State, what: str, turn: int) -> State:
    """The state without an entity of this key and without statements that say this.

    Turns so far do not bring it back.
    """
    pins = tuple(each for each in state.pins if not about(what, each))
    forgotten = tuple(each for each in state.forgotten if each[0] != what)
    forgotten = (*forgotten, (what, max(turn, state.newest)))[-MOST_FORGOTTEN:]
    return replace(rid(state, [what]), pins=pins, forgotten=forgotten)


def rid(state: State, gone: Sequence[str], spared: State | None = None) -> State:
    """The state without lines that say one of these, and without entities of such a key or value; what ``spared``
    holds stays: it was said or written down again since."""
    lines, stay = sentence.split(state.text), sentence.split(spared.text) if spared else ()
    values = spared.entities if spared else ()

    def goes(part: str) -> bool:
        return part not in stay and any(about(what, part) for what in gone)

    def leaves(each: Entity) -> bool:
        return each not in values and any(_names(what, each.key, each.value) for what in gone)

    left = [topic.without(line, goes) for line in lines]
    kept = [line for line in left if line]
    entities = (each for each in state.entities if not leaves(each))
    replaced = (each for each in state.replaced if not any(_names(what, each.key, each.old) for what in gone))
    text = "\n".join(kept) if left != lines else state.text
    return replace(state, text=text, entities=tuple(entities), replaced=tuple(replaced))


def _now(*states: State) -> list[str]:
    """What memories hold now; of several, the first one's text."""
    lines = [*(pin for each in states for pin in each.pins), *sentence.split(states[0].text)]
    return [*lines, *(each.line for state in states for each in state.entities)]


def _names(what: str, key: str, value: str) -> bool:
    return same_key(key) == same_key(what) or about(what, f"{key}: {value}")


def _best(query: str, found: Sequence[tuple[str, float, str]], limit: int) -> list[str]:
    wanted, letters = words(query), pairs(query)
    scored: dict[str, tuple[float, str]] = {}
    for line, weight, origin in found:
        score = weight * _score(line, wanted, letters)
        if score > 0 and score > scored.get(line, (0.0, ""))[0]:
            scored[line] = (score, line + origin)
    ranked = sorted(scored.values(), key=lambda each: -each[0])
    return [said for _, said in ranked[:limit]]


def _score(line: str, wanted: frozenset[str], spelled: frozenset[str]) -> float:
    """Share of the query's words, and of its letter pairs, that the line has."""
    shared = len(words(line) & wanted) / len(wanted) if wanted else 0.0
    letters = len(pairs(line) & spelled) / len(spelled) if spelled else 0.0
    return shared + (letters if letters > 0.3 else 0.0)


def _said(turn: Turn, state: State) -> list[str]:
    lines = [line for text in (turn.question, turn.answer, turn.tools) for line in sentence.split(text)]
    return [line for line in lines if not _gone(line, turn.number, state)]


def _gone(line: str, turn: int, state: State) -> bool:
    """Whether the user had this forgotten in or after its turn."""
    return any(number >= turn and about(what, line) for what, number in state.forgotten)
