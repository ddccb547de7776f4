"""Macros in the texts of cards and lorebooks, expanded for a prompt only; the texts stay as they were written.

Sources: «Curly Braced Syntaxes» in the specification of character cards v3, SillyTavern's macros. Any case. A macro
that is not known stays as it is, and is named when the file is read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from text.language import Language

_INNERMOST = re.compile(r"\{\{([^{}]*)\}\}")
_NAME = re.compile(r"\s*(//|[#/:]?[^\W\d]\w*|\?)\s*(?:::?|\s|$)?(.*)", re.DOTALL)
_TAG = re.compile(r"<(user|bot|char|start)>", re.IGNORECASE)
_DICE = re.compile(r"\s*(\d{0,3})\s*d?\s*(\d{1,6})\s*([+-]\s*\d{1,6})?\s*", re.IGNORECASE)
NAME_CHARS = 20
_DEPTH = 5
"""How deep macros may stand in each other."""
_DAYS = {
    "ko": ("월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
CHANGING = frozenset({"random", "roll", "time", "date", "weekday", "isotime", "isodate"})
"""Macros whose text may be another one in the next turn."""
_SIGNS = {"user": "\uf8f0", "char": "\uf8f1"}
"""What stands for a name while the macros around it are expanded."""
SILENT = frozenset({"//", "original", "comment", "hidden_key", "noop", "trim", "outlet"})
"""Macros that leave nothing in a prompt."""
STAND_IN: dict[Language, str] = {"en": "the character", "ko": "그 인물"}
"""What stands for ``{{char}}`` in a world without a character of its own."""
KNOWN = frozenset({"user", "char", "bot", "pick", "newline", "reverse"}) | CHANGING | SILENT


@dataclass(frozen=True, slots=True)
class Moment:
    """When a text is expanded. ``seed``: what chances are drawn from, the same for the same turn and answer."""

    seed: str
    now: datetime
    language: Language


@dataclass(frozen=True, slots=True)
class Names:
    """The names that stand for ``{{user}}`` and ``{{char}}``; an empty one leaves its macro as it is. ``stand_in``: for
    ``{{char}}`` in texts for a prompt, where there is no name."""

    user: str = ""
    character: str = ""
    stand_in: str = ""

    def fill(self, text: str) -> str:
        """Returns the text with the names, and without the mark between examples of speech."""
        if "{{" in text:
            text = _INNERMOST.sub(lambda match: self._of(match[1].strip().lower()) or match[0], text)
        if "<" not in text:
            return text
        return _TAG.sub(self._tag, text)

    def _tag(self, match: re.Match[str]) -> str:
        return "" if match[1].lower() == "start" else self._of(match[1].lower()) or match[0]

    def _of(self, macro: str) -> str:
        return {"user": self.user, "char": self.character, "bot": self.character}.get(macro, "")


NOBODY = Names()


def expand_macros(text: str, names: Names, place: str, moment: Moment | None = None) -> str:
    """Returns the text with its macros expanded. ``place``: what ``{{pick}}`` is drawn from, such as the entry's id.
    ``moment``: None leaves the macros of ``CHANGING`` as they are."""
    if "{{" in text:
        for _ in range(_DEPTH):
            before, text = text, _INNERMOST.sub(_Expansion(place, moment), text)
            if text == before:
                break
    for name, sign in _SIGNS.items():
        text = text.replace(sign, f"{{{{{name}}}}}")
    names = Names(names.user, names.character or names.stand_in)
    return names.fill(text)  # last, so that a macro in a name stays text


def has_changing(text: str) -> bool:
    """Returns whether the text has a macro of ``CHANGING``."""
    return any(name in CHANGING for name in read_macros(text))


def read_macros(text: str) -> list[str]:
    """Returns the names of the macros in a text, in small letters, each once; of what has no name its beginning."""
    found: dict[str, None] = {}
    for _ in range(_DEPTH if "{{" in text else 0):
        for one in _INNERMOST.findall(text):
            match = _NAME.fullmatch(one)
            found |= {match[1].lower() if match else one.strip()[:NAME_CHARS]: None}
        text = _INNERMOST.sub("", text)
    return [name for name in found if name]


class _Expansion:
    """Expands one macro after the other; every one of a text draws for itself."""

    def __init__(self, place: str, moment: Moment | None) -> None:
        self._place, self._moment, self._number = place, moment, 0

    def __call__(self, match: re.Match[str]) -> str:
        read = _NAME.fullmatch(match[1])
        name = read[1].lower() if read else ""
        self._number += 1
        if read is None or name not in KNOWN or (name in CHANGING and self._moment is None):
            return match[0]
        if name in _SIGNS:
            return _SIGNS[name]
        if name in SILENT:
            return ""
        if name in _MAKERS:
            return _MAKERS[name](self, read[2])
        return match[0]

    def pick(self, given: str) -> str:
        return self._choose(given, self._place)

    def random(self, given: str) -> str:
        assert self._moment is not None
        return self._choose(given, f"{self._moment.seed}|{self._place}")

    def roll(self, given: str) -> str:
        """``6``, ``d6``, ``2d6+1``."""
        assert self._moment is not None
        dice = _DICE.fullmatch(given)
        if dice is None or not int(dice[2]):
            return ""
        count = int(dice[1]) if dice[1] and "d" in given.lower() else 1
        sides = int(dice[2]) if "d" in given.lower() else int(dice[1] + dice[2])
        seed = f"{self._moment.seed}|{self._place}|{self._number}"
        rolled = sum(_draw_number(f"{seed}|{one}", sides) + 1 for one in range(count))
        return str(rolled + int(dice[3].replace(" ", "")) if dice[3] else rolled)

    def when(self, form: str) -> str:
        assert self._moment is not None
        now, language = self._moment.now, self._moment.language
        day = _DAYS[language][now.weekday()]
        forms = {
            "time": f"{now:%H:%M}",
            "isotime": f"{now:%H:%M}",
            "isodate": f"{now:%Y-%m-%d}",
            "weekday": day,
            "date": f"{now.year}년 {now.month}월 {now.day}일"
            if language == "ko"
            else f"{now:%B} {now.day}, {now.year}",
        }
        return forms[form]

    def _choose(self, given: str, seed: str) -> str:
        given = given.removeprefix(":")
        some = given.split("::") if "::" in given else re.split(r"(?<!\\),", given)
        options = [one.replace("\\,", ",").strip() for one in some]
        return options[_draw_number(f"{seed}|{self._number}|{given}", len(options))] if any(options) else ""


def _draw_number(seed: str, below: int) -> int:
    digest = hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % below


_MAKERS: dict[str, Callable[[_Expansion, str], str]] = {
    "pick": _Expansion.pick,
    "random": _Expansion.random,
    "roll": _Expansion.roll,
    "newline": lambda _, given: "\n",
    "reverse": lambda _, given: given[::-1],
    **{name: (lambda one, _, name=name: one.when(name)) for name in ("time", "date", "weekday", "isotime", "isodate")},  # type: ignore[misc]
}
