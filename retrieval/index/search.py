"""Search in one revision: dense and lexical candidates, fused into hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from model.embedding import Embedder, Vectors
from retrieval.answer import heading, prefer
from retrieval.answer.fuse import CANDIDATES, fuse_scores, rank_candidates
from retrieval.document import Filters, Hit, SearchScope
from retrieval.index.lexical import Lexical
from retrieval.index.row import LibraryRows, Slot, embedded_text
from retrieval.index.vectors import Ids, Searcher
from text.digest import hash_text
from text.language import detect_language

FAQ, GUIDE = 3, 7
"""How many passages of each type «search_all» finds (specification 7.3)."""
LOOKED_AT = 30
"""How many passages have their sections compared by headings too."""


AT_ONCE = 4
"""How many passages without a vector are embedded for a question that has their words."""


class StaleRevision(Exception):
    """The error for a passage that was found and is gone, because a writer published meanwhile. The new revision must
    be searched."""


@dataclass(frozen=True)
class RevisionView:
    """One revision, open for searching; never changed."""

    revision: int
    searcher: Searcher
    lexical: Lexical
    slots: tuple[Slot, ...]
    ids: Ids
    _masks: dict[tuple[str, object], NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def lacks_vectors(self) -> bool:
        """Returns whether some passages are found by their words alone."""
        return self.searcher.count < len(self.slots)

    def find_allowed_slots(self, filters: Filters, attached: Sequence[int] = ()) -> NDArray[np.bool_] | None:
        """Returns which slots a search may find; None: all. The slots of each value of a filter are determined once.

        ``attached``: the documents that are files of the scope's conversation.
        """
        conditions = {name: getattr(filters, name) for name in ("doc_type", "has_steps", "language")}
        masks = [self._mask(name, value) for name, value in conditions.items() if value is not None]
        if filters.documents is not None:
            documents = frozenset(filters.documents)
            masks.append(np.asarray([slot.document_id in documents for slot in self.slots], bool))
        if filters.product_language is not None:
            masks.append(~self._mask("collection", "product") | self._mask("language", filters.product_language))
        within = self._within(filters.scope, attached)
        masks += [] if within.all() else [within]
        return np.logical_and.reduce(masks) if masks else None

    def _within(self, scope: SearchScope, attached: Sequence[int]) -> NDArray[np.bool_]:
        """Returns the slots of the scope's collections and of its conversation's files."""
        masks = [self._mask("collection", collection) for collection in scope.collections if collection != "session"]
        masks += [np.isin(self._documents, attached)] if attached else []
        within: NDArray[np.bool_] = np.logical_or.reduce([np.zeros(len(self.slots), bool), *masks])
        return within

    @cached_property
    def _documents(self) -> Ids:
        """Returns the document id of each slot."""
        return np.asarray([slot.document_id for slot in self.slots], np.int64)

    def _mask(self, name: str, value: object) -> NDArray[np.bool_]:
        mask = self._masks.get((name, value))
        if mask is None:
            mask = self._masks[name, value] = np.asarray([getattr(slot, name) == value for slot in self.slots], bool)
        return mask


@dataclass(frozen=True)
class _Candidates:
    """The candidates of one search. ``at``: their positions in ``RevisionView.slots``; ``dense``, ``lexical``: which
    search found them."""

    at: NDArray[np.int64]
    cosine: Vectors
    bm25: Vectors
    dense: NDArray[np.bool_]
    lexical: NDArray[np.bool_]


def search_passages(
    view: RevisionView, rows: LibraryRows, embedder: Embedder, query: str, filters: Filters, k: int
) -> list[Hit]:
    """Returns the ``k`` best passages, best first. Raises ``StaleRevision``."""
    return _all_hits(view, rows, embedder, query, [(filters, k)])


def search_all_types(
    view: RevisionView, rows: LibraryRows, embedder: Embedder, query: str, filters: Filters | None = None
) -> list[Hit]:
    """Returns 3 FAQ and 7 guide passages in one order (specification 7.3); if one type has too few, the other fills the
    places left. Raises ``StaleRevision``."""
    plain = filters or Filters()
    if plain.doc_type:
        return search_passages(view, rows, embedder, query, plain, FAQ + GUIDE)
    return _all_hits(
        view, rows, embedder, query, [(replace(plain, doc_type="faq"), FAQ), (replace(plain, doc_type="guide"), GUIDE)]
    )


def search_sections(
    view: RevisionView, rows: LibraryRows, embedder: Embedder, query: str, filters: Filters, k: int
) -> list[Hit]:
    """Returns the best passage of each of the ``k`` best sections, by ``heading.rank_sections``, the user's documents
    first (``prefer.search_preferred_first``). Raises ``StaleRevision``."""
    hits = prefer.search_preferred_first(
        lambda part: _search_scope_sections(view, rows, embedder, query, part, k), filters, embedder.near
    )
    return hits[:k]


def _search_scope_sections(
    view: RevisionView, rows: LibraryRows, embedder: Embedder, query: str, filters: Filters, k: int
) -> list[Hit]:
    hits = search_passages(view, rows, embedder, query, filters, LOOKED_AT)
    if not hits:
        return []
    passages, vector = [hit.passage for hit in hits], embedder.query(query)
    hashes = [hash_text(embedded_text(passage.title, passage.path, passage.text)) for passage in passages]
    try:
        texts = rows.vectors(hashes, embedder.name, len(vector))
    except KeyError as error:
        raise StaleRevision from error
    titles = [heading.build_heading_text(passage.title, passage.path, passage.text) for passage in passages]
    return heading.rank_sections(hits, vector, texts, _ensure_text_vectors(rows, embedder, titles))[:k]


def _ensure_text_vectors(rows: LibraryRows, embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Returns vectors of texts, a row for each; stores newly computed vectors for the next time."""
    hashes = [hash_text(text) for text in texts]
    known = dict(zip(hashes, texts, strict=True))
    if missing := sorted(rows.missing(list(known), embedder.name)):
        rows.keep_vectors(missing, embedder.passages([known[hash_] for hash_ in missing]), embedder.name)
    return rows.vectors(hashes, embedder.name, embedder.dimension)


