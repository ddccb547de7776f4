"""Searches the lines of a memory for the tool ``recall``, and compares its versions.

Searches by words and letter pairs, without a model; ``near`` compares meanings as well.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from memory.line import find_letter_pairs, split_memory_lines
from text.clean import clean_text
from text.fold import fold_text

NEAR = 0.3
"""Share of a query's letter pairs below which a line may have them by chance."""
_WORD = re.compile(r"[^\W_]{2,}")
COMPARED = 60
"""The most lines that are compared by meaning."""
Near = Callable[[str, Sequence[str]], Sequence[float]]
"""Returns how near each text is to the first one (cosine)."""
Difference = tuple[Literal["same", "gone", "new"], str]


class Candidate(NamedTuple):
    """A line that a search may find; ``label``: what is said behind it of where it comes from; ``weight``: how much
    its likeness counts."""

    text: str
    label: str = ""
    weight: float = 1.0


def search_lines(query: str, candidates: Sequence[Candidate], limit: int, near: Near | None = None) -> list[str]:
    """Returns the lines about the query, best first; for an empty query the first ones."""
    if not query.strip():
        return list(dict.fromkeys(each.text + each.label for each in candidates))[:limit]
    return (
        _find_lines_by_meaning(query, candidates, limit, near)
        if near
        else _rank_lines_by_words(query, candidates, limit)
    )


def compare_memory_texts(old: str, new: str) -> list[Difference]:
    """Returns the lines of both texts in order, each marked as same, gone or new."""
    marks: dict[str, Literal["same", "gone", "new"]] = {"  ": "same", "- ": "gone", "+ ": "new"}
    marked = difflib.ndiff(split_memory_lines(old), split_memory_lines(new))
    return [(marks[line[:2]], line[2:]) for line in marked if line[:2] in marks]


def _rank_lines_by_words(query: str, candidates: Sequence[Candidate], limit: int) -> list[str]:
    words, letters = _find_line_words(query), find_letter_pairs(query)
    scored: dict[str, tuple[float, str]] = {}
    for each in candidates:
        score = each.weight * _score_line(each.text, words, letters)
        if score > 0 and score > scored.get(each.text, (0.0, ""))[0]:
            scored[each.text] = (score, each.text + each.label)
    ranked = sorted(scored.values(), key=lambda pair: -pair[0])
    return [line for _, line in ranked[:limit]]


def _find_lines_by_meaning(query: str, candidates: Sequence[Candidate], limit: int, near: Near) -> list[str]:
    """Returns the lines nearest in meaning, in the order of the candidates."""
    known: dict[str, str] = {}
    for each in candidates:
        known.setdefault(clean_text(each.text).rstrip(".!?"), each.label)
    texts = list(known)[:COMPARED]
    nearness = near(query, texts) if texts else []
    best = sorted(range(len(texts)), key=lambda at: -nearness[at])[:limit]
    return [texts[at] + known[texts[at]] for at in sorted(best)]


def _score_line(line: str, wanted: frozenset[str], letters: frozenset[str]) -> float:
    """Returns the share of the query's words plus the share of its letter pairs that the line has."""
    shared = len(_find_line_words(line) & wanted) / len(wanted) if wanted else 0.0
    spelled = len(find_letter_pairs(line) & letters) / len(letters) if letters else 0.0
    return shared + (spelled if spelled > NEAR else 0.0)


def _find_line_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold_text(text)))
