"""The sentences of a memory: which say the same, which are taken, and how an earlier topic becomes one line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from text import fact

SAME = 0.75
HALF = 0.5
"""Share of the letter pairs of a sentence with facts that another must have to tell all that it tells."""
TOPIC = " / "
"""Between the sentences of a topic that became one line; no full stops are among them, so it stays one sentence."""
EQUAL = 0.6
"""Share of all letter pairs of two sentences that both must have to be one statement."""


def pairs(text: str) -> frozenset[str]:
    """The letter pairs of a text: what two spellings of one statement share, in both languages."""
    letters = "".join(letter for letter in text.casefold() if letter.isalnum())
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1))


def alike(one: str, other: str) -> bool:
    """Whether the shorter of two sentences is mostly in the other."""
    short, long = sorted((pairs(one), pairs(other)), key=len)
    return not short or len(short & long) > SAME * len(short)


def says(text: str, line: str) -> bool:
    """Whether a text says what a line says: mostly its words, and all its facts."""
    return alike(line, text) and holds_all(text, fact.facts(line))


def equal(one: str, other: str) -> bool:
    """Whether two sentences make the same statement in nearly the same words."""
    first, second = pairs(one), pairs(other)
    near = plain(one) == plain(other) or len(first & second) > EQUAL * len(first | second)
    return near and holds_all(one, fact.facts(other)) and holds_all(other, fact.facts(one))


def about(what: str, text: str) -> bool:
    """Whether a text says what somebody wants forgotten or found: the same words, and no other values."""
    if plain(what) in plain(text):
        return True
    if len(what) <= 8 or not alike(what, text):
        return False
    return holds_all(text, fact.facts(what)) or holds_all(what, fact.facts(text))


def plain(text: str) -> str:
    """The text without case and spaces."""
    return "".join(text.casefold().split())


def holds_all(text: str, facts: Iterable[fact.Fact]) -> bool:
    return all(fact.holds(text, each) for each in facts)


def repeats(one: str, other: str) -> bool:
    """Whether ``other`` tells all that ``one`` tells: its facts and half of its words; without facts, most of them."""
    own, facts = pairs(one), fact.facts(one)
    return len(own & pairs(other)) > (HALF if facts else SAME) * len(own) and holds_all(other, facts)


def is_topic(line: str) -> bool:
    """Whether a line is an earlier topic that was brought down to one line."""
    return TOPIC in line


def choose(
    notes: Sequence[str], spare: Sequence[str], wanted: Sequence[fact.Fact], most: int, place: Callable[[str], int]
) -> list[str]:
    """The notes, each statement once, and those of the spare sentences that hold wanted facts the notes lack.

    Together at most ``most`` characters; in the order of ``place``.
    """
    chosen: list[str] = []
    for each in notes:
        again = any(alike(each, other) for other in chosen) and holds_all("\n".join(chosen), fact.facts(each))
        if not again and _size(chosen) + len(each) <= most:
            chosen.append(each)
    while (best := _best(chosen, spare, wanted)) and _size(chosen) + len(best) <= most:
        chosen.append(best)
    for each in sorted(chosen, key=len):
        if any(repeats(each, other) for other in chosen if other is not each):
            chosen.remove(each)
    return sorted(chosen, key=place)


def shortened(lines: Sequence[str], facts: Sequence[fact.Fact], most: int) -> str:
    """Sentences that hold the most of these facts, and the newest, in one line of ``most`` characters."""
    chosen: list[str] = []
    left = list(facts)
    while left:
        fitting = [line for line in lines if line not in chosen and len(TOPIC.join([*chosen, line])) <= most]
        best = max(fitting, key=lambda line: sum(fact.holds(line, each) for each in left) / len(line), default=None)
        if best is None or not any(fact.holds(best, each) for each in left):
            break
        chosen.append(best)
        left = [each for each in left if not fact.holds(best, each)]
    for line in reversed(lines):  # what room is left goes to the newest of the others
        if line not in chosen and len(TOPIC.join([*chosen, line])) <= most:
            chosen.append(line)
    if not chosen:
        return lines[-1][:most] if lines else ""
    return TOPIC.join(line.rstrip(" .") for line in lines if line in chosen)


def _best(chosen: Sequence[str], spare: Sequence[str], wanted: Sequence[fact.Fact]) -> str | None:
    held = "\n".join(chosen)
    missing = [each for each in wanted if not fact.holds(held, each)]
    scores = {line: sum(fact.holds(line, each) for each in missing) / (len(line) + 8) for line in spare}
    best = max(scores, key=lambda line: scores[line], default=None)
    return best if best is not None and scores[best] > 0 else None


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def shorten(text: str, most: int) -> str:
    """The text cut back to the end of a sentence, else of a word, within ``most`` characters; '' when none fits."""
    if len(text) <= most:
        return text
    head = text[: most + 1]
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s)", head)]
    if ends and ends[-1] > most // 2:
        return head[: ends[-1]]
    return head[: head.rfind(" ")].rstrip(" ,;") if " " in head else ""
