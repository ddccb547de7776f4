"""The answer that code quotes from what the user said before, for a small model: exact, and there at once (decision 7).

Asked «what is my sister called?» a model of 1.5 billion parameters denies that it was told, or invents a name, with the
sentence in its prompt. The search in past turns finds that sentence, so code says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graph.choice.router import load_router
from graph.context.past import FoundPast, PastEntry
from graph.tool.reach import RecalledTurns
from memory.line import letters_of
from prompt import render_prompt
from text import sentence
from text.language import Language

MOST, SHARE = 3, 0.1
"""The most turns that are quoted, and the least score of each as a share of the best one's: of 80 questions of the
development set (``bench.past_question``) one quotation holds the answer to 51, two to 60, three to 71 (2.5 on
average), four to 77."""


def quote_past(found: FoundPast | None, facts: Sequence[str], language: Language, cites: bool) -> RecalledTurns | None:
    """Returns the answer that quotes what was found for a question; None where the user told nothing of it. ``facts``:
    the lines of the user's profile that fit the question; one that a quoted turn says comes no second time.
    ``cites``: each turn has its mark («[T1]»), which opens it."""
    quotes = choose_quotes(found.entries) if found is not None else []
    said = letters_of(" ".join(quote.question for quote in quotes))
    lines = [
        render_prompt("reply_said_line", language, text=fact, mark="") for fact in facts if letters_of(fact) not in said
    ]
    lines += _render_quotes(quotes, language, cites)
    if not lines:
        return None
    text = render_prompt("reply_said", language, lines="\n\n".join(lines))
    return RecalledTurns(text, items=tuple(quote.item for quote in quotes))


def choose_quotes(entries: Sequence[PastEntry]) -> list[PastEntry]:
    """Returns the turns to quote, in the order of time, each with the sentences in which the user tells something.
    ``entries``: by rank; the first says how well the others fit, also where the user only asks in it."""
    best = list[PastEntry]()
    for entry in entries:
        if len(best) == MOST:
            break
        if entry.score < SHARE * entries[0].score:
            continue  # by rank a later one may have a higher score
        told = " ".join(each for each in sentence.split_sentences(entry.question) if not sentence.is_question(each))
        if told and load_router().route(entry.question).label != "recall":  # a question without a question mark
            best.append(replace(entry, question=told))
    return sorted(best, key=lambda entry: (entry.at, entry.key.number))


def _render_quotes(quotes: Sequence[PastEntry], language: Language, cites: bool) -> list[str]:
    lines = list[str]()
    for number, quote in enumerate(quotes, 1):
        mark = f" [T{number}]" if cites else ""
        if quote.here:
            lines.append(render_prompt("reply_said_line", language, text=quote.question, mark=mark))
        else:
            name = "reply_said_line_elsewhere"
            lines.append(render_prompt(name, language, text=quote.question, day=quote.day, mark=mark))
    return lines
