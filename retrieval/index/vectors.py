"""The index of vectors: a small Protocol, and its implementation with FAISS.

FAISS compares half-precision vectors by exact inner product up to ``IVF_FROM`` passages. Above, it uses inverted lists
and searches at most the nearest ``PROBES`` of them. Vectors of 16 bits need half the room and find the same passages.
No file uses pickle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import faiss as _faiss
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from errors import LibraryCorrupt
from model.embedding import Vectors
from retrieval.index.index_file import prune_index_files, publish_index_file, verify_index_file

faiss: Any = _faiss  # its type stubs are incomplete
IVF_FROM = 50_000
"""Passages above which exact search takes more than about 2 ms of processor time (bench index: 0.34 ms at 10,000)."""
PROBES = 64
"""The most inverted lists that a search looks at. On real embeddings 48 find .966 to .972 of the ten nearest, 64 find
.981 to .985 (bench index)."""
MARGIN = 0.1
"""Skips inverted lists whose centroid is more than this cosine distance farther from the query than the nearest
centroid. This changes nothing for real embeddings of the built-in model, which lie close together; where topics lie
apart, one or two lists are enough."""
GROWTH = 4
"""How many times larger the index may grow before its inverted lists are built again."""
Ids = NDArray[np.int64]
Found = tuple[Ids, Vectors]


class Searcher(Protocol):
    """One revision of an index, open for searching."""

    @property
    def count(self) -> int:
        """Returns the number of vectors."""

    def search(self, vector: Vectors, k: int, allowed: Ids | None) -> Found:
        """Returns at most ``k`` ids with their cosines, best first; only ids in ``allowed`` when given."""


@dataclass(frozen=True)
class Prepared:
    """The next revision of an index; current when ``commit`` has run in the transaction that raises the revision."""

    searcher: Searcher
    commit: Callable[[Connection], None]


class Index(Protocol):
    """A store of vectors by passage id. One writer at a time calls ``change`` and ``replace``.

    The name of a revision has its number and, after a hyphen, a hash of its content. So files that an unfinished writer
    left are not taken for another revision of the same number.
    """

    def open(self, revision: str) -> Searcher:
        """Opens a revision. Raises ``FileNotFoundError`` when this machine does not have it, ``LibraryCorrupt`` when it
        is damaged."""

    def change(
        self, old: Searcher, revision: str, removed: Ids, ids: Ids, vectors: Vectors, absent: int = 0
    ) -> Prepared | None:
        """Prepares the next revision from the last one; returns None when they differ too much: use ``replace``.
        ``absent``: how many of the removed ids may be missing, because they waited for their vectors."""

    def replace(self, revision: str, ids: Ids, vectors: Vectors) -> Prepared:
        """Prepares the next revision from all vectors."""

    def prune(self, revision: str) -> None:
        """Removes what revisions before this one left."""


class FaissIndex:
    """Files ``dense-<revision>.faiss`` in a folder; opening one loads it into memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, revision: str) -> Searcher:
        path = self._path(revision)
        with verify_index_file(path):
            return FaissSearcher(faiss.read_index(str(path)))

    def change(
        self, old: Searcher, revision: str, removed: Ids, ids: Ids, vectors: Vectors, absent: int = 0
    ) -> Prepared | None:
        assert isinstance(old, FaissSearcher)
        searcher = old.copy_with_change(removed, ids, vectors, absent)
        return None if searcher is None else self._write_searcher(searcher, revision)

    def replace(self, revision: str, ids: Ids, vectors: Vectors) -> Prepared:
        return self._write_searcher(FaissSearcher(build_faiss_index(ids, vectors)), revision)

    def prune(self, revision: str) -> None:
        prune_index_files(self._folder, "dense", {self._path(revision).name})

    def _path(self, revision: str) -> Path:
        return self._folder / f"dense-{revision}.faiss"

    def _write_searcher(self, searcher: FaissSearcher, revision: str) -> Prepared:
        with publish_index_file(self._path(revision)) as part:
            faiss.write_index(searcher.index, str(part))
        return Prepared(searcher, lambda _: None)


class FaissSearcher:
    """A FAISS index that is only read."""

    def __init__(self, index: Any) -> None:
        self.index = index

    @property
    def count(self) -> int:
        return int(self.index.ntotal)

    def search(self, vector: Vectors, k: int, allowed: Ids | None) -> Found:
        if not self.index.ntotal or (allowed is not None and not len(allowed)):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        selector = None if allowed is None else _build_id_selector(allowed)
        params = _build_search_params(self.index, vector, selector)
        cosines, ids = self.index.search(vector[None, :], min(k, self.index.ntotal), params=params)
        real = ids[0] >= 0
        return ids[0][real], cosines[0][real]

    def copy_with_change(self, removed: Ids, ids: Ids, vectors: Vectors, absent: int = 0) -> FaissSearcher | None:
        """Returns a copy with the change; None when its kind or its inverted lists no longer fit the size. ``absent``:
        see ``Index.change``."""
        size = self.index.ntotal - len(removed) + len(ids)
        lists = getattr(self.index, "nlist", 0)
        if not size or (size > IVF_FROM) != bool(lists) or (lists and size > GROWTH * (lists / 4) ** 2):
            return None
        copy = faiss.clone_index(self.index)
        if len(removed):
            size += min(len(removed) - copy.remove_ids(faiss.IDSelectorBatch(removed)), absent)
        if len(ids):
            copy.add_with_ids(vectors, ids)
        if copy.ntotal != size:
            reason = f"it holds {copy.ntotal} vectors, {size} were expected"
            raise LibraryCorrupt(
                path="the index", reason=reason, reason_code="count", found=int(copy.ntotal), expected=int(size)
            )
        return FaissSearcher(copy)


def build_faiss_index(ids: Ids, vectors: Vectors) -> Any:
    """Builds a FAISS index of the kind that fits the number of vectors."""
    dimension = vectors.shape[1]
    half = faiss.ScalarQuantizer.QT_fp16
    if len(ids) <= IVF_FROM:
        index = faiss.IndexIDMap2(faiss.IndexScalarQuantizer(dimension, half, faiss.METRIC_INNER_PRODUCT))
        if len(ids):
            index.train(vectors)
    else:
        lists = int(4 * len(ids) ** 0.5)
        coarse = faiss.IndexFlatIP(dimension)
        index = faiss.IndexIVFScalarQuantizer(coarse, dimension, lists, half, faiss.METRIC_INNER_PRODUCT, False)
        index.cp.seed, index.cp.niter = 7, 8
        sample = np.random.default_rng(7).permutation(len(ids))[: lists * 40]
        index.train(vectors[np.sort(sample)])
        index.nprobe = PROBES
    if len(ids):
        index.add_with_ids(vectors, ids)
    return index


def _build_id_selector(allowed: Ids) -> Any:
    """Returns a selector of one bit per id, made in a millisecond for a million ids."""
    bits = np.zeros(int(allowed.max()) + 1, bool)
    bits[allowed] = True
    return faiss.IDSelectorBitmap(np.packbits(bits, bitorder="little"))


def _build_search_params(index: Any, vector: Vectors, selector: Any) -> Any:
    if isinstance(index, faiss.IndexIVF):
        near = index.quantizer.search(vector[None, :], min(PROBES, index.nlist))[0][0]
        return faiss.SearchParametersIVF(sel=selector, nprobe=int((near >= near[0] - MARGIN).sum()))
    return faiss.SearchParameters(sel=selector) if selector is not None else None
