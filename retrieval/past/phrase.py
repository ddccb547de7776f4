"""The words of a message as numbers, for the model that tells whether it asks for something of the past: «which …»,
«did I …», «… 뭐였지». A vector of the meaning alone knows the topic of a message better than its form."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from retrieval.past.feature import Values

SIZE = 2048
"""Places of the phrases, by a hash: about 40 of each message's are taken."""
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[\w']+")
_PIECE = re.compile(r"[\w']+|\?")
_NOT_KOREAN = re.compile(r"[^가-힣 ]")
LONGEST = 400
"""Characters of a message that are read, half of them from its end: its form shows there."""


def hash_phrases(text: str) -> Values:
    """Returns the phrases of a message as ``SIZE`` numbers, of about length 1."""
    found, values = {*_find_phrases(_read_both_ends(text.lower()))}, np.zeros(SIZE, np.float32)
    for phrase in found:
        code = zlib.crc32(phrase.encode("utf-8", "replace"))
        values[code % SIZE] += 1 if code >> 31 else -1
    return values / np.float32(np.sqrt(len(found) + 1))


def _read_both_ends(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} {text[-LONGEST // 2 :]}"


def _find_phrases(text: str) -> Iterator[str]:
    """Yields words, pairs of words, two and three Korean syllables in a row (their endings tell a question), the first
    words and the last letters. Numbers count as one another."""
    text = _DIGIT.sub("0", f" {text} ")
    words = _WORD.findall(text)
    yield from (f"word {piece}" for piece in _PIECE.findall(text))
    yield from (f"pair {first} {second}" for first, second in pairwise(words))
    korean = _NOT_KOREAN.sub("", text)
    yield from (f"syllables {korean[at : at + size]}" for size in (2, 3) for at in range(len(korean) - size + 1))
    yield f"begins {' '.join(words[:2])}"
    yield f"begins {' '.join(words[:1])}"
    yield f"ends {text.strip()[-2:]}"
