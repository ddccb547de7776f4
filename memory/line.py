"""The lines of a memory: from which turn each is, and which of them are the same. By letters and facts, no grammar."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from text import fact
from text.language import Language

ALIKE = 0.75
"""Share of the letter pairs of a sentence that another must have to be mostly the same words."""
EQUAL = 0.6
"""Share of all letter pairs of two sentences that both must have to be one statement."""
JOINT = " · "
"""Between the statements of a line that has several."""
_DATE = re.compile(r"(?:turns? (?P<en>\d{1,7})(?:-(?P<until>\d{1,7}))?|(?P<ko>\d{1,7})(?:-(?P<bis>\d{1,7}))?턴): ")


@dataclass(frozen=True, slots=True)
class Told:
    """What was told from turn ``first`` to turn ``last``; 0: before this session, or nobody knows when."""

    first: int
    last: int
    text: str


def lines(text: str) -> list[str]:
    """The lines of a memory, oldest first."""
    return [line for line in text.splitlines() if line.strip()]


def dated(told: Told, language: Language) -> str:
    """A line with the turns it was told in: «turn 7: …», «7-9턴: …»; of turn 0, as it is."""
    if not told.first:
        return told.text
    turns = str(told.first) if told.first == told.last else f"{told.first}-{told.last}"
    if language == "ko":
        return f"{turns}턴: {told.text}"
    return f"{'turn' if told.first == told.last else 'turns'} {turns}: {told.text}"


def undated(line: str) -> Told:
    """A line apart from its turns."""
    date = _DATE.match(line)
    if date is None:
        return Told(0, 0, line)
    first, last = date["en"] or date["ko"], date["until"] or date["bis"]
    return Told(int(first), int(last or first), line[date.end() :])


def bare(line: str) -> str:
    """The words of a line, without its turns."""
    return undated(line).text


def statements_of(line: str) -> list[Told]:
    """The statements of a line: the first and the last one with its turn, those between them with one between."""
    told = undated(line)
    texts = told.text.split(JOINT)
    step = (told.last - told.first) / max(1, len(texts) - 1)
    turns = [told.first + round(at * step) for at in range(len(texts))]
    return [Told(turn, turn, text) for turn, text in zip(turns, texts, strict=True)]


def parts(text: str) -> list[str]:
    """The statements of a memory, without their turns, oldest first."""
    return [part for line in lines(text) for part in bare(line).split(JOINT)]


def thinned(text: str, goes: Callable[[str], bool]) -> str:
    """A memory without the statements that go; the very text where none does."""
    kept = [_thinned(line, goes) for line in lines(text)]
    return text if kept == lines(text) else "\n".join(line for line in kept if line)


def _thinned(line: str, goes: Callable[[str], bool]) -> str:
    told = bare(line)
    left = [part for part in told.split(JOINT) if not goes(part)]
    if JOINT.join(left) == told:
        return line
    return f"{line.removesuffix(told)}{JOINT.join(left)}" if left else ""


def from_before(text: str) -> str:
    """A memory as a session takes it over from others, whose turns have other numbers."""
    return "\n".join(bare(line) for line in lines(text))


@lru_cache(maxsize=4096)
def pairs(text: str) -> frozenset[str]:
    """The letter pairs of a text: what two spellings of one statement share, in both languages."""
    letters = letters_of(text)
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1))


def letters_of(text: str) -> str:
    """The letters and digits of a text alone, to compare by."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def same(one: str, other: str) -> bool:
    """Whether two lines have the same words, whatever turn they are from."""
    return letters_of(bare(one)) == letters_of(bare(other))


def says_again(before: str, line: str) -> bool:
    """Whether a line says once more what another one did: the same words, or mostly, with the same facts."""
    if same(before, line):
        return True
    one, other = bare(before), bare(line)
    return alike(one, other) and holds_all(one, fact.facts(other)) and holds_all(other, fact.facts(one))


def alike(one: str, other: str) -> bool:
    """Whether the shorter of two sentences is mostly in the other."""
    short, long = sorted((pairs(one), pairs(other)), key=len)
    return not short or len(short & long) > ALIKE * len(short)


def says(text: str, line: str) -> bool:
    """Whether a text says what a line says: mostly its words, and all its facts."""
    text, line = bare(text), bare(line)
    return alike(line, text) and holds_all(text, fact.facts(line))


def equal(one: str, other: str) -> bool:
    """Whether two lines make the same statement in nearly the same words."""
    one, other = bare(one), bare(other)
    near = same(one, other) or likeness(one, other) > EQUAL
    return near and holds_all(one, fact.facts(other)) and holds_all(other, fact.facts(one))


def likeness(one: str, other: str) -> float:
    """The share of all letter pairs of two texts that both have; 1 for two without any."""
    first, second = pairs(one), pairs(other)
    return len(first & second) / len(first | second) if first | second else 1.0


def holds_all(text: str, facts: Iterable[fact.Fact]) -> bool:
    """Whether a text holds the values of all these facts."""
    return all(fact.holds(text, each) for each in facts)


def tells(text: str, value: str) -> bool:
    """Whether a value stands in a text as a whole: «$500» does not tell «$50», 12-34 not 12."""
    return bool(value.strip()) and bool(_whole(value.strip()).search(text))


@lru_cache(maxsize=1024)
def _whole(value: str) -> re.Pattern[str]:
    """The value with no letters or digits around it; a Korean one may have a particle after."""
    after = r"(?![A-Za-z0-9])" if value[-1:].isalpha() and value[-1:].isascii() else r"(?![A-Za-z\d]|[,.-]\d)"
    return re.compile(rf"(?<![가-힣A-Za-z0-9])(?<!\d[,.-]){re.escape(value)}{after}", re.IGNORECASE)
