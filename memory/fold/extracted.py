"""The fold without a model, in milliseconds: dated lines with the user's own words, in the order of the turns.

Code does not judge whether a later statement revokes an earlier one; the later one simply stands later. When the room
is too small, the statements leave first whose words and facts later statements have too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

from memory.fold.fold_input import MOST_LOOKED, FoldInput, held_by, join_memory_text
from memory.fold.folded import MOST_SENTENCES, Folded
from memory.line import (
    END,
    JOINT,
    DatedStatement,
    find_letter_pairs,
    holds_all,
    is_same_line,
    letters_of,
    measure_likeness,
    parse_dated_line,
    render_dated_line,
    statements_of,
)
from memory.state import MemoryTurn
from text import sentence
from text.clean import clean_text, collapse_spaces
from text.fact import fact, number
from text.language import Language
from text.sentence import is_question
from text.text_cache import cache_texts

Count = Callable[[str], int]

SHARE = 0.85
"""Share of the room that a fold fills; the rest is for the turns after the fold (``MemoryView.waiting_lines``)."""
LONGEST = {"ko": 120, "en": 240}
"""Most characters of a statement, by language; a longer sentence is split into several statements."""
WIDTH = {"ko": 60, "en": 120}
"""Most characters of a line that short statements of neighbouring turns share, by language."""
NEIGHBOURS = 5
"""Turns that may share a line: as many as a fold takes in."""
MOST_OF_TURN = 8
"""Most statements of one turn, so that a long pasted text does not push out all other statements."""
LEAST_PAIRS, ENOUGH_PAIRS = 4, 24
"""Letter pairs that a statement without a fact needs to be kept, and letter pairs that give a statement its full
size."""
NEARLY = 0.9
"""Likeness from which two statements with the same facts count as one."""
KIN, KIN_WITH_VALUES = 0.4, 0.15
"""Share of the shorter statement's letter pairs above which a later statement may report the outcome of an earlier one.
The second, lower share applies when both have values of one kind."""
ASKED = 0.5
"""Worth of a question with facts, as a share of a statement's worth."""
VALUED = 0.5
"""Factor on the worth lost to a similar later statement, for a statement with a fact that no later statement has."""
PLAIN_SHARE = 0.5
"""Share of the statements that those without a fact keep when room is short: chunk summaries keep the facts."""
_MARK = re.compile(r"^[\s>#*•·–-]+(?=\S)|^\d{1,2}[.)]\s+|\*\*|`")


def fold_by_code(source: FoldInput, count: Count, room: int, spent: dict[str, Any] | None = None) -> Folded:
    """Returns the next memory, within 20 lines and ``room`` tokens, with all pinned statements.

    ``spent``: the cost (``folded.read_fold_cost``) of a model's fold that was rejected before.
    """
    start = time.monotonic()
    before = [told for line in source.lines for told in _split_memory_line(line)]
    told = sorted([*before, *new_statements(source.allowed_turns)], key=lambda statement: statement.last)
    chosen = choose_statements(_with_pins(told, source.pins), source.pins, source.language, count, int(SHARE * room))
    text = "\n".join(render_memory_lines(chosen, source.language))
    kept, lost = held_by(join_memory_text(text, source.entities), source.user_facts)
    folded = Folded(text, source.entities, kept=kept, lost=lost, seconds=time.monotonic() - start)
    return replace(folded, **spent) if spent else folded


def new_statements(turns: Sequence[MemoryTurn]) -> list[DatedStatement]:
    """Returns the user's statements, one per sentence, in order; of a long turn only those with the most facts."""
    return [DatedStatement(turn.number, turn.number, text) for turn in turns for text in _of_turn(turn)]


def choose_statements(
    told: Sequence[DatedStatement],
    pins: Sequence[str],
    language: Language,
    count: Count,
    room: int,
    most: int = MOST_SENTENCES,
) -> list[DatedStatement]:
    """Returns the statements, each once, within ``most`` lines and ``room`` tokens.

    Drops the statement with the lowest worth first, the older one of two with equal worth; never drops a pinned one.
    """
    statements = _drop_repeated_statements(told)
    weighed = _Weighed(statements)
    pinned = {
        at for at, statement in enumerate(statements) if any(_is_text_in_statement(statement, pin) for pin in pins)
    }
    while True:
        left = [statements[at] for at in weighed.alive]
        lines = render_memory_lines(left, language)
        loose = [at for at in weighed.alive if at not in pinned]
        if not loose or (len(lines) <= most and count("\n".join(lines)) <= room):
            return left
        weighed.drop(loose)


def render_memory_lines(told: Sequence[DatedStatement], language: Language) -> list[str]:
    """Returns the lines of a memory; short statements of neighbouring turns share a line."""
    lines: list[DatedStatement] = []
    for statement in told:
        if lines and _can_share_line(lines[-1], statement, language):
            before = lines.pop()
            text = f"{before.text.rstrip(END)}{JOINT}{statement.text.rstrip(END)}"
            statement = DatedStatement(before.first, statement.last, text)
        lines.append(statement)
    return [render_dated_line(line, language) for line in lines]


def is_possible_outcome(one: str, later: str) -> bool:
    """Tells whether the later statement may report the outcome of the earlier one (``one``)."""
    first, second = find_letter_pairs(one), find_letter_pairs(later)
    least = KIN_WITH_VALUES if _list_fact_kinds(one) & _list_fact_kinds(later) else KIN
    return len(first & second) > least * min(len(first), len(second))


