"""The lines of a memory: the turns of a line, and lines that say the same. Compares letters and facts, uses no
grammar."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from text.fact import fact
from text.fold import fold_text
from text.language import Language
from text.text_cache import cache_texts

ALIKE = 0.75
"""Two sentences are alike when the longer one has more than this share of the shorter one's letter pairs."""
JOINT = " · "
"""The separator between the statements of one line."""
END = " .。!…"
"""Closing marks that a statement loses when it shares a line with another one."""
BEFORE = -1
"""The turn number of a line from an earlier session."""
_EARLIER = {"ko": "이전", "en": "earlier"}
_DATE = re.compile(
    r"(?:turns? (?P<en>\d{1,7})(?:-(?P<until>\d{1,7}))?|(?P<ko>\d{1,7})(?:-(?P<bis>\d{1,7}))?턴"
    r"|(?P<before>이전|earlier)): "
)


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A text from the turns ``first`` to ``last``. ``BEFORE`` means an earlier session; 0 means written by hand."""

    first: int
    last: int
    text: str


def split_memory_lines(text: str) -> list[str]:
    """Returns the lines of a memory, oldest first."""
    return [line for line in text.splitlines() if line.strip()]


def render_dated_line(told: DatedStatement, language: Language) -> str:
    """Returns a line with its turns: «turn 7: …», «7-9턴: …», «earlier: …»; with turn 0, the text alone."""
    if not told.first:
        return told.text
    if told.first == BEFORE:
        return f"{_EARLIER[language]}: {told.text}"
    turns = str(told.first) if told.first == told.last else f"{told.first}-{told.last}"
    if language == "ko":
        return f"{turns}턴: {told.text}"
    return f"{'turn' if told.first == told.last else 'turns'} {turns}: {told.text}"


def parse_dated_line(line: str) -> DatedStatement:
    """Splits a line into its turns and its text."""
    match = _DATE.match(line)
    if match is None:
        return DatedStatement(0, 0, line)
    if match["before"]:
        return DatedStatement(BEFORE, BEFORE, line[match.end() :])
    first, last = match["en"] or match["ko"], match["until"] or match["bis"]
    return DatedStatement(int(first), int(last or first), line[match.end() :])


def strip_line_turns(line: str) -> str:
    """Returns the text of a line without its turns."""
    return parse_dated_line(line).text


def statements_of(line: str) -> list[DatedStatement]:
    """Returns the statements of a line, each with a turn: the first and last turn of the line for the first and last
    statement, and turns in between for the others."""
    whole = parse_dated_line(line)
    texts = whole.text.split(JOINT)
    step = (whole.last - whole.first) / max(1, len(texts) - 1)
    turns = [whole.first + round(at * step) for at in range(len(texts))]
    return [DatedStatement(turn, turn, text) for turn, text in zip(turns, texts, strict=True)]


@cache_texts(4096)
def find_letter_pairs(text: str) -> frozenset[str]:
    """Returns the letter pairs of a text, for comparing two spellings of a statement, in English and Korean."""
    letters = letters_of(text)
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1))


def letters_of(text: str) -> str:
    """Returns only the letters and digits of a text, in lower case, for comparing."""
    return "".join(letter for letter in fold_text(text) if letter.isalnum())


def is_same_line(one: str, other: str) -> bool:
    """Tells whether two lines have the same words, whatever turns they come from."""
    return letters_of(strip_line_turns(one)) == letters_of(strip_line_turns(other))


def says_again(before: str, line: str) -> bool:
    """Tells whether ``line`` repeats ``before``: the same words, or mostly the same words with the same facts."""
    if is_same_line(before, line):
        return True
    one, other = strip_line_turns(before), strip_line_turns(line)
    if not find_letter_pairs(one) or not find_letter_pairs(other):  # too short to be said in other words
        return False
    return (
        is_mostly_contained(one, other)
        and holds_all(one, fact.find_facts(other))
        and holds_all(other, fact.find_facts(one))
    )


def is_mostly_contained(one: str, other: str) -> bool:
    """Tells whether the shorter of two sentences is mostly contained in the other."""
    short, long = sorted((find_letter_pairs(one), find_letter_pairs(other)), key=len)
    return not short or len(short & long) > ALIKE * len(short)


def has_line_content(text: str, line: str) -> bool:
    """Tells whether a text says what a line says: most of its words and all its facts."""
    text, line = strip_line_turns(text), strip_line_turns(line)
    return is_mostly_contained(line, text) and holds_all(text, fact.find_facts(line))


def measure_likeness(one: str, other: str) -> float:
    """Returns the share of all letter pairs of two texts that both texts have; 1 for two texts without any."""
    first, second = find_letter_pairs(one), find_letter_pairs(other)
    return len(first & second) / len(first | second) if first | second else 1.0


def holds_all(text: str, facts: Iterable[fact.Fact]) -> bool:
    """Tells whether a text holds the values of all these facts."""
    return all(fact.has_fact_value(text, value) for value in facts)


def has_whole_value(text: str, value: str) -> bool:
    """Tells whether a text contains a value as a whole: «$500» does not tell «$50», 12-34 does not tell 12."""
    return bool(value.strip()) and bool(_compile_value_pattern(value.strip()).search(text))


@lru_cache(maxsize=1024)
def _compile_value_pattern(value: str) -> re.Pattern[str]:
    """Returns a pattern for the value without letters or digits around it; a particle may follow a Korean value."""
    after = r"(?![A-Za-z0-9])" if value[-1:].isalpha() and value[-1:].isascii() else r"(?![A-Za-z\d]|[,.-]\d)"
    return re.compile(rf"(?<![가-힣A-Za-z0-9])(?<!\d[,.-]){re.escape(value)}{after}", re.IGNORECASE)
