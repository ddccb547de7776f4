"""What every index must do, over FAISS and over PostgreSQL with pgvector; and what only FAISS has to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

import settings
from errors import LibraryCorrupt
from model.embedding import Vectors
from retrieval.index import pgvector
from retrieval.index import vectors as module
from retrieval.index.pgvector import PgVector
from retrieval.index.pgvector import choose_vector_index as chosen
from retrieval.index.vectors import FaissIndex, FaissSearcher, Ids, Index, Searcher, build_faiss_index
from store import Store
from tests.retrieval.conftest import libraries
from tests.retrieval.test_collection import attach
from tests.retrieval.test_collection import found as finds


def unit(count: int, seed: int, dimension: int = 16) -> Vectors:
    made = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def ids(*values: int) -> Ids:
    return np.asarray(values, np.int64)


@pytest.fixture(scope="session")
def postgres(postgres_server: Any) -> str:
    """The address of the database of these tests, with pgvector."""
    return str(postgres_server.get_uri()).replace("postgresql://", "postgresql+psycopg://")


class Kept:
    """An index with its transactions, as the library uses it."""

    def __init__(self, index: Index, store: Store) -> None:
        self.index = index
        self._store = store
        self.revision = 0
        self.searcher: Searcher | None = None

    def replace(self, these: Ids, vectors: Vectors) -> None:
        self._commit(self.index.replace(str(self.revision + 1), these, vectors))

    def change(self, removed: Ids, these: Ids, vectors: Vectors) -> bool:
        assert self.searcher is not None
        prepared = self.index.change(self.searcher, str(self.revision + 1), removed, these, vectors)
        if prepared is not None:
            self._commit(prepared)
        return prepared is not None

    def _commit(self, prepared: Any) -> None:
        with self._store.transaction() as connection:
            prepared.commit(connection)
        self.revision, self.searcher = self.revision + 1, prepared.searcher

    def found(self, vector: Vectors, k: int = 3, allowed: Ids | None = None) -> list[int]:
        """By a searcher that was opened anew; the one at hand must say the same."""
        assert self.searcher is not None
        fresh = self.index.open(str(self.revision)).search(vector, k, allowed)[0].tolist()
        assert self.searcher.search(vector, k, allowed)[0].tolist() == fresh
        return [int(each) for each in fresh]


@pytest.fixture(params=["faiss", "pgvector"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    if request.param == "faiss":
        store = Store(f"sqlite:///{tmp_path / 'x.db'}")
        yield Kept(FaissIndex(tmp_path / "library"), store)
    else:
        url = request.getfixturevalue("postgres")
        store = Store(url)
        made = chosen(settings.load_settings(_env_file=None, data_dir=tmp_path), store)
        assert isinstance(made, PgVector)
        yield Kept(made, store)
    store.close()


def test_the_nearest_come_first_with_their_cosines(kept: Kept) -> None:
    vectors = unit(50, 1)
    kept.replace(np.arange(100, 150), vectors)
    wanted = np.argsort(-(vectors @ vectors[7]))[:5]
    assert kept.found(vectors[7], 5) == (wanted + 100).tolist()
    assert kept.searcher is not None
    cosines = kept.searcher.search(vectors[7], 5, None)[1]
    assert cosines == pytest.approx(vectors[wanted] @ vectors[7], abs=2e-3)


def test_only_allowed_ones_are_found(kept: Kept) -> None:
    vectors = unit(50, 2)
    kept.replace(np.arange(50), vectors)
    allowed = ids(3, 30, 31)
    assert sorted(kept.found(vectors[7], 10, allowed)) == [3, 30, 31]
    assert kept.found(vectors[7], 10, ids()) == []


def test_a_change_adds_and_removes(kept: Kept) -> None:
    vectors = unit(30, 3)
    kept.replace(np.arange(20), vectors[:20])
    assert kept.change(ids(5, 6), ids(25), vectors[25:26])
    assert 5 not in kept.found(vectors[5], 20)
    assert kept.found(vectors[25], 1) == [25]


def test_a_changed_vector_takes_the_place_of_the_old_one(kept: Kept) -> None:
    vectors = unit(10, 4)
    kept.replace(np.arange(5), vectors[:5])
    assert kept.change(ids(2), ids(2), vectors[9:10])
    assert kept.found(vectors[9], 1) == [2]
    assert len(kept.found(vectors[9], 10)) == 5


def test_replacing_forgets_what_was_there(kept: Kept) -> None:
    vectors = unit(10, 5)
    kept.replace(np.arange(5), vectors[:5])
    kept.replace(ids(8, 9), vectors[8:])
    assert sorted(kept.found(vectors[0], 10)) == [8, 9]


def test_an_empty_index_finds_nothing(kept: Kept) -> None:
    kept.replace(ids(), np.empty((0, 16), np.float32))
    assert kept.found(unit(1, 6)[0]) == []


def test_a_change_equals_a_rebuild(kept: Kept) -> None:
    vectors, random = unit(40, 7), np.random.default_rng(7)
    kept.replace(np.arange(10), vectors[:10])
    there = set(range(10))
    for step in range(10, 40, 3):
        gone = int(random.choice(sorted(there)))
        kept.change(ids(gone), np.arange(step, step + 3), vectors[step : step + 3])
        there = there - {gone} | {step, step + 1, step + 2}
    wanted = sorted(there, key=lambda each: -float(vectors[each] @ vectors[0]))
    assert kept.found(vectors[0], 40) == wanted


# --- FAISS only -----------------------------------------------------------------------------------


def test_above_a_size_lists_are_used_and_find_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IVF_FROM", 2000)
    centres = unit(60, 8, 32)
    noise = np.random.default_rng(8).normal(scale=0.08, size=(4000, 32)).astype(np.float32)
    vectors = np.repeat(centres, 4000 // 60 + 1, axis=0)[:4000] + noise
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lists = FaissSearcher(build_faiss_index(np.arange(4000), vectors))
    assert lists.index.nlist > 100
    hits = 0
    for at in range(0, 4000, 100):
        exact = set(np.argsort(-(vectors @ vectors[at]))[:10].tolist())
        hits += len(exact & set(lists.search(vectors[at], 10, None)[0].tolist()))
    assert hits / 400 >= 0.98
    allowed = np.arange(0, 4000, 7)
    assert set(lists.search(vectors[3], 10, allowed)[0].tolist()) <= set(allowed.tolist())


def test_lists_that_are_far_from_the_question_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IVF_FROM", 600)
    apart = np.repeat(np.eye(32, dtype=np.float32)[:20], 40, axis=0) + 0.01 * unit(800, 12, 32)
    lists = FaissSearcher(build_faiss_index(np.arange(800), apart / np.linalg.norm(apart, axis=1, keepdims=True)))
    assert set(lists.search(apart[0], 200, None)[0].tolist()) == set(range(40))
    together = np.ones(32, np.float32) + 0.5 * unit(800, 13, 32)
    together /= np.linalg.norm(together, axis=1, keepdims=True)
    lists = FaissSearcher(build_faiss_index(np.arange(800), together))
    assert len(lists.search(together[0], 800, None)[0]) > 300


def test_an_index_that_outgrew_its_kind_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IVF_FROM", 600)
    vectors = unit(900, 9)
    flat = FaissSearcher(build_faiss_index(np.arange(500), vectors[:500]))
    assert flat.copy_with_change(ids(), np.arange(500, 900), vectors[500:]) is None
    lists = FaissSearcher(build_faiss_index(np.arange(900), vectors))
    assert lists.copy_with_change(np.arange(400), ids(), vectors[:0]) is None
    assert lists.copy_with_change(ids(1, 2), ids(), vectors[:0]) is not None


def test_an_index_that_holds_the_wrong_vectors_is_not_published() -> None:
    flat = FaissSearcher(build_faiss_index(np.arange(5), unit(5, 10)))
    with pytest.raises(LibraryCorrupt):
        flat.copy_with_change(ids(99), ids(7), unit(1, 11))


def test_without_postgresql_the_index_is_faiss(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'x.db'}")
    assert isinstance(chosen(settings.load_settings(_env_file=None, data_dir=tmp_path), store), FaissIndex)
    store.close()


def test_pgvector_names_the_allowed_ones_only_where_the_nearest_are_not_enough(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pgvector, "FEW", 500)
    store, vectors, asked = Store(postgres), unit(3000, 14), list[str]()
    kept = Kept(chosen(settings.load_settings(_env_file=None, data_dir=tmp_path), store), store)
    kept.replace(np.arange(3000), vectors)
    event.listen(store.engine, "before_cursor_execute", lambda *about: asked.append(about[2]))
    nearest = np.argsort(-(vectors @ vectors[7]))
    near = np.sort(nearest[::2])
    found = kept.found(vectors[7], 10, near)
    assert (len(found), set(found) - set(nearest[:24:2].tolist())) == (10, set())
    assert not any("ANY" in each for each in asked), "no id is sent"
    far = np.sort(nearest[1500:])
    found = kept.found(vectors[7], 10, far)
    assert (len(found), set(found) - set(nearest[1500:1520].tolist())) == (10, set())
    assert any("ANY" in each for each in asked)
    store.close()


def test_a_whole_library_works_on_postgresql_from_two_machines(postgres: str, tmp_path: Path) -> None:
    with libraries(tmp_path) as opened:
        one, two = (opened(data=machine, database_url=postgres) for machine in ("one", "two"))
        one.add([("fruit.md", b"# Fruit\n\nPears are green.\n"), ("faq.md", "# 질문\n\n사과는 빨갛습니다.\n".encode())])
        assert two.search_all("pears green")[0].passage.text == "Pears are green."
        two.add([("fruit.md", b"# Fruit\n\nPears are yellow.\n")])
        assert one.search("pears")[0].passage.text == "Pears are yellow."
        one.remove(*(document.id for document in one.documents() if document.name == "fruit.md"))
        assert [hit.passage.name for hit in two.search("pears")] == ["faq.md"]
        assert two.rebuild()
        assert one.search("사과")[0].passage.doc_type == "faq"
        attach(one, "a", ("plums.md", b"# Fruit\n\nPlums are blue.\n"))
        asked = {session: finds(two, session, "session", question="plums blue") for session in ("a", "b")}
        assert asked == {"a": ["Plums are blue."], "b": []}
