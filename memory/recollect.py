"""Searches a memory for the tool ``recall_memory``, and compares its versions.

Searches by words and letter pairs, without a model. The prompt contains the current memory anyway (specification 6.1);
the search finds statements that have left it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Literal

from memory.change.drop import is_gone
from memory.line import lines, pairs, parts
from memory.state import MemoryTurn, State, Version
from text import sentence

NEAR = 0.3
"""Share of a query's letter pairs below which a line may have them by chance."""
_WORD = re.compile(r"[^\W_]{2,}")
COMPARED = 60
"""The most statements that are compared by meaning."""
Near = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns how near each text is to the first one (cosine)."""
Difference = tuple[Literal["same", "gone", "new"], str]


def search(
    query: str,
    state: State,
    base: State | None,
    versions: Sequence[Version],
    limit: int,
    answers: bool = True,
    near: Near | None = None,
) -> list[str]:
    """Returns statements about the query, best first: the current memory before earlier versions and turns.

    ``answers``: also searches what the assistant and its tools said. Each statement names its origin. An empty query
    returns the current memory. Forgotten statements are left out. ``near``: compares meanings, so that a statement in
    other words is found, too.
    """
    now = _now(base, state) if base else _now(state)
    if not query.strip():
        return list(dict.fromkeys(now))[:limit]
    candidates = [(line, 2.0, "") for line in now]
    candidates += [
        (line, 1.5, f" (turn {turn.number})") for turn in state.short for line in _spoken(turn, state, answers)
    ]
    for version in reversed(versions):
        remembered = [line for line in parts(version.text) if not is_gone(line, 0, state)]
        candidates += [(line, 1.2, f" (M{version.number})") for line in remembered]
        candidates += [
            (line, 1.0, f" (turn {turn.number})") for turn in version.turns for line in _spoken(turn, state, answers)
        ]
    return _nearest(query, candidates, limit, near) if near else _best(query, candidates, limit)


def difference(old: str, new: str) -> list[Difference]:
    """Returns the lines of both texts in order, each marked as same, gone or new."""
    marks: dict[str, Literal["same", "gone", "new"]] = {"  ": "same", "- ": "gone", "+ ": "new"}
    marked = difflib.ndiff(lines(old), lines(new))
    return [(marks[line[:2]], line[2:]) for line in marked if line[:2] in marks]


def _now(*states: State) -> list[str]:
    """Returns the current statements of one or two memories; their text is that of the first."""
    statements = [*(pin for state in states for pin in state.pins), *parts(states[0].text)]
    return [*statements, *(entity.line for state in states for entity in state.entities)]


def _best(query: str, found: Sequence[tuple[str, float, str]], limit: int) -> list[str]:
    words, letters = _words(query), pairs(query)
    scored: dict[str, tuple[float, str]] = {}
    for line, weight, origin in found:
        score = weight * _score(line, words, letters)
        if score > 0 and score > scored.get(line, (0.0, ""))[0]:
            scored[line] = (score, line + origin)
    ranked = sorted(scored.values(), key=lambda pair: -pair[0])
    return [line for _, line in ranked[:limit]]


def _nearest(query: str, found: Sequence[tuple[str, float, str]], limit: int, near: Near) -> list[str]:
    """Returns the statements nearest in meaning, in the order in which they were written.

    Compares the statements of the current memory and of the last turns, and of the earlier ones those that share words
    or letters with the query: the cost stays flat."""
    words, letters = _words(query), pairs(query)
    known: dict[str, str] = {}
    for line, weight, origin in found:
        if weight >= 1.5 or _score(line, words, letters) > 0:
            known.setdefault(line.rstrip(".!?"), origin)
    lines = list(known)[:COMPARED]
    nearness = near(query, lines) if lines else []
    best = sorted(range(len(lines)), key=lambda at: -nearness[at])[:limit]
    return [lines[at] + known[lines[at]] for at in sorted(best)]


def _score(line: str, wanted: frozenset[str], letters: frozenset[str]) -> float:
    """Returns the share of the query's words plus the share of its letter pairs that the line has."""
    shared = len(_words(line) & wanted) / len(wanted) if wanted else 0.0
    spelled = len(pairs(line) & letters) / len(letters) if letters else 0.0
    return shared + (spelled if spelled > NEAR else 0.0)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _spoken(turn: MemoryTurn, state: State, answers: bool) -> list[str]:
    texts = (turn.question, turn.answer, turn.tools) if answers else (turn.question,)
    spoken = [line for text in texts for line in sentence.split(text)]
    return [line for line in spoken if not is_gone(line, turn.number, state)]
