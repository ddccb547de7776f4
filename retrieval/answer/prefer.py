"""The user's documents come first: the product's own documents follow, unless they are clearly nearer to the question.

``python -m bench collection`` measured the margins (decision 11).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

from retrieval.answer.heading import measure_nearness, measure_vector_nearness
from retrieval.document import Collection, Filters, Hit, SearchScope

BEHIND, FAR_BEHIND = 0.1, 0.3
"""By how much the fused score of a passage from another collection must exceed that of a preferred passage to stand
before it. 0.06 to 0.15 order the questions of the bench alike. ``FAR_BEHIND`` applies when the question came with
files, because it then means those files."""
MARGIN, FAR_MARGIN = 0.025, 0.06
"""The same two margins for sections, in ``measure_vector_nearness``."""
OWN_COVER = 0.5
"""A passage of the user's with at least this share of the question's words stands first, also where the product's words
fit better: «How do I install it?» means the user's washing machine where its manual was added."""


def choose_first_collections(scope: SearchScope) -> frozenset[Collection]:
    """Returns the collections that come first: the user's, or the files that came with the question."""
    return frozenset({"session"} if scope.asked_with_files else {"session", "mine"})


def build_collection_penalties(scope: SearchScope) -> dict[str, float]:
    """Returns, by collection, how much is subtracted from a passage's fused score when passages are put in order."""
    behind = FAR_BEHIND if scope.asked_with_files else BEHIND
    return {
        collection: 0.0 if collection in choose_first_collections(scope) else behind
        for collection in get_args(Collection)
    }


def lift_own(order: Sequence[int], preferred: Sequence[bool], cover: Sequence[float]) -> list[int]:
    """Returns an order of passages in which the first of the preferred ones that has most of the question's words comes
    first. ``preferred``, ``cover``: by position."""
    own = next((at for at in order if preferred[at] and cover[at] >= OWN_COVER), None)
    return [*order] if own is None or preferred[order[0]] else [own, *(at for at in order if at != own)]


def search_preferred_first(search: Callable[[Filters], list[Hit]], filters: Filters, near: float) -> list[Hit]:
    """Returns the sections of the first collections and of the others, each group ranked by itself. The first
    collections lead unless the others are clearly nearer by their vectors, or, where the question came without files,
    unless only the others are near (``Embedder.near``)."""
    scope, first_collections = filters.scope, choose_first_collections(filters.scope)
    parts = [
        tuple(collection for collection in scope.collections if (collection in first_collections) is preferred)
        for preferred in (True, False)
    ]
    preferred, others = (
        search(replace(filters, scope=replace(scope, collections=part))) if part else [] for part in parts
    )
    return (
        [*others, *preferred]
        if preferred and _is_clearly_nearer(others, preferred, scope, near)
        else [*preferred, *others]
    )


def _is_clearly_nearer(others: Sequence[Hit], mine: Sequence[Hit], scope: SearchScope, near: float) -> bool:
    difference = measure_vector_nearness(others) - measure_vector_nearness(mine)
    if scope.asked_with_files:
        return difference > FAR_MARGIN and is_meant(others, scope, near)
    if mine[0].cover >= OWN_COVER:
        return False
    return difference > MARGIN or measure_nearness(mine) < near <= measure_nearness(others)


def is_meant(hits: Sequence[Hit], scope: SearchScope, near: float) -> bool:
    """Returns whether a question can mean the first section. One that came with files means those, and a later one of a
    conversation with files those or the user's other documents, unless the vectors alone place a section from elsewhere
    near (``Embedder.near``)."""
    own = choose_first_collections(scope)
    return (
        not (scope.asked_with_files or scope.has_files)
        or any(hit.passage.collection in own for hit in hits[:1])
        or measure_vector_nearness(hits) >= near
    )
