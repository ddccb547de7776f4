"""BM25 over the passages (``bm25s``), as one file per revision; numpy arrays, no pickle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

from retrieval.file import checked, published
from retrieval.word import Cut, words

K1, B = 1.2, 0.5
"""Passages are of about one length, so length counts little (bench retrieval)."""
_SEPARATOR = "\x1f"


class Lexical:
    """BM25 scores of passages by id; unchangeable, made anew for each revision."""

    def __init__(self, ids: NDArray[np.int64], scorer: bm25s.BM25 | None, cut: Cut) -> None:
        self.ids = ids
        self.cut = cut
        self._scorer = scorer

    @classmethod
    def make(cls, ids: Sequence[int], texts: Sequence[Sequence[str]], cut: Cut) -> Lexical:
        """From the words of every passage; ``ids`` rise."""
        if not any(texts):
            return cls(np.asarray(ids, np.int64), None, cut)
        scorer = bm25s.BM25(k1=K1, b=B)
        scorer.index([list(text) for text in texts], show_progress=False, create_empty_token=False)
        return cls(np.asarray(ids, np.int64), scorer, cut)

    def scores(self, query: str) -> tuple[NDArray[np.float32], float]:
        """The score of every passage, in the order of ``ids`` (0 without a common word), and the highest possible.

        A word adds its rarity (idf) at most, one that no passage has as well: so score over bound says how much of
        the question a passage covers, and does not grow when all words are common.
        """
        found = words(query, self.cut)
        if self._scorer is None or not found:
            return np.zeros(len(self.ids), np.float32), 1.0
        known = self._scorer.get_tokens_ids(found)
        scores = self._scorer.get_scores_from_ids(known) if known else np.zeros(len(self.ids))
        often = np.zeros(len(found))
        often[: len(known)] = np.diff(self._scorer.scores["indptr"])[known]
        bound = np.log1p((len(self.ids) - often + 0.5) / (often + 0.5)).sum()
        return np.asarray(scores, np.float32), float(bound)

    def save(self, path: Path) -> None:
        """Writes the file for good or not at all."""
        parts: dict[str, Any] = {"ids": self.ids, "cut": np.frombuffer(self.cut.encode(), np.uint8)}
        if self._scorer is not None:
            scores = self._scorer.scores
            vocabulary = _SEPARATOR.join(sorted(self._scorer.vocab_dict, key=self._scorer.vocab_dict.__getitem__))
            parts |= {name: np.asarray(scores[name]) for name in ("data", "indices", "indptr")}
            parts["vocabulary"] = np.frombuffer(vocabulary.encode(), np.uint8)
        with published(path) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, **parts)

    @classmethod
    def load(cls, path: Path) -> Lexical:
        """Raises ``FileNotFoundError`` or ``LibraryCorrupt``."""
        with checked(path), np.load(path, allow_pickle=False) as file:
            parts = {name: file[name] for name in file.files}
        cut: Cut = "kiwi" if parts["cut"].tobytes() == b"kiwi" else "ngram"
        if "data" not in parts:
            return cls(parts["ids"], None, cut)
        scorer = bm25s.BM25(k1=K1, b=B)
        scorer.scores = {name: parts[name] for name in ("data", "indices", "indptr")} | {"num_docs": len(parts["ids"])}
        known = parts["vocabulary"].tobytes().decode().split(_SEPARATOR)
        scorer.vocab_dict = {word: number for number, word in enumerate(known)}
        scorer.nonoccurrence_array = None
        return cls(parts["ids"], scorer, cut)
