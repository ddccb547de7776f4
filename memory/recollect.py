"""Looking things up in a memory for the tool ``recall_memory``, and comparing its versions.

By words and letter pairs, without a model: the memory as a whole is in the context anyway (copilot-rag.md §1.2); this
finds what has left it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Literal

from memory.drop import is_gone
from memory.line import lines, pairs, parts
from memory.state import State, Turn, Version
from text import sentence

NEAR = 0.3
"""Share of a query's letter pairs below which a line that has them may have them by chance."""
_WORD = re.compile(r"[^\W_]{2,}")
Difference = tuple[Literal["same", "gone", "new"], str]


def search(query: str, state: State, base: State | None, versions: Sequence[Version], limit: int) -> list[str]:
    """Statements about the query, best first: the memory of now before what earlier versions and turns say.

    Each says where it is from. An empty query gives the memory of now. What was forgotten is not found again.
    """
    now = _now(base, state) if base else _now(state)
    if not query.strip():
        return list(dict.fromkeys(now))[:limit]
    found = [(line, 2.0, "") for line in now]
    found += [(line, 1.5, f" (turn {turn.number})") for turn in state.short for line in _spoken(turn, state)]
    for version in reversed(versions):
        kept = [line for line in parts(version.text) if not is_gone(line, 0, state)]
        found += [(line, 1.2, f" (M{version.number})") for line in kept]
        found += [(line, 1.0, f" (turn {turn.number})") for turn in version.turns for line in _spoken(turn, state)]
    return _best(query, found, limit)


def difference(old: str, new: str) -> list[Difference]:
    """The lines of both texts in order, each with what became of it."""
    marks: dict[str, Literal["same", "gone", "new"]] = {"  ": "same", "- ": "gone", "+ ": "new"}
    compared = difflib.ndiff(lines(old), lines(new))
    return [(marks[line[:2]], line[2:]) for line in compared if line[:2] in marks]


def _now(*states: State) -> list[str]:
    """What memories hold now; of several, the first one's text."""
    told = [*(pin for state in states for pin in state.pins), *parts(states[0].text)]
    return [*told, *(entity.line for state in states for entity in state.entities)]


def _best(query: str, found: Sequence[tuple[str, float, str]], limit: int) -> list[str]:
    wanted, letters = _words(query), pairs(query)
    scored: dict[str, tuple[float, str]] = {}
    for line, weight, origin in found:
        score = weight * _score(line, wanted, letters)
        if score > 0 and score > scored.get(line, (0.0, ""))[0]:
            scored[line] = (score, line + origin)
    ranked = sorted(scored.values(), key=lambda one: -one[0])
    return [line for _, line in ranked[:limit]]


def _score(line: str, wanted: frozenset[str], letters: frozenset[str]) -> float:
    """Share of the query's words, and of its letter pairs, that the line has."""
    shared = len(_words(line) & wanted) / len(wanted) if wanted else 0.0
    spelled = len(pairs(line) & letters) / len(letters) if letters else 0.0
    return shared + (spelled if spelled > NEAR else 0.0)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _spoken(turn: Turn, state: State) -> list[str]:
    spoken = [line for text in (turn.question, turn.answer, turn.tools) for line in sentence.split(text)]
    return [line for line in spoken if not is_gone(line, turn.number, state)]
