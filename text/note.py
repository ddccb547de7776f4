"""Notes: the pieces that a summary is packed from, written by a model or taken from the original."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from text import fact, sentence

MODEL, SOURCE = 0, 1
"""Where a note is from: written by the model, or a sentence of the original."""

_CLAUSE = re.compile(r"(?<=[,;])\s+|(?<=[가-힣]고|하며|이며|으며|으니|니까|지만|는데|인데|면서)\s+|(?<!\s)\s++[—–]\s+")
_JOINT = re.compile(r"^(?:and|or|but|so|then|which|그리고|또|또는|그래서|그런데|그럼|다만|그중)[\s,]+", re.IGNORECASE)
_CUTS = ((r"(?<=[.!?。…])(?=\s)", 0.5), (r"(?=[,;]\s)", 0.5), (r"(?=\s)", 0.0))
_POLITE = re.compile(
    r"(?:말씀해|알려|물어봐|기다려|확인해|적어|제공해)\s?(?:주세요|주시|드릴|드리|두)|도와\s?드|준비되어 있|궁금한"
    r"|알겠(?:습니다|어요)|기억(?:해 ?두|하)겠|그(?:렇|러시)군요|생각해 볼게요|도움이 [될되]|축하|감사합니다|천만에"
    r"|좋은 (?:생각|선택|계획)"
    r"|\b(?:let me know|feel free|happy to help|anything else|i can help|(?:do|would) you (?:want|like)|got it"
    r"|noted|i['’]ll remember|i see|understood|sounds (?:good|great)|you['’]re welcome|good (?:choice|idea)"
    r"|thank(?:s| you))\b",
    re.IGNORECASE,
)
_LOOP = 3
_END = re.compile(r"[.!?。？！…]$")


@dataclass(frozen=True, slots=True)
class Note:
    """A piece of a summary: its text, where it belongs in the original (characters), who wrote it, whose words it is.

    ``speaker``: '' for a report in the third person.
    """

    text: str
    position: int
    origin: int = MODEL
    speaker: str = ""


def polite(text: str) -> bool:
    """Whether a sentence is only an assistant's politeness, which tells nothing."""
    return _POLITE.search(text) is not None and not fact.facts(text)


def clauses(text: str) -> list[str]:
    """The sentences of a text, and of each long one its clauses too, as candidates for notes."""
    found: list[str] = []
    for piece in sentence.split(text):
        found.append(piece)
        if len(piece) > 40:
            found += [part.strip(" ,;") for part in _CLAUSE.split(piece) if 12 <= len(part.strip(" ,;")) < len(piece)]
    return list(dict.fromkeys(found))


def tidy(text: str) -> str:
    """A clause that can stand alone: without what tied it to the one before; an English one begins with a capital."""
    bare = _JOINT.sub("", text)
    return re.sub(r"^[a-z]+(?=[\s,])", lambda word: word.group().capitalize(), bare)


def shorten(text: str, most: int, *, word: bool = True) -> str:
    """The text cut back to the end of a sentence or clause within ``most`` characters, with ``word`` else of a word.

    '' when there is no such end.
    """
    if len(text) <= most:
        return text
    head = text[: most + 1]
    for mark, least in _CUTS if word else _CUTS[:-1]:
        ends = [match.start() for match in re.finditer(mark, head)]
        if ends and ends[-1] >= max(1, most * least):
            return head[: ends[-1]].rstrip(" ,;")
    return ""


def unprefixed(texts: Sequence[str]) -> list[str]:
    """The texts, where three or more begin with the same four words or more without what they repeat of the first.

    A small model that is caught in a loop puts the same subject before every note, where it is wrong.
    """
    starts = Counter(start for text in texts for start in _starts(text))
    common = max((start for start, times in starts.items() if times >= _LOOP), key=len, default="")
    first = next((text for text in texts if common and text.startswith(common)), "")
    return [text.removeprefix(common) if text != first else text for text in texts]


def _starts(text: str) -> list[str]:
    """The beginnings of a text of four words and more."""
    return [text[: gap.end()] for gap in re.finditer(r"\s", text)][3:]


def place(text: str, sentences: Sequence[Note]) -> Note | None:
    """The sentence of the original that a text shares the most letter pairs with."""
    pairs = _pairs(text)
    return max(sentences, key=lambda each: len(pairs & _pairs(each.text)), default=None)


def join(notes: Iterable[Note]) -> str:
    """Notes as running text: each ends in a full stop, and a change of speaker is marked."""
    pieces, speaker = [], ""
    for note in notes:
        label = f"{note.speaker}: " if note.speaker and note.speaker != speaker else ""
        pieces.append(label + (note.text if _END.search(note.text) else f"{note.text}."))
        speaker = note.speaker
    return " ".join(pieces)


def alike(one: str, other: str) -> bool:
    """Whether the shorter of two texts is mostly in the other."""
    short, long = sorted((one, other), key=len)
    return shared(short, long) > 0.75


def shared(text: str, other: str) -> float:
    """The share of a text's letter pairs that another has too; 1 for a text without any."""
    pairs = _pairs(text)
    return len(pairs & _pairs(other)) / len(pairs) if pairs else 1.0


@lru_cache(maxsize=8192)
def _pairs(text: str) -> frozenset[str]:
    letters = re.sub(r"\W+", "", text.casefold())
    return frozenset(letters[at : at + 2] for at in range(len(letters) - 1))
