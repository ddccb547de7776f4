"""Vectors that the tests keep are those that the model computes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from model.embedding import BuiltIn
from tests import vectors

TEXT = "여행 예산은 1,500,000원입니다"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where nothing is kept yet."""
    monkeypatch.setattr(vectors, "FOLDER", tmp_path / "vectors")
    vectors.FOLDER.mkdir()
    return vectors.FOLDER


def embed() -> list[list[float]]:
    model = BuiltIn()
    return [list(map(float, vector)) for vector in (model.query(TEXT), *model.passages([TEXT]))]


def test_a_kept_vector_is_the_one_that_was_computed(folder: Path) -> None:
    question, passage = computed = embed()
    assert question != passage
    assert [path.stat().st_size for path in folder.iterdir()] == [4 * BuiltIn.dimension] * 2
    assert embed() == computed


def test_a_file_that_is_not_whole_is_computed_again(folder: Path) -> None:
    computed = embed()
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:8])
    assert embed() == computed


def test_where_nothing_can_be_kept_vectors_are_computed(folder: Path) -> None:
    computed = embed()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert embed() == computed
    vectors.drop_oldest()


def test_the_oldest_go_where_there_are_too_many(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MOST", 2)
    for age in range(4):
        (folder / str(age)).touch()
        os.utime(folder / str(age), (1000 - age, 1000 - age))
    vectors.drop_oldest()
    assert sorted(path.name for path in folder.iterdir()) == ["0", "1"]
