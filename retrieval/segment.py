"""Which words stand in which texts and how often: a piece of the lexical index, as one file; numpy arrays, no pickle.

A text is known by the first 64 bits of its hash, a word by 64 bits of its own: a million of either coincide with a
probability of 3 in 10^8. So a segment stays true whatever becomes of the passages, and may hold texts that are gone.
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

from retrieval.file import checked, published
from retrieval.word import Cut, words

Marks = NDArray[np.uint64]
Rows = NDArray[np.int32]
_ARRAYS = ("texts", "terms", "starts", "rows", "counts")


def marks(hashes: Iterable[str]) -> Marks:
    """What texts are known by; they rise as the hashes (hexadecimal) do."""
    return np.frombuffer(bytes.fromhex("".join([hash_[:16] for hash_ in hashes])), ">u8").astype(np.uint64)


@lru_cache(maxsize=1 << 18)
def term(word: str) -> int:
    """What a word is known by."""
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


@dataclass(frozen=True, eq=False)
class Segment:
    """Postings by word: those of ``terms[n]`` are ``starts[n]`` to ``starts[n + 1]`` of ``rows`` and ``counts``; a row
    is a position in ``texts``. Texts and terms rise; a text stands once. Never changed."""

    texts: Marks
    terms: Marks
    starts: NDArray[np.int64]
    rows: Rows
    counts: NDArray[np.uint16]

    @classmethod
    def make(cls, texts: Mapping[str, str], cut: Cut) -> Segment:
        """From texts by their hash."""
        held, terms, rows, counts = sorted(texts), array("Q"), array("i"), array("i")
        for row, hash_ in enumerate(held):
            found = Counter(words(texts[hash_], cut))
            terms.extend(map(term, found))
            rows.extend([row] * len(found))
            counts.extend(found.values())
        few = np.minimum(np.asarray(counts), np.iinfo(np.uint16).max).astype(np.uint16)
        return cls._of(marks(held), np.asarray(terms, np.uint64), np.asarray(rows, np.int32), few)

    @classmethod
    def merge(cls, parts: Sequence[tuple[Segment, Rows]]) -> Segment:
        """One segment of these rows of others; no text stands in two of them."""
        texts = np.sort(np.concatenate([segment.texts[rows] for segment, rows in parts]))
        postings = [segment._among(texts, rows) for segment, rows in parts]
        return cls._of(texts, *(np.concatenate(column) for column in zip(*postings, strict=True)))

    @classmethod
    def _of(cls, texts: Marks, terms: Marks, rows: Rows, counts: NDArray[np.uint16]) -> Segment:
        order = np.argsort(terms, kind="stable")
        each, starts = np.unique(terms[order], return_index=True)
        return cls(texts, each, np.append(starts, len(terms)), rows[order], counts[order])

    def _among(self, texts: Marks, kept: Rows) -> tuple[Marks, Rows, NDArray[np.uint16]]:
        """The postings of these rows: terms, rows in ``texts``, counts."""
        new = np.full(len(self), -1, np.int32)
        new[kept] = np.searchsorted(texts, self.texts[kept])
        rows = new[self.rows]
        mine = rows >= 0
        return np.repeat(self.terms, np.diff(self.starts))[mine], rows[mine], self.counts[mine]

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def name(self) -> str:
        """A mark of the texts."""
        return blake2b(self.texts.tobytes(), digest_size=8).hexdigest()

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """Words of each text."""
        return np.bincount(self.rows, self.counts, len(self)).astype(np.float64, copy=False)

    def postings(self, terms: Marks) -> list[slice]:
        """Where the postings of each of these terms are."""
        first, last = (np.searchsorted(self.terms, terms, side) for side in ("left", "right"))
        return [slice(*each) for each in zip(self.starts[first], self.starts[last], strict=True)]

    def save(self, path: Path) -> None:
        """Writes the file for good or not at all."""
        parts: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        with published(path) as part, part.open("wb") as file:
            np.savez(file, allow_pickle=False, **parts)

    @classmethod
    def load(cls, path: Path) -> Segment:
        """Raises ``FileNotFoundError`` or ``LibraryCorrupt``."""
        with checked(path), np.load(path, allow_pickle=False) as file:
            return cls(*(file[name] for name in _ARRAYS))
