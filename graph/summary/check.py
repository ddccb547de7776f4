"""The checks that a summary must pass before it may replace its turns (design 5.3)."""

from __future__ import annotations

from errors import SummaryRejected
from graph.summary.original import Original
from retrieval.index.word import cut_text_words
from text.fact import fact

LEAST_FACTS = 0.5
"""Least weight of facts in a model's summary, as a share of what an extracted summary of the same length holds. Of
seven chunks of the sample dialogues at rate 0.3 the embedded model's own summaries hold 0.51, 0.67 and five times 0.94
or more."""
LEAST_WORDS = 0.25
"""The same share of content words, for turns without facts. A refusal or a filler text holds none or two."""


def check_size(text: str, source: Original) -> None:
    """Raises ``SummaryRejected`` for a text that must not replace its turns: an empty one, or one that is too long."""
    if not text:
        raise source.make_rejection("it is empty", "empty")
    if len(text) > source.limit:
        target, original = source.room.target, len(source.original)
        reason = f"it has {len(text)} characters, for a target of {target} and an original of {original}"
        raise source.make_rejection(reason, "too_long", length=len(text), target=target, original=original)


def find_fault(text: str, extracted: str, source: Original) -> SummaryRejected | None:
    """Returns why a model's summary must not stand for its turns: it holds too little of them; None when it may.

    ``extracted``: the summary by code, which shows how much there is room for at this length.
    """
    room, held = (_weigh_summary_facts(summary, source) for summary in (extracted, text))
    if room:
        kept, most = (_count_summary_facts(summary, source) for summary in (text, extracted))
        fault = source.make_rejection(f"it keeps {kept} of {most} facts that have room", "facts", kept=kept, most=most)
        return fault if held < LEAST_FACTS * room else None
    known, said = (len(source.content.intersection(cut_text_words(summary, "ngram"))) for summary in (extracted, text))
    return source.make_rejection("it says nothing of these turns", "words") if said < LEAST_WORDS * known else None


def _weigh_summary_facts(text: str, source: Original) -> float:
    return sum(wanted.weight for wanted in source.weighted_facts if fact.has_fact_value(text, wanted.fact))


def _count_summary_facts(text: str, source: Original) -> int:
    return sum(fact.has_fact_value(text, wanted.fact) for wanted in source.weighted_facts)
