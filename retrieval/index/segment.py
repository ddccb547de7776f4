"""A segment of the lexical index, as one file: which words stand in which texts and how often; numpy arrays, no pickle.

The first 64 bits of its hash identify a text, and a hash of 64 bits identifies a word: among a million of either, two
coincide with a probability of 3 in 10^8. So a segment stays valid whatever happens to the passages, and may hold texts
that are gone.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval.index.index_file import publish_index_file, verify_index_file
from retrieval.index.word import Cut, cut_passage_words

Marks = NDArray[np.uint64]
Rows = NDArray[np.int32]
_ARRAYS = ("texts", "terms", "starts", "rows", "counts")


def build_hash_marks(hashes: Iterable[str]) -> Marks:
    """Returns the numbers that identify texts; they have the same order as the (hexadecimal) hashes."""
    return np.frombuffer(bytes.fromhex("".join([hash_[:16] for hash_ in hashes])), ">u8").astype(np.uint64)


@lru_cache(maxsize=1 << 18)
def hash_term(word: str) -> int:
    """Returns the number that identifies a word."""
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


@dataclass(frozen=True, eq=False)
class Segment:
    """Postings by word; never changed. The postings of ``terms[n]`` are ``starts[n]`` to ``starts[n + 1]`` of ``rows``
    and ``counts``; a row is a position in ``texts``. Texts and terms are in rising order, and a text stands once."""

    texts: Marks
    terms: Marks
    starts: NDArray[np.int64]
    rows: Rows
    counts: NDArray[np.uint16]

    @classmethod
    def make(cls, texts: Mapping[str, str], cut: Cut) -> Segment:
        """Builds a segment from texts by their hash."""
        hashes, terms, rows, counts = sorted(texts), array("Q"), array("i"), array("i")
        for row, hash_ in enumerate(hashes):
            frequencies = Counter(cut_passage_words(texts[hash_], cut))
            terms.extend(map(hash_term, frequencies))
            rows.extend([row] * len(frequencies))
            counts.extend(frequencies.values())
        clipped = np.minimum(np.asarray(counts), np.iinfo(np.uint16).max).astype(np.uint16)
        return cls._of(build_hash_marks(hashes), np.asarray(terms, np.uint64), np.asarray(rows, np.int32), clipped)

    @classmethod
    def merge(cls, parts: Sequence[tuple[Segment, Rows]]) -> Segment:
        """Returns one segment of these rows of other segments; no text may stand in two of them."""
        texts = np.sort(np.concatenate([segment.texts[rows] for segment, rows in parts]))
        postings = [segment._find_postings(texts, rows) for segment, rows in parts]
        return cls._of(texts, *(np.concatenate(column) for column in zip(*postings, strict=True)))

    @classmethod
    def _of(cls, texts: Marks, terms: Marks, rows: Rows, counts: NDArray[np.uint16]) -> Segment:
        order = np.argsort(terms, kind="stable")
        distinct, starts = np.unique(terms[order], return_index=True)
        return cls(texts, distinct, np.append(starts, len(terms)), rows[order], counts[order])

    def _find_postings(self, texts: Marks, kept: Rows) -> tuple[Marks, Rows, NDArray[np.uint16]]:
        """Returns the postings of these rows: terms, rows in ``texts``, counts."""
        new = np.full(len(self), -1, np.int32)
        new[kept] = np.searchsorted(texts, self.texts[kept])
        rows = new[self.rows]
        present = rows >= 0
        return np.repeat(self.terms, np.diff(self.starts))[present], rows[present], self.counts[present]

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def name(self) -> str:
        """Returns a hash of the texts."""
        return blake2b(self.texts.tobytes(), digest_size=8).hexdigest()

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Returns the number of words of each text."""
        return np.bincount(self.rows, self.counts, len(self)).astype(np.float64, copy=False)

    def postings(self, terms: Marks) -> list[slice]:
        """Returns where the postings of each of these terms are."""
        first, last = (np.searchsorted(self.terms, terms, side) for side in ("left", "right"))
        return [slice(*bounds) for bounds in zip(self.starts[first], self.starts[last], strict=True)]

    def save(self, path: Path) -> None:
        """Writes the file completely or not at all."""
        parts: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        with publish_index_file(path) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, **parts)

    @classmethod
    def load(cls, path: Path) -> Segment:
        """Reads the file. Raises ``FileNotFoundError`` or ``LibraryCorrupt``."""
        with verify_index_file(path), np.load(path, allow_pickle=False) as file:
            return cls(*(file[name] for name in _ARRAYS))
