"""The fold without a model, in milliseconds: dated lines of the user's own words, in the order they were said.

Nothing is taken back by what it means: a later statement stands later. What does not fit leaves by what it carries:
words and facts that no later statement has.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from textwrap import wrap
from typing import Any

from memory.fold.folded import MOST_SENTENCES, Folded
from memory.line import JOINT, Told, dated, holds_all, letters_of, likeness, pairs, same, statements_of, undated
from memory.source import MOST_LOOKED, Source, held_by, is_question, whole
from memory.state import Turn
from text import fact, number, sentence
from text.clean import clean
from text.language import Language

Count = Callable[[str], int]

SHARE = 0.85
"""Share of the room that a fold takes: the rest is for what the turns after it tell (``MemoryView.waiting_lines``)."""
LONGEST = {"ko": 120, "en": 240}
"""Characters of a statement, by language; a longer sentence makes several."""
WIDTH = {"ko": 60, "en": 120}
"""Characters up to which short statements of neighbouring turns share a line."""
NEIGHBOURS = 5
"""Turns that may share a line: as many as a fold takes over."""
MOST_OF_TURN = 8
"""Statements of one turn: a long paste must not push out all else."""
LEAST_PAIRS, ENOUGH_PAIRS = 4, 24
"""Letter pairs of a statement without a fact that says anything, and of one that could not say more."""
NEARLY = 0.9
"""Likeness of two statements with the same facts that are one."""
KIN, KIN_WITH_VALUES = 0.4, 0.15
"""Share of the shorter statement's letter pairs above which a later one may tell what became of an earlier one; where
both have values of one kind, less will do."""
ASKED = 0.5
"""What a question with facts is worth beside a statement."""
VALUED = 0.5
"""How much likeness to a later statement takes from one with a value that none of them has, beside one without."""
PLAIN_SHARE = 0.5
"""Share of the statements that those without a fact may keep when there is no room: chunk summaries keep the facts."""
_MARK = re.compile(r"^[\s>#*•·–-]+(?=\S)|^\d{1,2}[.)]\s+|\*\*|`")
_END = " .。!…"


def make(source: Source, count: Count, room: int, spent: dict[str, Any] | None = None) -> Folded:
    """The next memory, within 20 lines and ``room`` tokens; pinned statements always.

    ``spent``: what a model that was asked first took (``folded.cost``).
    """
    begun = time.monotonic()
    known = [told for line in source.lines for told in _known(line)]
    told = sorted([*known, *new_statements(source.told)], key=lambda each: each.last)
    chosen = choose(_with_pins(told, source.pins), source.pins, source.language, count, int(SHARE * room))
    text = "\n".join(written(chosen, source.language))
    kept, lost = held_by(whole(text, source.entities), source.wanted)
    made = Folded(text, source.entities, kept, lost, seconds=time.monotonic() - begun)
    return replace(made, **spent) if spent else made


def new_statements(turns: Sequence[Turn]) -> list[Told]:
    """What the user said in these turns, a sentence each: of each turn those with the most facts, in their order."""
    return [Told(turn.number, turn.number, text) for turn in turns for text in _of_turn(turn)]


def choose(
    told: Sequence[Told], pins: Sequence[str], language: Language, count: Count, room: int, most: int = MOST_SENTENCES
) -> list[Told]:
    """The statements, each once, within ``most`` lines and ``room`` tokens.

    What is worth least goes first, of two that are worth the same the older one; what is pinned stays.
    """
    every = _latest(told)
    weighed = _Weighed(every)
    pinned = {at for at, each in enumerate(every) if any(_holds(each, pin) for pin in pins)}
    while True:
        kept = [every[at] for at in weighed.alive]
        lines = written(kept, language)
        loose = [at for at in weighed.alive if at not in pinned]
        if not loose or (len(lines) <= most and count("\n".join(lines)) <= room):
            return kept
        weighed.drop(loose)


def written(told: Sequence[Told], language: Language) -> list[str]:
    """The lines of a memory: short statements of neighbouring turns share one."""
    lines: list[Told] = []
    for each in told:
        if lines and _share(lines[-1], each, language):
            before = lines.pop()
            text = f"{before.text.rstrip(_END)}{JOINT}{each.text.rstrip(_END)}"
            each = Told(before.first, each.last, text)
        lines.append(each)
    return [dated(line, language) for line in lines]


def kin(one: str, later: str) -> bool:
    """Whether a statement may tell what became of what an earlier one tells."""
    first, second = pairs(one), pairs(later)
    least = KIN_WITH_VALUES if _kinds(one) & _kinds(later) else KIN
    return len(first & second) > least * min(len(first), len(second))


class _Weighed:
    """Statements by what they carry beside the later ones. ``alive``: the places of those that are left, in order."""

    def __init__(self, told: Sequence[Told]) -> None:
        self.alive = list(range(len(told)))
        texts = [each.text for each in told]
        letters = [pairs(text) for text in texts]
        self._shared = [[len(one & other) for other in letters] for one in letters]
        self._sizes = [_size(text) for text in texts]
        self._kin = [[one for one in range(at) if kin(texts[one], texts[at])] for at in self.alive]
        self._tellers = [_tellers(texts, at) for at in self.alive]

    def drop(self, among: Sequence[int]) -> None:
        """Take out the one of these that is worth least, the oldest of several: of those without a fact where they have
        more than their share, else of those with facts."""
        plain = [at for at in among if not self._tellers[at]]
        valued = [at for at in among if self._tellers[at]]
        worth = self._worth()
        some = plain if len(plain) > PLAIN_SHARE * len(among) or not valued else valued
        self.alive.remove(min(some, key=lambda at: (worth[at], at)))

    def _worth(self) -> dict[int, float]:
        """What of each statement no later one has; of one that may tell what became of an older one, no less than
        that is worth."""
        worth: dict[int, float] = {}
        for place, at in enumerate(self.alive):
            shared, later = self._shared[at], self.alive[place + 1 :]
            again = max((shared[one] for one in later), default=0) / max(1, shared[at])
            alone = any(tellers.isdisjoint(later) for tellers in self._tellers[at])
            new = (1 - again * (VALUED if alone else 1.0)) * self._sizes[at]
            worth[at] = max([new, *(worth[one] for one in self._kin[at] if one in worth)])
        return worth


def _tellers(texts: Sequence[str], at: int) -> list[frozenset[int]]:
    """For each fact of a statement, the later ones that hold it too."""
    later = range(at + 1, len(texts))
    return [frozenset(one for one in later if fact.holds(texts[one], value)) for value in fact.facts(texts[at])]


def _size(text: str) -> float:
    """How much a statement may carry at most."""
    return min(len(pairs(text)) / ENOUGH_PAIRS, 1.0) * (ASKED if is_question(text) else 1.0)


@lru_cache(maxsize=2048)
def _kinds(text: str) -> frozenset[tuple[str, str]]:
    """The kinds of the facts of a statement, of numbers with their units."""
    found = fact.facts(text)
    return frozenset((one.kind, one.value.unit if isinstance(one.value, number.Number) else "") for one in found)


def _latest(told: Sequence[Told]) -> list[Told]:
    """The statements without those that a later one repeats."""
    kept: list[Told] = []
    for each in reversed(told):
        if not any(_repeats(each.text, later.text) for later in kept):
            kept.append(each)
    return kept[::-1]


def _repeats(one: str, later: str) -> bool:
    if same(one, later):
        return True
    near = likeness(one, later) >= NEARLY
    return near and holds_all(later, fact.facts(one)) and holds_all(one, fact.facts(later))


def _with_pins(told: Sequence[Told], pins: Sequence[str]) -> list[Told]:
    """With the pinned statements that are not among these, and without what is a part of one."""
    whole = [each for each in told if not any(_is_part(each.text, pin) for pin in pins)]
    return [*(Told(0, 0, pin) for pin in pins if not any(_holds(each, pin) for each in whole)), *whole]


def _is_part(text: str, pin: str) -> bool:
    return letters_of(text) in letters_of(pin) and not same(text, pin)


def _holds(told: Told, text: str) -> bool:
    return letters_of(text) in letters_of(told.text)


def _known(line: str) -> list[Told]:
    """The statements of a line of the memory so far; one without a date stays as it is."""
    told = undated(line)
    return statements_of(line) if told.first else [told]


def _share(line: Told, told: Told, language: Language) -> bool:
    short = len(line.text) + len(told.text) <= WIDTH[language]
    asked = is_question(line.text) or is_question(told.text)
    return short and not asked and bool(line.first) and told.last - line.first < NEIGHBOURS


def _of_turn(turn: Turn) -> list[str]:
    plain = (" ".join(_MARK.sub("", one).split()) for one in sentence.split(clean(turn.question))[:MOST_LOOKED])
    longest = LONGEST["en" if turn.question.isascii() else "ko"]
    texts = [part for text in plain if _says(text) for part in wrap(text, longest)]
    if len(texts) <= MOST_OF_TURN:
        return texts
    ranked = sorted(range(len(texts)), key=lambda at: (-len(fact.facts(texts[at])), at))
    return [texts[at] for at in sorted(ranked[:MOST_OF_TURN])]


def _says(text: str) -> bool:
    """Whether a sentence tells anything: a fact, or some words and no question."""
    return bool(fact.facts(text)) or (not is_question(text) and len(pairs(text)) >= LEAST_PAIRS)
