"""Which documents come first is decided by the vectors, because words belong to one language and one subject."""

from __future__ import annotations

from dataclasses import replace

import pytest

from retrieval.answer.prefer import search_preferred_first
from retrieval.document import Collection, Filters, Hit, SearchScope
from tests.retrieval.test_loop import hit

NEAR = 0.89


def place(collection: Collection, nearness: float, cover: float) -> Hit:
    """A hit that is so near by its vectors."""
    found = hit(1, nearness)
    return replace(found, passage=replace(found.passage, collection=collection), heading=nearness, cover=cover)


@pytest.mark.parametrize(
    ("with_files", "own", "others", "first"),
    [
        (True, (0.84, 0.0), (0.895, 0.3), "session"),
        (True, (0.84, 0.0), (0.905, 0.0), "product"),
        (True, (0.82, 0.8), (0.885, 0.0), "session"),
        (False, (0.80, 0.0), (0.81, 0.5), "session"),
        (False, (0.80, 0.0), (0.83, 0.0), "product"),
        (False, (0.86, 0.0), (0.87, 0.5), "product"),
    ],
    ids=["nearer by words", "clearly nearer", "not near", "nearer by words", "clearly nearer", "near alone"],
)
def test_others_come_first_where_their_vectors_are_clearly_nearer(
    with_files: bool, own: tuple[float, float], others: tuple[float, float], first: str
) -> None:
    def search(filters: Filters) -> list[Hit]:
        return [place("session", *own) if "session" in filters.scope.collections else place("product", *others)]

    scope = SearchScope(("session", "product"), "a", asked_with_files=with_files)
    found = search_preferred_first(search, Filters(scope=scope), NEAR)
    assert next(each.passage.collection for each in found) == first
