"""Evidence: how much of what an answer needs stands in a context, without a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from text.fact import fact


@dataclass(frozen=True, slots=True)
class GoldEvidence:
    """Counts of gold turns: those looked for, those that stand in the context word for word, those with facts
    (``text.fact.fact``), and those whose facts all stand in the context. Turns without facts count only in the first
    two.
    """

    gold: int = 0
    verbatim: int = 0
    with_facts: int = 0
    facts_held: int = 0

    def __add__(self, other: GoldEvidence) -> GoldEvidence:
        return GoldEvidence(
            self.gold + other.gold,
            self.verbatim + other.verbatim,
            self.with_facts + other.with_facts,
            self.facts_held + other.facts_held,
        )


def measure_evidence(gold: Sequence[str], context: str, speakers: Sequence[str] = ()) -> GoldEvidence:
    """Returns what a context holds of the gold turns of a question.

    The names of the ``speakers``, also in short («Mel» for Melanie), are no facts here: they stand everywhere and tell
    nothing.
    """
    told = [_find_telling_facts(text, tuple(name.casefold() for name in speakers)) for text in gold]
    return GoldEvidence(
        gold=len(gold),
        verbatim=sum(is_held_verbatim(text, context) for text in gold),
        with_facts=sum(bool(facts) for facts in told),
        facts_held=sum(bool(facts) and all(fact.has_fact_value(context, item) for item in facts) for facts in told),
    )


@lru_cache(maxsize=1024)
def _find_telling_facts(text: str, speakers: tuple[str, ...]) -> tuple[fact.Fact, ...]:
    """Returns the facts of a text without the names of the speakers."""
    return tuple(
        item
        for item in fact.find_facts(text)
        if item.kind != "name" or not any(name.startswith(str(item.value)) for name in speakers)
    )


def is_held_verbatim(text: str, context: str) -> bool:
    """Returns whether all words of a text stand in a context, in order and without others between them."""
    return fold_evidence_words(text) in fold_evidence_words(context)


@lru_cache(maxsize=1024)
def fold_evidence_words(text: str) -> str:
    """Returns the words of a text in small letters with a space around each: punctuation and lines do not count."""
    found = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return f" {' '.join(found)} "