def _all_hits(
    view: RevisionView, rows: LibraryRows, embedder: Embedder, query: str, wanted: Sequence[tuple[Filters, int]]
) -> list[Hit]:
    """Returns the best hits of each filter up to its quota."""
    vector, (scores, bound) = embedder.query(query), view.lexical.scores(query)
    parts = []
    for filters, quota in wanted:
        allowed = view.find_allowed_slots(filters, rows.list_attached_ids(filters.scope))
        parts.append((_collect_candidates(view, rows, embedder, vector, scores, allowed), quota))
    return _score_hits(view, rows, query, bound, parts, prefer.build_collection_penalties(wanted[0][0].scope))


def _collect_candidates(
    view: RevisionView,
    rows: LibraryRows,
    embedder: Embedder,
    vector: Vectors,
    scores: Vectors,
    allowed: NDArray[np.bool_] | None,
) -> _Candidates:
    ids, cosines = view.searcher.search(vector, CANDIDATES, None if allowed is None else view.ids[allowed])
    dense = np.searchsorted(view.ids, ids)
    is_current = (
        view.ids[np.minimum(dense, len(view.ids) - 1)] == ids
    )  # another machine may have changed the index since
    dense, cosines = dense[is_current], cosines[is_current]
    best = np.flatnonzero(scores > 0 if allowed is None else allowed & (scores > 0))
    if len(best) > CANDIDATES:
        best = best[np.argpartition(-scores[best], CANDIDATES - 1)[:CANDIDATES]]
    known = dict(zip(dense.tolist(), cosines.tolist(), strict=True))
    try:
        positions = np.union1d(dense, best)
        cosine = _compute_cosines(view, rows, embedder.name, vector, positions, known)
    except KeyError:  # of a document that is being added, and is found by its words until then
        best = _embed_waiting(view, rows, embedder, best, scores)
        positions = np.union1d(dense, best)
        cosine = _compute_cosines(view, rows, embedder.name, vector, positions, known)
    return _Candidates(positions, cosine, scores[positions], np.isin(positions, dense), np.isin(positions, best))


