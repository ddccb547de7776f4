"""Answers in which a model only refuses: «I'm sorry, but I can't assist with that.»

In a later prompt such an answer tells nothing. A question that got no other answer tells nothing either, but it has all
the words of the same question asked again, and drives out of a search what says the answer.
"""

from __future__ import annotations

import re

from text import sentence
from text.fact import fact

_OPENING = re.compile(
    r"[\s*_#>]*(?:죄송합니다[,.]?\s*(?:하지만|저는)|죄송하지만|As an AI\b|I apologi[sz]e,? but"
    r"|(?:I['’]m|I am)? ?sorry,? (?:but|I)\b"
    r"|(?:Sorry, )?I (?:can['’]t|cannot|am unable to|['’]m unable to) (?:assist|help|answer|provide)\b)",
    re.IGNORECASE,
)
_LONGEST = 300
"""Characters of an answer that does nothing but refuse; a longer one goes on to say something."""


def begins_refusal(answer: str) -> bool:
    """Returns whether an answer begins as refusals do."""
    return _OPENING.match(answer) is not None


def is_refusal(answer: str, question: str) -> bool:
    """Returns whether an answer only refuses: it begins so, is short, and has no fact that the question lacks."""
    return (
        begins_refusal(answer)
        and len(answer) <= _LONGEST
        and all(fact.has_fact_value(question, known) for known in fact.find_facts(answer))
    )


def is_refused_question(question: str, answer: str) -> bool:
    """Returns whether a turn says nothing: the user only asked, and the answer only refuses."""
    asks = all(sentence.ends_in_question_mark(part) for part in sentence.split_sentences(question))
    return asks and is_refusal(answer, question)
