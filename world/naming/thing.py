"""Which thing of the story a name means: one and several are written otherwise."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from text.hangul import is_particles
from world.naming.spelling import find_spelling, words_of

_PLURAL = re.compile(r"(?<![su])(?<!i)s$")


def find_thing_name(name: str, known: Collection[str]) -> str:
    """Returns the known thing that a name means but for its spelling and its number, «gold coins» for «gold coin»,
    «화살들» for «화살»; the name itself where none is."""
    found = find_spelling(name, known)
    if found in known:
        return found
    wanted = _reduce_number(name)
    return next((one for one in known if _reduce_number(one) == wanted), found)


def is_thing_named(name: str, text: str) -> bool:
    """Returns whether a text says the whole name of a thing, with particles or in the plural: «검을», no «점검»."""
    form = rf"(?<!\w){re.escape(name)}(?:e?s)?([가-힣]*)(?!\w)"
    return any(is_particles(match[1].removeprefix("들")) for match in re.finditer(form, text, re.IGNORECASE))


@lru_cache(maxsize=16384)
def _reduce_number(name: str) -> tuple[str, ...]:
    """Returns the words of a name in a form that one and several have in common: «knife» and «knives»."""
    return tuple(map(_cut_plural, words_of(name)))


def _cut_plural(word: str) -> str:
    if not word.isascii():
        return word[:-1] if word.endswith("들") and len(word) > 2 else word
    stem = word if len(word) < 3 else _PLURAL.sub("", word).removesuffix("e")
    return re.sub(r"v$", "f", re.sub(r"i$", "y", stem))


__all__ = ["find_thing_name", "is_thing_named"]