def _embed_waiting(
    view: RevisionView, rows: LibraryRows, embedder: Embedder, found: NDArray[np.int64], scores: Vectors
) -> NDArray[np.int64]:
    """Returns the positions that have a vector, and of the others the ``AT_ONCE`` that fit the words best, whose
    vectors are made now."""
    missing = rows.missing([view.slots[position].hash for position in found], embedder.name)
    waiting = [int(position) for position in found if view.slots[position].hash in missing]
    chosen = sorted(waiting, key=lambda position: -scores[position])[:AT_ONCE]
    texts = rows.texts([view.slots[position].hash for position in chosen])
    if texts:
        rows.keep_vectors(list(texts), embedder.passages(list(texts.values())), embedder.name)
    left = [position for position in waiting if view.slots[position].hash not in texts]
    return np.setdiff1d(found, np.asarray(left, np.int64))


def _compute_cosines(
    view: RevisionView, rows: LibraryRows, model: str, vector: Vectors, at: NDArray[np.int64], known: dict[int, float]
) -> Vectors:
    """Returns the cosine of every candidate; computes it for candidates that only the lexical search found."""
    unknown = [int(position) for position in at if int(position) not in known]
    if unknown:
        hashes = [view.slots[position].hash for position in unknown]
        vectors = rows.vectors(hashes, model, len(vector))
        known |= dict(zip(unknown, (vectors @ vector).tolist(), strict=True))
    return np.asarray([known[int(position)] for position in at], np.float32)


def _score_hits(
    view: RevisionView,
    rows: LibraryRows,
    query: str,
    bound: float,
    parts: Sequence[tuple[_Candidates, int]],
    penalty: Mapping[str, float],
) -> list[Hit]:
    """Scores the candidates of all parts on one scale and returns hits: each part gets its quota, and the best of the
    rest fill the places left. ``penalty``: by collection, for the order only."""
    names = ("at", "cosine", "bm25", "dense", "lexical")
    positions, cosine, bm25, dense, lexical = (
        np.concatenate([getattr(part, name) for part, _ in parts]) for name in names
    )
    language = detect_language(query)
    cover = bm25 / bound
    score = fuse_scores(
        cosine, cover, np.asarray([view.slots[index].language != language for index in positions], bool)
    )
    penalties = np.asarray([penalty[view.slots[index].collection] for index in positions])
    by_score = np.argsort(penalties - score, kind="stable").tolist()
    order = prefer.lift_own(by_score, (penalties == 0).tolist(), cover.tolist())
    owner = np.repeat(np.arange(len(parts)), [len(part.at) for part, _ in parts])
    chosen = _fill_quotas(order, owner, [quota for _, quota in parts])
    dense_ranks, lexical_ranks = rank_candidates(cosine, dense), rank_candidates(bm25, lexical)
    passages = rows.passages(view.slots[positions[index]].id for index in chosen)
    if len(passages) < len(chosen):
        raise StaleRevision
    return [
        Hit(
            passage=passages[view.slots[positions[index]].id],
            score=float(score[index]),
            cosine=float(cosine[index]),
            bm25=float(bm25[index]),
            cover=float(cover[index]),
            dense_rank=dense_ranks[index],
            lexical_rank=lexical_ranks[index],
            fused_rank=rank,
        )
        for rank, index in enumerate(chosen, 1)
    ]


def _fill_quotas(order: Sequence[int], owner: NDArray[np.int64], quotas: Sequence[int]) -> list[int]:
    """Returns the best of each part up to its quota; the best of the rest fill the places left. Keeps the order of
    scores."""
    left, first, later = list(quotas), list[int](), list[int]()
    for candidate in order:
        if left[owner[candidate]] > 0:
            left[owner[candidate]] -= 1
            first.append(candidate)
        else:
            later.append(candidate)
    chosen = set(first + later[: sum(quotas) - len(first)])
    return [candidate for candidate in order if candidate in chosen]
