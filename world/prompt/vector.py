"""Nearest entries and episodes by vector: FAISS indexes in memory, built from the rows of the database.

An index belongs to one world and one kind of vector. It is exact, so its search grows with the number of vectors: about
0.4 ms at 10,000.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import faiss as _faiss
import numpy as np

from model.embedding import Vectors

faiss: Any = _faiss  # its type stubs are incomplete
MOST_BYTES = 256_000_000
"""How much memory all indexes together take before the one that was used longest ago goes."""
ID_BYTES = 100
"""About what an id takes beside its vector."""
OVERLAP, WIDE = 16, 256
"""How many ids before the last known one are read again, usually and every ``RARELY``-th time. Turns of different lines
are worked off at the same time, so a turn may get its vector after a later one."""
RARELY = 32
Row = tuple[int, int, bytes]
"""The id of an entry or turn, the number of the turn, the vector as 16-bit floats."""
Read = Callable[[int], Sequence[Row]]
"""Returns the rows with ids above this one."""


class VectorIndex:
    """The vectors of one world and kind. Many threads may search and grow it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._index: Any = None
        self._ids: set[int] = set()
        self._last = 0
        self._grown = 0

    @property
    def bytes(self) -> int:
        """Returns about how much memory the vectors take."""
        return len(self._ids) * (self._index.d * 2 + ID_BYTES) if self._index is not None else 0

    def has(self, ids: frozenset[int]) -> bool:
        """Returns whether all of these have a vector here."""
        with self._lock:
            return ids <= self._ids

    def grow(self, read: Read) -> None:
        """Takes in the rows that came since the last call, also those that other processes wrote."""
        with self._lock:
            self._grown += 1
            again = OVERLAP if self._grown % RARELY else WIDE
            rows = [row for row in read(max(0, self._last - again)) if row[0] not in self._ids]
            width = self._index.d * 2 if self._index is not None else len(rows[0][2]) if rows else 0
            rows = [row for row in rows if len(row[2]) == width and width % 2 == 0 and width]
            if not rows:
                return
            vectors = np.frombuffer(b"".join(row[2] for row in rows), np.float16).reshape(len(rows), -1)
            ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
            self._add(ids, vectors.astype(np.float32))

    def _add(self, ids: Any, vectors: Vectors) -> None:
        if self._index is None:
            half = faiss.ScalarQuantizer.QT_fp16
            index = faiss.IndexScalarQuantizer(vectors.shape[1], half, faiss.METRIC_INNER_PRODUCT)
            self._index = faiss.IndexIDMap(index)
            self._index.train(vectors)
        self._index.add_with_ids(vectors, ids)
        self._ids.update(ids.tolist())
        self._last = max(self._last, int(ids.max()))

    def search(self, vector: Vectors, count: int | None = None, below: int | None = None) -> list[tuple[int, float]]:
        """Returns at most ``count`` ids with their cosines, best first; all of them without ``count``. ``below``: only
        smaller ids. Returns nothing for a vector of another width."""
        with self._lock:
            if self._index is None or vector.shape != (self._index.d,):
                return []
            most = self._index.ntotal if count is None else min(count, self._index.ntotal)
            sought = np.ascontiguousarray(vector[None, :], np.float32)
            chosen = faiss.SearchParameters(sel=faiss.IDSelectorRange(0, below)) if below is not None else None
            cosines, ids = self._index.search(sought, most, params=chosen)
        return [pair for pair in zip(ids[0].tolist(), cosines[0].tolist(), strict=True) if pair[0] >= 0]


class VectorIndexes:
    """The indexes of all worlds in use, those that were used last."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str, str], tuple[int, VectorIndex]] = OrderedDict()

    def growing(self, world: str, kind: str, made_by: str, read: Read) -> VectorIndex:
        """Returns an index to which rows are only added, up to date."""
        index = self._of((world, kind, made_by), 0)
        index.grow(read)
        self._shrink()
        return index

    def complete(
        self, world: str, kind: str, made_by: str, read: Read, revision: int, ids: frozenset[int]
    ) -> VectorIndex:
        """Returns an index of rows that stay the same for a revision: read from the beginning for another one, and
        further only while some of ``ids`` have no vector."""
        index = self._of((world, kind, made_by), revision)
        if not index.has(ids):
            index.grow(read)
            self._shrink()
        return index

    def _of(self, key: tuple[str, str, str], revision: int) -> VectorIndex:
        with self._lock:
            known = self._known.get(key)
            if known is None or known[0] != revision:
                known = self._known[key] = (revision, VectorIndex())
            self._known.move_to_end(key)
            return known[1]

    def forget(self, world: str) -> None:
        """Drops the indexes of a world."""
        with self._lock:
            for key in [key for key in self._known if key[0] == world]:
                del self._known[key]

    @property
    def bytes(self) -> int:
        """Returns about how much memory all indexes take."""
        with self._lock:
            return sum(index.bytes for _, index in self._known.values())

    def _shrink(self) -> None:
        with self._lock:
            size = sum(index.bytes for _, index in self._known.values())
            while size > self._most and len(self._known) > 1:
                _, (_, oldest) = self._known.popitem(last=False)
                size -= oldest.bytes
