"""The row of a turn in ``store.search.turn_index``: a vector, and its words with the number of times that each side
says them.

A row has no text. What else a search wants to know of a turn is computed when the row is made: the moment of the turn
stands before the words, and words that no text has stand for a number somewhere in it and for a refused question.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.embedding import Embedder
from retrieval.index.segment import hash_term
from retrieval.index.word import build_cut_edition, cut_text_words, find_installed_cut
from store.search.turn_index import PastTurn
from text.answer.refusal import is_refused_question

EMBEDDED_CHARS = 600
"""Characters of a question and of an answer that become a vector, because the model reads 512 tokens, about a second
of processor time."""
SEARCHED_CHARS = 20_000
"""Characters of a question and of an answer whose words are searched."""
VALUE = np.dtype("<f2")
NUMBER = hash_term("\0number")
"""Stands in a row whose text has digits; no text has this word."""
REFUSED = hash_term("\0refused")
"""Stands in a row of a turn that says nothing (``text.answer.refusal.is_refused_question``)."""
_FORMAT = 3
_MOMENT = np.dtype("<f8")
_WORD = np.dtype([("term", "<u8"), ("question", "<u2"), ("answer", "<u2")])
_DIGIT = re.compile(r"\d")
Terms = NDArray[np.uint64]
Counts = NDArray[np.float32]


class RowWords(NamedTuple):
    """The words of one turn: ``terms`` in rising order, and how often the question and the answer say each; ``at``:
    when the turn was (Unix seconds); ``is_refused``: it is a question that the model refused."""

    at: float
    has_number: bool
    is_refused: bool
    terms: Terms
    question: Counts
    answer: Counts


def build_rules_name(embedder: Embedder) -> str:
    """Returns the name of the rules that make a row: of the embedding model, and of how words are cut and kept."""
    return f"{embedder.name} {build_cut_edition(find_installed_cut())} {_FORMAT}"


def pack_turn(turn: PastTurn, embedder: Embedder | None = None) -> tuple[bytes, bytes]:
    """Returns the vector and the words of a turn, as its row holds them; without an embedder an empty vector, in
    milliseconds. Raises ``EmbeddingFailed``."""
    question = Counter(map(hash_term, cut_text_words(turn.question[:SEARCHED_CHARS], find_installed_cut())))
    answer = Counter(map(hash_term, cut_text_words(turn.answer[:SEARCHED_CHARS], find_installed_cut())))
    most = np.iinfo(np.uint16).max
    table = [(word, min(question[word], most), min(answer[word], most)) for word in question.keys() | answer.keys()]
    if _DIGIT.search(turn.question) or _DIGIT.search(turn.answer):
        table.append((NUMBER, 0, 0))
    if is_refused_question(turn.question, turn.answer):
        table.append((REFUSED, 0, 0))
    packed = np.array([turn.at], _MOMENT).tobytes() + np.sort(np.array(table, _WORD), order="term").tobytes()
    if embedder is None:
        return b"", packed
    vector = embedder.passages([f"{turn.question[:EMBEDDED_CHARS]}\n{turn.answer[:EMBEDDED_CHARS]}"])[0]
    return vector.astype(VALUE).tobytes(), packed


def unpack_words(packed: bytes) -> RowWords:
    """Returns the words that ``pack_turn`` made."""
    at = float(np.frombuffer(packed, _MOMENT, 1)[0])
    table = np.frombuffer(packed, _WORD, offset=_MOMENT.itemsize)
    is_number, is_refused = table["term"] == NUMBER, table["term"] == REFUSED
    table = table[~is_number & ~is_refused]
    return RowWords(
        at,
        bool(is_number.any()),
        bool(is_refused.any()),
        np.ascontiguousarray(table["term"]),
        table["question"].astype(np.float32),
        table["answer"].astype(np.float32),
    )
