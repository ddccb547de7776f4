"""How much of what a question needs stands in a text, without a model: its gold turns, and the words of its answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from bench.public.dataset.dataset import DatasetQuestion
from bench.public.evidence import is_held_verbatim
from retrieval.index.word import cut_text_words

_NUMBER_COMMA = re.compile(r"(?<=\d),(?=\d{3})")
_HANGUL = re.compile(r"[가-힣]+")
_PARTICLE = 2
"""The most syllables at the end of a Korean word that may be a particle or an ending."""


def count_held(question: DatasetQuestion, text: str) -> int:
    """Returns how many of the gold turns stand in the text word for word."""
    return sum(is_held_verbatim(gold, text) for gold in question.gold)


def share_words(answers: Iterable[str], text: str) -> float | None:
    """Returns the share of an answer's words that stand in the text, of the answer with the most; None where no answer
    has a word.

    English words are compared by their stems. A Korean word also stands there when it does without its last syllables,
    which may be a particle: «수요일에» where «수요일은» stands.
    """
    stems, joined = _stem_answer_words(text), _join_korean(text)
    shares = [
        (sum(stem in stems for stem in wanted) + sum(_has_word_stem(word, joined) for word in korean))
        / (len(wanted) + len(korean))
        for answer in answers
        for wanted, korean in [(_stem_answer_words(answer), _korean_words(answer))]
        if wanted or korean
    ]
    return max(shares, default=None)


def is_right(question: DatasetQuestion, text: str) -> bool:
    """Returns whether a found turn is a gold turn or says a whole answer."""
    return count_held(question, text) > 0 or share_words(question.answers, text) == 1.0


def has_several_places(question: DatasetQuestion) -> bool:
    """Returns whether the answer needs more than one turn."""
    return len(question.gold) > 1


@lru_cache(maxsize=4096)
def _stem_answer_words(text: str) -> frozenset[str]:
    return frozenset(cut_text_words(_HANGUL.sub(" ", _NUMBER_COMMA.sub("", text)), "ngram"))


@lru_cache(maxsize=4096)
def _join_korean(text: str) -> str:
    return " ".join(_HANGUL.findall(text))


def _korean_words(answer: str) -> Sequence[str]:
    """Returns the Korean words of an answer; those of one syllable only where there are no others."""
    every = list(dict.fromkeys(_HANGUL.findall(answer)))
    return [word for word in every if len(word) > 1] or every


def _has_word_stem(word: str, text: str) -> bool:
    return any(word[:end] in text for end in range(len(word), max(len(word) - _PARTICLE, min(2, len(word))) - 1, -1))
