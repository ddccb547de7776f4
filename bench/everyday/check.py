"""Whether an answer is right, by code: one function a check, and the list of them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

import prompt
from bench.everyday.conversation import Turn
from bench.everyday.item import different, is_about, items
from bench.everyday.spelling import Span, folded, holds, letters, values
from text import loop

ECHO, AGAIN = 0.85, 0.9
"""From this likeness on, an answer is the question again, or an earlier answer."""
KOREAN, LATIN, FOREIGN = 0.5, 0.9, 0.03
"""Shares of letters: at least so many Korean ones, at least so many Latin ones, at most so many of other scripts."""
SHORT, SHORT_VALUE = 20, 60
"""Letters of an answer that may come again: where no value was asked for, and where one was."""
COPIES = 3
WINDOW = 8
"""So many words of our prompts in a row are taken from them."""
_VARIABLE = re.compile(r"\$\{?\w+\}?")
_TAG = re.compile(r"</?[a-z_]+>")
_REFUSAL = re.compile(
    r"\W*(?:죄송합니다[,.]?\s*(?:하지만|저는)|죄송하지만|(?:I['’]m|I am)? ?sorry,? but|I apologi[sz]e,? but|As an AI)",
    re.IGNORECASE,
)
_NAME = r"\w*[A-Za-z]\w*(?:[._/(][\w.()/]+|\.[a-z]+\b)|\w*_\w+"
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`]*`|https?://\S+|" + _NAME, re.DOTALL)


@dataclass(frozen=True)
class Given:
    """What an answer is judged by. ``listed``: the answer to the nearest earlier turn that asked for a list;
    ``typed``: everything that the user typed so far; ``before``: the earlier answers."""

    turn: Turn
    question: str
    answer: str
    language: str
    span: Span
    listed: str = ""
    typed: str = ""
    before: Sequence[str] = ()


def failed(given: Given) -> list[str]:
    """The names of the checks that the answer fails; none: it is right."""
    if not given.answer.strip():
        return ["empty"]
    return [name for name, check in CHECKS.items() if not check(given)]


def _has(given: Given) -> bool:
    return all(any(holds(given.answer, form, given.span) for form in group) for group in given.turn.has)


def _lacks(given: Given) -> bool:
    return not any(letters(form) in letters(given.answer) for form in given.turn.lacks)


def _old(given: Given) -> bool:
    """An old value may be named beside the new one, in the same sentence."""
    new = [form for group in given.turn.has for form in group]
    return not any(
        holds(sentence, form, given.span) and not any(holds(sentence, each, given.span) for each in new)
        for sentence in _sentences(given.answer)
        for form in given.turn.old
    )


def _items(given: Given) -> bool:
    found = items(given.answer)
    return not given.turn.items or len(found) == different(found) == given.turn.items


def _item(given: Given) -> bool:
    return not given.turn.item or is_about(given.answer, items(given.listed), given.turn.item)


def _longest(given: Given) -> bool:
    return not given.turn.longest or len(given.answer.strip()) <= given.turn.longest


def _language(given: Given) -> bool:
    """By the share of each script in what is no code, name of a file or address."""
    counts = Counter(_script(sign) for sign in _CODE.sub(" ", given.answer) if sign.isalpha())
    total = counts.total()
    if given.language == "any" or not total:
        return True
    if counts["other"] > FOREIGN * total:
        return False
    return counts["ko"] >= KOREAN * total if given.language == "ko" else counts["latin"] >= LATIN * total


def _echo(given: Given) -> bool:
    """The question said back, or said back first and hardly anything after it."""
    question, answer = letters(given.question), letters(given.answer)
    if question in answer and len(question) >= 12 and len(answer) < 2 * len(question):
        return False
    return SequenceMatcher(None, question, answer, autojunk=False).ratio() < ECHO


def _leak(given: Given) -> bool:
    answer, typed = _spaced(given.answer), _spaced(given.typed)
    return not any(piece in answer and piece not in typed for piece in prompt_pieces())


def _repeat(given: Given) -> bool:
    """No sentence three times, and no loop."""
    counts = Counter(letters(sentence) for sentence in _sentences(given.answer))
    again = any(number >= COPIES and len(sentence) >= 8 for sentence, number in counts.items())
    return not again and loop.begins(given.answer.rstrip()) is None


def _again(given: Given) -> bool:
    """No earlier answer once more with the same numbers, but for short ones: a courtesy, or a value asked twice."""
    answer = letters(given.answer)
    if len(answer) < (SHORT_VALUE if given.turn.has else SHORT):
        return True
    same = [letters(each) for each in given.before if values(each) == values(given.answer)]
    return not any(SequenceMatcher(None, answer, each, autojunk=False).ratio() >= AGAIN for each in same)


def _refusal(given: Given) -> bool:
    """What asks for no value is not turned down."""
    return bool(given.turn.has) or _REFUSAL.match(given.answer) is None


CHECKS: dict[str, Callable[[Given], bool]] = {
    "has": _has,
    "lacks": _lacks,
    "old": _old,
    "items": _items,
    "item": _item,
    "longest": _longest,
    "language": _language,
    "echo": _echo,
    "leak": _leak,
    "repeat": _repeat,
    "again": _again,
    "refusal": _refusal,
}


@cache
def prompt_pieces(folder: Path = Path(prompt.__file__).parent) -> frozenset[str]:
    """What only our prompts say: sentences of five words and twenty characters, eight words in a row, tags."""
    texts = [path.read_text("utf-8") for path in sorted(folder.glob("*/*.md"))]
    return frozenset(piece for text in texts for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    yield from _TAG.findall(text)
    for part in re.split(r"\n|" + _VARIABLE.pattern, text):
        for sentence in map(_spaced, re.split(r"(?<=[.!?])\s+", part)):
            words = sentence.split()
            if len(words) >= 5 and len(sentence) >= 20:
                yield sentence
            yield from (" ".join(words[start : start + WINDOW]) for start in range(len(words) - WINDOW + 1))


def _spaced(text: str) -> str:
    """Folded, with one space between words and no sign at an end of the text."""
    return re.sub(r"\s+", " ", folded(text)).strip(" -.,:;!?\"'«»")


def _sentences(text: str) -> Sequence[str]:
    return [each for each in re.split(r"(?<=[.!?])\s+|\n+", text) if each.strip()]


def _script(sign: str) -> str:
    name = unicodedata.name(sign, "")
    return "ko" if name.startswith("HANGUL") else "latin" if name.startswith("LATIN") else "other"
