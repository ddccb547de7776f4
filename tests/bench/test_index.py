from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pytest

from bench import index
from errors import MissingExtra


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_apart", lambda work, size, queries: work(size, queries))
    monkeypatch.setattr(index, "_embedding", dict)


def test_the_index_and_the_whole_product_are_measured() -> None:
    args = argparse.Namespace(sizes="300,400", queries=5, against="none", compare_at=300, data=None)
    result: dict[str, Any] = index.run(args)
    first, second = result["sizes"]
    assert first["recall10"] == second["recall10"] == 1.0
    assert 2 * index.DIMENSION < first["dense_bytes_per_vector"] < first["index_files_bytes_per_vector"]
    both = 2 * 2 * index.DIMENSION + first["text_bytes_per_vector"]
    assert first["whole_bytes_per_vector"] > both, "the vectors twice, and the texts"
    assert first["whole_query_cpu_ms"] > 0
    assert "whole_query_cpu_ms" not in second


def test_a_comparison_that_cannot_be_made_is_told_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "find_spec", lambda _: None)
    monkeypatch.setattr(index, "_ours", lambda *_: pytest.fail("it was measured"))
    with pytest.raises(MissingExtra):
        index.run(argparse.Namespace(sizes="300", queries=5, against="chroma", compare_at=300, data=None))


def test_a_question_is_near_a_passage_and_is_none() -> None:
    vectors = index.clustered(200)
    near = (vectors @ index.questions(vectors, 10).T).max(axis=0)
    assert np.all((near > 0.8) & (near < 0.99))
