"""Token F1 of an answer, as LoCoMo's own evaluation computes it (``task_eval/evaluation.py``), without its stemming.

That evaluation stems words by Porter's rules; here words are compared as they stand, so that figures come out a little
lower than published ones.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from bench.public.dataset.dataset import DatasetQuestion

REFUSALS = ("no information available", "not mentioned")
"""What LoCoMo's evaluation takes for the statement that the conversation does not tell."""

_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def split_answer_words(text: str) -> list[str]:
    """Returns the words of an answer in small letters, without punctuation and articles (SQuAD)."""
    return _ARTICLES.sub(" ", text.casefold().translate(_PUNCTUATION)).split()


def token_f1(answer: str, wanted: str) -> float:
    """Returns the harmonic mean of precision and recall over words, 0 to 1."""
    given, right = split_answer_words(answer), split_answer_words(wanted)
    common = sum((Counter(given) & Counter(right)).values())
    return 2 * common / (len(given) + len(right)) if common else 0.0


def parts_f1(answer: str, wanted: str) -> float:
    """Returns the mean over the parts of the wanted answer, between commas, of the best part of the given one."""
    given = [part.strip() for part in answer.split(",")]
    best = [max(token_f1(part, other) for part in given) for other in wanted.split(",")]
    return sum(best) / len(best)


def score_answer(question: DatasetQuestion, answer: str) -> float | None:
    """Returns the F1 of an answer to a question, 0 to 1: with the best of several accepted answers. An adversarial
    question scores 1 when the answer says that the conversation does not tell, else 0. None: there is no gold answer.
    """
    if question.scoring == "refusal":
        return float(any(phrase in answer.lower() for phrase in REFUSALS))
    compare = parts_f1 if question.scoring == "parts" else token_f1
    return best_of([compare(answer, wanted) for wanted in question.answers])


def best_of(scores: Sequence[float]) -> float | None:
    """Returns the highest score; None for none."""
    return max(scores, default=None)