class _Weighed:
    """Statements weighed by the content that later ones lack. ``alive``: indices of the statements left, in order."""

    def __init__(self, told: Sequence[DatedStatement]) -> None:
        self.alive = list(range(len(told)))
        texts = [statement.text for statement in told]
        letters = [find_letter_pairs(text) for text in texts]
        self._shared = [[len(one & other) for other in letters] for one in letters]
        self._sizes = [_weigh_statement_size(text) for text in texts]
        self._kin = [[one for one in range(at) if is_possible_outcome(texts[one], texts[at])] for at in self.alive]
        self._tellers = [_find_later_tellers(texts, at) for at in self.alive]

    def drop(self, among: Sequence[int]) -> None:
        """Removes the statement with the lowest worth from ``among``, the oldest of several. Chooses among those
        without a fact when they have more than their share, else among those with facts."""
        plain = [at for at in among if not self._tellers[at]]
        valued = [at for at in among if self._tellers[at]]
        worth = self._worth()
        candidates = plain if len(plain) > PLAIN_SHARE * len(among) or not valued else valued
        self.alive.remove(min(candidates, key=lambda at: (worth[at], at)))

    def _worth(self) -> dict[int, float]:
        """Returns for each statement the content that no later one has. A statement that may report the outcome of an
        older one is worth at least as much as the older one."""
        worth: dict[int, float] = {}
        for place, at in enumerate(self.alive):
            shared, later = self._shared[at], self.alive[place + 1 :]
            again = max((shared[index] for index in later), default=0) / max(1, shared[at])
            alone = any(tellers.isdisjoint(later) for tellers in self._tellers[at])
            new = (1 - again * (VALUED if alone else 1.0)) * self._sizes[at]
            worth[at] = max([new, *(worth[index] for index in self._kin[at] if index in worth)])
        return worth


def _find_later_tellers(texts: Sequence[str], at: int) -> list[frozenset[int]]:
    """Returns, for each fact of a statement, the indices of the later statements that hold the fact too."""
    later = range(at + 1, len(texts))
    return [
        frozenset(index for index in later if fact.has_fact_value(texts[index], value))
        for value in fact.find_facts(texts[at])
    ]


def _weigh_statement_size(text: str) -> float:
    """Returns the most that a statement can be worth."""
    return min(len(find_letter_pairs(text)) / ENOUGH_PAIRS, 1.0) * (ASKED if is_question(text) else 1.0)


@cache_texts(2048)
def _list_fact_kinds(text: str) -> frozenset[tuple[str, str]]:
    """Returns the kinds of a statement's facts; for numbers with their units."""
    facts = fact.find_facts(text)
    return frozenset((item.kind, item.value.unit if isinstance(item.value, number.Number) else "") for item in facts)


def _drop_repeated_statements(told: Sequence[DatedStatement]) -> list[DatedStatement]:
    """Returns the statements without those that a later one repeats."""
    kept: list[DatedStatement] = []
    for earlier in reversed(told):
        if not any(_is_statement_repeated(earlier.text, later.text) for later in kept):
            kept.append(earlier)
    return kept[::-1]


def _is_statement_repeated(one: str, later: str) -> bool:
    if is_same_line(one, later):
        return True
    near = measure_likeness(one, later) >= NEARLY
    return near and holds_all(later, fact.find_facts(one)) and holds_all(one, fact.find_facts(later))


def _with_pins(told: Sequence[DatedStatement], pins: Sequence[str]) -> list[DatedStatement]:
    """Returns the statements with missing pins added at the start, without statements that are only part of a pin."""
    rest = [statement for statement in told if not any(_is_part(statement.text, pin) for pin in pins)]
    return [
        *(
            DatedStatement(0, 0, pin)
            for pin in pins
            if not any(_is_text_in_statement(statement, pin) for statement in rest)
        ),
        *rest,
    ]


def _is_part(text: str, pin: str) -> bool:
    return letters_of(text) in letters_of(pin) and not is_same_line(text, pin)


def _is_text_in_statement(told: DatedStatement, text: str) -> bool:
    return letters_of(text) in letters_of(told.text)


def _split_memory_line(line: str) -> list[DatedStatement]:
    """Returns the statements of a line of the old memory; a line without a turn stays whole."""
    entry = parse_dated_line(line)
    return statements_of(line) if entry.first else [entry]


def _can_share_line(line: DatedStatement, told: DatedStatement, language: Language) -> bool:
    short = len(line.text) + len(told.text) <= WIDTH[language]
    question = is_question(line.text) or is_question(told.text)
    near = (line.first > 0) == (told.first > 0) and bool(line.first) and told.last - line.first < NEIGHBOURS
    single = JOINT not in line.text  # then the turn of each statement follows from the line
    return short and not question and near and (single or line.first == told.last)


def _of_turn(turn: MemoryTurn) -> list[str]:
    cleaned = (
        collapse_spaces(_MARK.sub("", line))
        for line in sentence.split_sentences(clean_text(turn.question))[:MOST_LOOKED]
    )
    longest = LONGEST["en" if turn.question.isascii() else "ko"]
    texts = [part for text in cleaned if _is_sentence_worth_keeping(text) for part in wrap(text, longest)]
    if len(texts) <= MOST_OF_TURN:
        return texts
    ranked = sorted(range(len(texts)), key=lambda at: (-len(fact.find_facts(texts[at])), at))
    return [texts[at] for at in sorted(ranked[:MOST_OF_TURN])]


def _is_sentence_worth_keeping(text: str) -> bool:
    """Tells whether a sentence is worth keeping: it has a fact, or it has enough words and is no question."""
    return bool(fact.find_facts(text)) or (not is_question(text) and len(find_letter_pairs(text)) >= LEAST_PAIRS)
