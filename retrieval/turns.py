"""Search in past turns: by meaning (vectors) and by words (BM25), both read from the rows of ``store.turn_index``.

Both scores are scaled to 0…1 among the turns that are searched, and added. A turn also gets a share of the scores of
its two neighbours: who answers a question often does not repeat its words, and a subject stays for some turns. On two
conversations of LoCoMo with about 200 turns each this finds more of what is asked for than either search alone, than
reciprocal rank fusion, and than the fusion for documents (``retrieval.answer.fuse``), whose passages are longer
(docs/decision/0041).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from model.embedding import Embedder
from retrieval.index.lexical import K1, B
from retrieval.index.segment import term
from retrieval.index.word import edition, installed, words
from store.turn_index import IndexedTurn, PastTurn, TurnKey

NEIGHBOUR = 0.3
"""The share of a neighbour's score that a turn gets."""
EMBEDDED_CHARS = 600
"""Characters of a question and of an answer that become a vector, because the model reads 512 tokens, about a second
of processor time."""
SEARCHED_CHARS = 20_000
"""Characters of a question and of an answer whose words are searched."""
_VALUE = np.dtype("<f2")
_WORD = np.dtype([("term", "<u8"), ("count", "<u2")])
Scores = NDArray[np.float64]


def rules(embedder: Embedder) -> str:
    """Returns the name of the rules that make a row: of the embedding model, and of how words are cut."""
    return f"{embedder.name} {edition(installed())}"


def packed(embedder: Embedder, turn: PastTurn) -> tuple[bytes, bytes]:
    """Returns the vector and the words of a turn, as its row holds them. Raises ``EmbeddingFailed``."""
    vector = embedder.passages([f"{turn.question[:EMBEDDED_CHARS]}\n{turn.answer[:EMBEDDED_CHARS]}"])[0]
    searched = f"{turn.question[:SEARCHED_CHARS]}\n{turn.answer[:SEARCHED_CHARS]}"
    counts = Counter(map(term, words(searched, installed())))
    most = np.iinfo(np.uint16).max
    table = np.array([(word, min(count, most)) for word, count in counts.items()], _WORD)
    return vector.astype(_VALUE).tobytes(), table.tobytes()


def ranked(rows: Sequence[IndexedTurn], embedder: Embedder, query: str, limit: int) -> list[TurnKey]:
    """Returns the ``limit`` turns that fit the query best, the best first. Raises ``EmbeddingFailed``.

    ``rows``: made by ``packed`` with the same embedder, the turns of one session together and in order.
    """
    if not rows:
        return []
    vectors = np.frombuffer(b"".join([row.vector for row in rows]), _VALUE).reshape(len(rows), -1)
    cosines = vectors.astype(np.float32) @ embedder.query(query)
    own = _scaled(cosines) + _scaled(_bm25([row.words for row in rows], query))
    total = own.copy()
    numbers = np.fromiter((row.number for row in rows), np.int64, len(rows))
    same_session = np.fromiter((one.session_id == two.session_id for one, two in pairwise(rows)), bool, len(rows) - 1)
    beside = same_session & (np.diff(numbers) == 1)
    total[1:] += NEIGHBOUR * own[:-1] * beside
    total[:-1] += NEIGHBOUR * own[1:] * beside
    return [rows[at].key for at in np.argsort(-total, kind="stable")[:limit]]


def _bm25(packed_words: Sequence[bytes], query: str) -> Scores:
    """Returns the BM25 score of every turn."""
    table = np.frombuffer(b"".join(packed_words), _WORD)
    terms, counts = np.ascontiguousarray(table["term"]), table["count"].astype(np.float64)
    sizes = [len(piece) // _WORD.itemsize for piece in packed_words]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    lengths = np.bincount(owner, counts, len(sizes))
    norms = K1 * (1 - B + B * lengths / (lengths.mean() or 1.0))
    scores = np.zeros(len(sizes))
    for word in words(query, installed()):
        at = np.flatnonzero(terms == term(word))
        rarity = np.log1p((len(sizes) - len(at) + 0.5) / (len(at) + 0.5))
        scores[owner[at]] += rarity * counts[at] / (counts[at] + norms[owner[at]])
    return scores


def _scaled(scores: NDArray[np.floating]) -> Scores:
    """Returns the scores on a scale from 0 (the least of them) to 1 (the highest); zeros where all are the same."""
    scores = scores.astype(np.float64)
    spread = scores.max() - scores.min()
    return (scores - scores.min()) / spread if spread > 1e-9 else np.zeros(len(scores))
