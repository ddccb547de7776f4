"""Words of a text for lexical search: English stems, Korean morphemes by Kiwi where it is installed, else letter pairs.

Kiwi takes 12 s to load and 500 MB, so it is an extra (``pip install kiwipiepy``). Letter pairs need nothing:
«문서를» and «문서가» share «문서».
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache, lru_cache
from typing import Any, Literal

Cut = Literal["kiwi", "ngram"]

_WORD = re.compile(r"[a-z0-9]+|[가-힣]+|[^\W\d_a-z]+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        """
    a an and are as at be but by can could did do does for from had has have how i if in into is it its me my no not of
    on or our shall should so such that the their them then there these they this to was we were what when where which
    who whom whose why will with would you your
    """,
    )
)
_ENDINGS = ("ing", "edly", "ed", "ies", "es", "s", "ly")
_KEPT = ("N", "V", "MA", "XR", "SL", "SN", "SH")
_KIWI_WORD = re.compile(r"[가-힣]")


def installed() -> Cut:
    """How Korean words are cut on this machine."""
    return "kiwi" if importlib.util.find_spec("kiwipiepy") else "ngram"


def words(text: str, cut: Cut) -> list[str]:
    """The words of a text, with repetitions, in no order that matters."""
    found = _WORD.findall(text.lower())
    plain = [_stem(word) for word in found if not _KIWI_WORD.match(word) and word not in _STOP]
    if cut == "kiwi" and _KIWI_WORD.search(text):
        return plain + _morphemes(text)
    return plain + [pair for word in found if _KIWI_WORD.match(word) for pair in _pairs(word)]


def _pairs(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)] or [word]


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    """The word without a common ending: enough for «summaries», «summary», «summarise»."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


@cache
def _kiwi() -> Any:
    from kiwipiepy import Kiwi

    return Kiwi()


def _morphemes(text: str) -> list[str]:
    return [
        token.form for token in _kiwi().tokenize(text) if token.tag.startswith(_KEPT) and _KIWI_WORD.match(token.form)
    ]
