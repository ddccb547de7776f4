"""One score from vectors and words: the query decides how much its words count."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.answer.fuse import FOREIGN, fuse_scores


def order(cosine: list[float], cover: list[float], foreign: list[bool] | None = None) -> list[int]:
    scores = fuse_scores(np.array(cosine), np.array(cover), np.array(foreign or [False] * len(cosine)))
    assert ((scores >= 0) & (scores <= 1)).all()
    return [int(each) for each in np.argsort(-scores, kind="stable")]


def test_words_that_one_passage_alone_has_lead_although_its_vector_is_not_the_nearest() -> None:
    assert order([0.86, 0.852, 0.80], [0.1, 0.3, 0.1])[0] == 1


def test_words_do_not_lead_where_the_vectors_contradict_them() -> None:
    assert order([0.86, 0.81, 0.80], [0.1, 0.3, 0.1])[0] == 0


def test_words_that_many_passages_share_leave_the_lead_to_the_vectors() -> None:
    assert order([0.86, 0.852, 0.80], [0.1, 0.3, 0.3])[0] == 0


def test_the_words_of_another_language_neither_lead_nor_make_others_lead() -> None:
    assert order([0.86, 0.852, 0.80], [0.0, 0.5, 0.1], [False, True, False])[0] == 0
    assert order([0.86, 0.852, 0.80], [0.0, 0.5, 0.1], [True, True, True]) == [0, 1, 2]
    assert FOREIGN < 0.1


@pytest.mark.parametrize("cover", [[0.0, 0.0], [0.3, 0.3], [1.0, 0.0]])
def test_vectors_that_are_all_as_near_leave_it_to_the_words(cover: list[float]) -> None:
    assert order([0.8, 0.8], cover) == [0, 1]


def test_nothing_and_one_are_fused() -> None:
    assert order([], []) == []
    assert order([0.9], [0.2]) == [0]
