"""Searching one revision: dense and lexical candidates, fused, as hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from retrieval.document import Filters, Hit
from retrieval.embed import Embedder, Vectors
from retrieval.fuse import CANDIDATES, fuse, ranks
from retrieval.index import Ids, Searcher
from retrieval.lexical import Lexical
from retrieval.row import Rows, Slot
from text.language import detect

FAQ, GUIDE = 3, 7
"""copilot-rag.md §4.2: how many of each kind «search_all» finds."""


class Stale(Exception):
    """A passage that was found is gone: a writer was faster. Search the new revision."""


@dataclass(frozen=True)
class View:
    """One revision, open for searching; never changed."""

    revision: int
    searcher: Searcher
    lexical: Lexical
    slots: tuple[Slot, ...]
    ids: Ids
    _masks: dict[tuple[str, object], NDArray[np.bool_]] = field(default_factory=dict)

    def allowed(self, filters: Filters) -> NDArray[np.bool_] | None:
        """Which slots a search may find; None: all. Slots are looked through once for each value of a filter."""
        wanted = {name: getattr(filters, name) for name in ("doc_type", "has_steps", "language")}
        masks = [self._mask(name, value) for name, value in wanted.items() if value is not None]
        if filters.documents is not None:
            documents = frozenset(filters.documents)
            masks.append(np.asarray([slot.document_id in documents for slot in self.slots], bool))
        return np.logical_and.reduce(masks) if masks else None

    def _mask(self, name: str, value: object) -> NDArray[np.bool_]:
        mask = self._masks.get((name, value))
        if mask is None:
            mask = self._masks[name, value] = np.asarray([getattr(slot, name) == value for slot in self.slots], bool)
        return mask


@dataclass(frozen=True)
class _Candidates:
    """What one search found, by position in ``View.slots``."""

    at: NDArray[np.int64]
    cosine: Vectors
    bm25: Vectors
    dense: NDArray[np.bool_]
    lexical: NDArray[np.bool_]


def search(view: View, rows: Rows, embedder: Embedder, query: str, filters: Filters, k: int) -> list[Hit]:
    """The ``k`` best passages, best first. Raises ``Stale``."""
    return _all_hits(view, rows, embedder, query, [(filters, k)])


def search_all(view: View, rows: Rows, embedder: Embedder, query: str, filters: Filters | None = None) -> list[Hit]:
    """FAQ 3 + guide 7 in one order (copilot-rag.md §4.2); what one kind lacks, the other fills up. Raises ``Stale``."""
    plain = filters or Filters()
    if plain.doc_type:
        return search(view, rows, embedder, query, plain, FAQ + GUIDE)
    return _all_hits(
        view, rows, embedder, query, [(replace(plain, doc_type="faq"), FAQ), (replace(plain, doc_type="guide"), GUIDE)]
    )


def _all_hits(
    view: View, rows: Rows, embedder: Embedder, query: str, wanted: Sequence[tuple[Filters, int]]
) -> list[Hit]:
    """The best of each filter up to its quota."""
    vector, (scores, bound) = embedder.query(query), view.lexical.scores(query)
    parts = []
    for filters, quota in wanted:
        parts.append((_candidates(view, rows, embedder.name, vector, scores, view.allowed(filters)), quota))
    return _hits(view, rows, query, bound, parts)


def _candidates(
    view: View, rows: Rows, model: str, vector: Vectors, scores: Vectors, allowed: NDArray[np.bool_] | None
) -> _Candidates:
    found, cosines = view.searcher.search(vector, CANDIDATES, None if allowed is None else view.ids[allowed])
    dense = np.searchsorted(view.ids, found)
    mine = view.ids[np.minimum(dense, len(view.ids) - 1)] == found  # another machine may have changed the index since
    dense, cosines = dense[mine], cosines[mine]
    best = np.flatnonzero(scores > 0 if allowed is None else allowed & (scores > 0))
    if len(best) > CANDIDATES:
        best = best[np.argpartition(-scores[best], CANDIDATES - 1)[:CANDIDATES]]
    at = np.union1d(dense, best)
    cosine = _cosines(view, rows, model, vector, at, dict(zip(dense.tolist(), cosines.tolist(), strict=True)))
    return _Candidates(at, cosine, scores[at], np.isin(at, dense), np.isin(at, best))


def _cosines(
    view: View, rows: Rows, model: str, vector: Vectors, at: NDArray[np.int64], known: dict[int, float]
) -> Vectors:
    """The cosine of every candidate; those that only words found are looked up."""
    unknown = [int(each) for each in at if int(each) not in known]
    if unknown:
        hashes = [view.slots[each].hash for each in unknown]
        vectors = rows.vectors(hashes, model, len(vector))
        known |= dict(zip(unknown, (vectors @ vector).tolist(), strict=True))
    return np.asarray([known[int(each)] for each in at], np.float32)


def _hits(view: View, rows: Rows, query: str, bound: float, parts: Sequence[tuple[_Candidates, int]]) -> list[Hit]:
    """The candidates of all parts on one scale, the quota of each part first, then the best of the rest."""
    names = ("at", "cosine", "bm25", "dense", "lexical")
    at, cosine, bm25, dense, lexical = (np.concatenate([getattr(part, name) for part, _ in parts]) for name in names)
    asked = detect(query)
    cover = bm25 / bound
    score = fuse(cosine, cover, np.asarray([view.slots[each].language != asked for each in at], bool))
    order = np.argsort(-score, kind="stable")
    owner = np.repeat(np.arange(len(parts)), [len(part.at) for part, _ in parts])
    chosen = _quota(order, owner, [quota for _, quota in parts])
    dense_ranks, lexical_ranks = ranks(cosine, dense), ranks(bm25, lexical)
    passages = rows.passages(view.slots[at[each]].id for each in chosen)
    if len(passages) < len(chosen):
        raise Stale
    return [
        Hit(
            passage=passages[view.slots[at[each]].id],
            score=float(score[each]),
            cosine=float(cosine[each]),
            bm25=float(bm25[each]),
            cover=float(cover[each]),
            dense_rank=dense_ranks[each],
            lexical_rank=lexical_ranks[each],
            fused_rank=rank,
        )
        for rank, each in enumerate(chosen, 1)
    ]


def _quota(order: NDArray[np.int64], owner: NDArray[np.int64], quotas: Sequence[int]) -> list[int]:
    """The best of each part up to its quota, places left filled by the best of the others, in the order of scores."""
    left, first, later = list(quotas), list[int](), list[int]()
    for each in (int(one) for one in order):
        if left[owner[each]] > 0:
            left[owner[each]] -= 1
            first.append(each)
        else:
            later.append(each)
    chosen = set(first + later[: sum(quotas) - len(first)])
    return [int(each) for each in order if int(each) in chosen]
