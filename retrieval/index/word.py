"""Words of a text for lexical search: English stems, Korean morphemes by Kiwi where it is installed, else letter pairs.

Kiwi takes 12 s to load and 500 MB, so it is an extra (``pip install kiwipiepy``). Letter pairs need nothing:
without their endings «문서를» and «문서에서는» are both «문서», «색인을» and «재색인» share «색인».
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from text.fold import EDITION, fold_text

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
_KOREAN_STOP = frozenset(
    re.findall(
        r"\w+",
        """
        어떻게 어떤 무엇 무슨 왜 언제 어디 누가 그 이 저 것 수 꼭 좀 더 때 등 및 또는 그리고
        하지만 있나요 하나요 인가요 있는 있습니다 합니다 하는 않은 않는 대해 대한 위해 위한 경우 같은
        모든 다른 때문에 뭐 뭔가요 무엇인가요 알려줘
        """,
    )
)
_KOREAN_ENDING = re.compile(
    "(?<=.)(?:"
    + "|".join(
        sorted(
            re.findall(
                r"\w+",
                """
                은 는 이 가 을 를 의 에 로 와 과 도 만 요 에서 에게 에는 에서는 에도 에서의 으로 으로는
                이나 까지 부터 처럼 보다 이란 란 들 들은 들이 들을 인가 인가요 이에요 예요 입니다 입니까
                이다 나요 하나요 한가요 되나요 있나요 까요 할까요 될까요 습니다 합니다 됩니다 있습니다 니다
                해야 하는 하고 해서 하면 하지 하기 하려면 하도록 했 했나요 한다 하다 되는 되고 되면 된 한
                할 해 하여 어요 아요 해요 줘 주세요 는지 은지 지 고 면 서 려면 려고 도록 는데 은데 인데
                지만 어떻게 다
                """,
            ),
            key=len,
            reverse=True,
        )
    )
    + ")$"
)
_ENDINGS = ("ing", "edly", "ed", "ies", "es", "s", "ly")
_KEPT = ("N", "V", "MA", "XR", "SL", "SN", "SH")
_KIWI_WORD = re.compile(r"[가-힣]")
_INNER_LINK = re.compile(r"\[[^\[\]\n]*\]\(#[^()\s]*\)")
"""Matches a link to another place in the same document."""


def find_installed_cut() -> Cut:
    """How Korean words are cut on this machine."""
    return "kiwi" if importlib.util.find_spec("kiwipiepy") else "ngram"


@cache
def build_cut_edition(cut: Cut) -> str:
    """A name of the rules that cut words: what other rules cut does not go together with it."""
    rules = Path(__file__).read_bytes() + EDITION.encode() + (version("kiwipiepy").encode() if cut == "kiwi" else b"")
    return f"{cut}-{crc32(rules):08x}"


def cut_text_words(text: str, cut: Cut) -> list[str]:
    """The words of a text, with repetitions, in no order that matters."""
    text = fold_text(text)
    found = _WORD.findall(text)
    plain = [_stem_word(word) for word in found if not _KIWI_WORD.match(word) and word not in _STOP]
    if cut == "kiwi" and _KIWI_WORD.search(text):
        return plain + _cut_morphemes(text)
    korean = (word for word in found if _KIWI_WORD.match(word) and word not in _KOREAN_STOP)
    return plain + [pair for word in korean for pair in _cut_letter_pairs(word)]


def cut_passage_words(text: str, cut: Cut) -> list[str]:
    """The words of a passage, without those of links to other places in its document: a table of contents has the words
    of every heading, so it would lead for each question, and answers none."""
    return cut_text_words(_INNER_LINK.sub(" ", text), cut)


@lru_cache(maxsize=65536)
def _cut_letter_pairs(word: str) -> tuple[str, ...]:
    """Neighbouring letters of the word without its particle or ending."""
    stem = _KOREAN_ENDING.sub("", word)
    return tuple(stem[at : at + 2] for at in range(len(stem) - 1)) or (stem,)


@lru_cache(maxsize=65536)
def _stem_word(word: str) -> str:
    """The word without a common ending: enough for «summaries», «summary», «summarise»."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


@cache
def _load_kiwi() -> Any:
    from kiwipiepy import Kiwi

    return Kiwi()


def _cut_morphemes(text: str) -> list[str]:
    return [
        token.form
        for token in _load_kiwi().tokenize(text)
        if token.tag.startswith(_KEPT) and _KIWI_WORD.match(token.form)
    ]
