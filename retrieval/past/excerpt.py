"""A found turn, shortened to what the query asks for."""

from __future__ import annotations

from collections.abc import Collection

from model.call.token import estimate_tokens
from retrieval.index.word import cut_text_words, find_installed_cut
from store.search.text_search import cut_head
from store.search.turn_index import PastTurn
from text import sentence


def excerpt_turn(turn: PastTurn, query_words: Collection[str], tokens: int) -> tuple[str, str]:
    """Returns question and answer, each with at most ``tokens`` tokens: a short one whole, of a long one the sentences
    that have most words of the query, in order.

    ``query_words``: as ``retrieval.index.word.cut_text_words`` cuts them.
    """
    wanted = frozenset(query_words)
    return _shorten_turn_text(turn.question, wanted, tokens), _shorten_turn_text(turn.answer, wanted, tokens)


def adds_answer(turn: PastTurn, query_words: Collection[str]) -> bool:
    """Returns whether the answer of a turn may tell what a query asks for: the user asked too, or it has words of the
    query that the user's side lacks. Else it only says something to what the user told.

    ``query_words``: as in ``excerpt_turn``.
    """
    if sentence.ends_in_question_mark(turn.question):
        return True
    question, answer = (set(cut_text_words(text, find_installed_cut())) for text in (turn.question, turn.answer))
    return bool((answer - question).intersection(query_words))


def _shorten_turn_text(text: str, wanted: frozenset[str], tokens: int) -> str:
    if estimate_tokens(text) <= tokens:
        return text
    parts = sentence.split_sentences(text)
    scores = [len(wanted & set(cut_text_words(part, find_installed_cut()))) for part in parts]
    room, chosen = tokens, list[int]()
    for at in sorted(range(len(parts)), key=lambda at: -scores[at]):
        if (size := estimate_tokens(parts[at])) <= room:
            room -= size
            chosen.append(at)
    return " … ".join(parts[at] for at in sorted(chosen)) or f"{cut_head(text, tokens)}…"
