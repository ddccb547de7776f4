"""A found turn, shortened to what the query asks for."""

from __future__ import annotations

from collections.abc import Collection

from model.call.token import estimate
from retrieval.index.word import installed, words
from store.search import head
from store.turn_index import PastTurn
from text import sentence


def excerpt_turn(turn: PastTurn, query_words: Collection[str], tokens: int) -> tuple[str, str]:
    """Returns question and answer, each with at most ``tokens`` tokens: a short one whole, of a long one the sentences
    that have most words of the query, in order.

    ``query_words``: as ``retrieval.index.word.words`` cuts them.
    """
    wanted = frozenset(query_words)
    return _shorten(turn.question, wanted, tokens), _shorten(turn.answer, wanted, tokens)


def adds_answer(turn: PastTurn, query_words: Collection[str]) -> bool:
    """Returns whether the answer of a turn may tell what a query asks for: the user asked too, or it has words of the
    query that the user's side lacks. Else it only says something to what the user told.

    ``query_words``: as in ``excerpt_turn``.
    """
    if turn.question.rstrip().endswith(("?", "？")):
        return True
    question, answer = (set(words(text, installed())) for text in (turn.question, turn.answer))
    return bool((answer - question).intersection(query_words))


def _shorten(text: str, wanted: frozenset[str], tokens: int) -> str:
    if estimate(text) <= tokens:
        return text
    parts = sentence.split(text)
    scores = [len(wanted & set(words(part, installed()))) for part in parts]
    room, chosen = tokens, list[int]()
    for at in sorted(range(len(parts)), key=lambda at: -scores[at]):
        if (size := estimate(parts[at])) <= room:
            room -= size
            chosen.append(at)
    return " … ".join(parts[at] for at in sorted(chosen)) or f"{head(text, tokens)}…"
