"""Checks by code whether an answer is right: one function per check, and ``CHECKS``, the table of all."""

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
from bench.everyday.conversation import EverydayTurn
from bench.everyday.item import different, is_about, items
from bench.everyday.spelling import Span, folded, holds, letters, values
from text.answer import loop
from text.answer.refusal import begins_refusal

ECHO, AGAIN = 0.85, 0.9
"""Likeness from which an answer counts as a copy: ``ECHO`` of the question, ``AGAIN`` of an earlier answer."""
KOREAN, LATIN, FOREIGN = 0.5, 0.9, 0.03
"""Shares of an answer's letters: at least ``KOREAN`` in a Korean answer, at least ``LATIN`` in another one, at most
``FOREIGN`` of other scripts in both."""
SHORT, SHORT_VALUE = 20, 60
"""An answer with fewer letters may come again: ``SHORT`` where the turn asks for no value, else ``SHORT_VALUE``."""
COPIES = 3
WINDOW = 8
"""An answer leaks the prompts when it contains this many words of theirs in a row."""
_VARIABLE = re.compile(r"\$\{?\w+\}?")
_TAG = re.compile(r"</?[a-z_]+>")
_NAME = r"\w*[A-Za-z]\w*(?:[._/(][\w.()/]+|\.[a-z]+\b)|\w*_\w+"
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`]*`|https?://\S+|" + _NAME, re.DOTALL)


@dataclass(frozen=True)
class Given:
    """An answer with everything that the checks compare it with. ``listed``: the answer to the nearest earlier turn
    that asked for a list; ``typed``: everything that the user typed so far; ``before``: the earlier answers."""

    turn: EverydayTurn
    question: str
    answer: str
    language: str
    span: Span
    listed: str = ""
    typed: str = ""
    before: Sequence[str] = ()


def failed(given: Given) -> list[str]:
    """Returns the names of the checks that the answer fails; a right answer fails none."""
    if not given.answer.strip():
        return ["empty"]
    return [name for name, check in CHECKS.items() if not check(given)]


def _has(given: Given) -> bool:
    return all(any(holds(given.answer, form, given.span) for form in group) for group in given.turn.has)


def _lacks(given: Given) -> bool:
    return not any(letters(form) in letters(given.answer) for form in given.turn.lacks)


def _old(given: Given) -> bool:
    """Returns whether every sentence with an old value has a new value, too."""
    new = [form for group in given.turn.has for form in group]
    return not any(
        holds(sentence, form, given.span) and not any(holds(sentence, new_form, given.span) for new_form in new)
        for sentence in _sentences(given.answer)
        for form in given.turn.old
    )


def _items(given: Given) -> bool:
    entries = items(given.answer)
    return not given.turn.items or len(entries) == different(entries) == given.turn.items


def _item(given: Given) -> bool:
    return not given.turn.item or is_about(given.answer, items(given.listed), given.turn.item)


def _longest(given: Given) -> bool:
    return not given.turn.longest or len(given.answer.strip()) <= given.turn.longest


def _language(given: Given) -> bool:
    """Judges the language by the shares of the scripts in the answer without code, file names and addresses."""
    counts = Counter(_script(sign) for sign in _CODE.sub(" ", given.answer) if sign.isalpha())
    total = counts.total()
    if given.language == "any" or not total:
        return True
    if counts["other"] > FOREIGN * total:
        return False
    return counts["ko"] >= KOREAN * total if given.language == "ko" else counts["latin"] >= LATIN * total


def _echo(given: Given) -> bool:
    """Returns False when the answer resembles the question, or contains it and is less than twice as long."""
    question, answer = letters(given.question), letters(given.answer)
    if question in answer and len(question) >= 12 and len(answer) < 2 * len(question):
        return False
    return SequenceMatcher(None, question, answer, autojunk=False).ratio() < ECHO


def _leak(given: Given) -> bool:
    answer, typed = _spaced(given.answer), _spaced(given.typed)
    return not any(piece in answer and piece not in typed for piece in prompt_pieces())


def _repeat(given: Given) -> bool:
    """Returns False when the answer has the same sentence three times, or a loop."""
    counts = Counter(letters(sentence) for sentence in _sentences(given.answer))
    again = any(number >= COPIES and len(sentence) >= 8 for sentence, number in counts.items())
    return not again and loop.find_loop_start(given.answer.rstrip()) is None


def _again(given: Given) -> bool:
    """Returns False when the answer resembles an earlier one and has the same numbers. Short answers pass: courtesies,
    and a value that the user asks for twice."""
    answer = letters(given.answer)
    if len(answer) < (SHORT_VALUE if given.turn.has else SHORT):
        return True
    same = [letters(earlier) for earlier in given.before if values(earlier) == values(given.answer)]
    return not any(SequenceMatcher(None, answer, earlier, autojunk=False).ratio() >= AGAIN for earlier in same)


def _refusal(given: Given) -> bool:
    """Returns False when the answer refuses a turn that asks for no value."""
    return bool(given.turn.has) or not begins_refusal(given.answer)


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


WORDED = ("reply_", "wish_")
"""Beginnings of the file names of texts that code gives as answers."""


@cache
def prompt_pieces(folder: Path = Path(prompt.__file__).parent) -> frozenset[str]:
    """Returns the texts that only Gieok's prompts contain: tags, sentences of at least five words and twenty
    characters, and eight words in a row. Texts that are worded for the user are left out, because they are no leak."""
    files = (path for path in sorted(folder.glob("*/*.md")) if not path.name.startswith(WORDED))
    texts = [path.read_text("utf-8") for path in files]
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
    """Returns the folded text with one space between words and no punctuation at its ends."""
    return re.sub(r"\s+", " ", folded(text)).strip(" -.,:;!?\"'«»")


def _sentences(text: str) -> Sequence[str]:
    return [sentence for sentence in re.split(r"(?<=[.!?])\s+|\n+", text) if sentence.strip()]


def _script(sign: str) -> str:
    name = unicodedata.name(sign, "")
    return "ko" if name.startswith("HANGUL") else "latin" if name.startswith("LATIN") else "other"
