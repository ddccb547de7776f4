"""The index on PostgreSQL with pgvector, for more than one machine.

One table holds vectors of 16 bits and changes in the same transaction as the rows; an HNSW index makes the search fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from model.embedding import Vectors
from retrieval.index.vectors import FaissIndex, Found, Ids, Index, Prepared, Searcher
from settings import Settings
from store import Store
from store.database.engine import lock_schema

TABLE = "retrieval_embedding"
WIDE = 1000
"""The most vectors that HNSW finds (its ``ef_search``)."""
FEW = 10_000
"""Comparing this many vectors one by one takes as long as HNSW: 10 ms at 384 dimensions."""
_MANY = 500


def choose_vector_index(settings: Settings, store: Store) -> Index:
    """Returns pgvector on a PostgreSQL database that has the extension, else FAISS in the data folder."""
    engine: Engine = store.engine
    if engine.dialect.name == "postgresql" and _ensure_extension(engine):
        return PgVector(store)
    return FaissIndex(settings.data_dir / "library")


def _ensure_extension(engine: Engine) -> bool:
    """Creates the extension if the database allows it, and returns whether the extension is there."""
    try:
        with lock_schema(engine), engine.begin() as connection:
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    except DBAPIError:
        return False
    return True


class PgVector:
    """Vectors in a table of the store's database; all revisions share that table."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, revision: str) -> Searcher:
        with self._store.transaction() as connection:
            if connection.execute(text("SELECT to_regclass(:name)"), {"name": TABLE}).scalar() is None:
                raise FileNotFoundError(TABLE)
        return _PgSearcher(self._store)

    def change(
        self, old: Searcher, revision: str, removed: Ids, ids: Ids, vectors: Vectors, absent: int = 0
    ) -> Prepared | None:
        def commit(connection: Connection) -> None:
            for start in range(0, len(removed), _MANY):
                gone = [int(id_) for id_ in removed[start : start + _MANY]]
                connection.execute(text(f"DELETE FROM {TABLE} WHERE id = ANY(:ids)"), {"ids": gone})
            _insert_vectors(connection, ids, vectors)

        return Prepared(old, commit)

    def replace(self, revision: str, ids: Ids, vectors: Vectors) -> Prepared:
        def commit(connection: Connection) -> None:
            dimension = int(vectors.shape[1])
            connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))
            statement = f"CREATE TABLE {TABLE} (id integer PRIMARY KEY, value halfvec({dimension}) NOT NULL)"
            connection.execute(text(statement))
            _insert_vectors(connection, ids, vectors)
            connection.execute(text(f"CREATE INDEX ON {TABLE} USING hnsw (value halfvec_ip_ops)"))

        return Prepared(_PgSearcher(self._store), commit)

    def prune(self, revision: str) -> None:
        """Does nothing: no revision leaves anything behind."""


@dataclass(frozen=True)
class _PgSearcher:
    store: Store

    @property
    def count(self) -> int:
        with self.store.transaction() as connection:
            return int(connection.execute(text(f"SELECT count(*) FROM {TABLE}")).scalar() or 0)

    def search(self, vector: Vectors, k: int, allowed: Ids | None) -> Found:
        """Searches as ``Searcher`` says. HNSW cannot filter, so the allowed vectors among its nearest ``WIDE`` are
        taken. All allowed vectors are compared when those are fewer than ``k``, or when at most ``FEW`` ids are
        allowed."""
        if allowed is None:
            return self._nearest(vector, k, None)
        if len(allowed) > FEW:
            ids, cosines = self._nearest(vector, WIDE, None)
            matched = np.isin(ids, allowed)
            if matched.sum() >= k:
                return ids[matched][:k], cosines[matched][:k]
        return self._nearest(vector, k, [int(id_) for id_ in allowed])

    def _nearest(self, vector: Vectors, k: int, among: list[int] | None) -> Found:
        """Searches by HNSW, or exactly when ids are named."""
        where = "" if among is None else "WHERE id = ANY(:ids)"
        order = "value <#> CAST(:vector AS halfvec)"
        statement = text(f"SELECT id, -({order}) AS cosine FROM {TABLE} {where} ORDER BY {order}, id LIMIT :k")
        values: dict[str, Any] = {"vector": _format_vector(vector), "k": k, **({} if among is None else {"ids": among})}
        with self.store.transaction() as connection:
            width = {"width": str(min(max(2 * k, 40), WIDE))}
            connection.execute(text("SELECT set_config('hnsw.ef_search', :width, true)"), width)
            if among is not None:
                connection.execute(text("SET LOCAL enable_indexscan = off"))
            rows = connection.execute(statement, values).all()
        return np.asarray([row.id for row in rows], np.int64), np.asarray([row.cosine for row in rows], np.float32)


def _insert_vectors(connection: Connection, ids: Ids, vectors: Vectors) -> None:
    rows = [{"id": int(id_), "value": _format_vector(vector)} for id_, vector in zip(ids, vectors, strict=True)]
    if rows:
        connection.execute(text(f"INSERT INTO {TABLE} (id, value) VALUES (:id, CAST(:value AS halfvec))"), rows)


def _format_vector(vector: Vectors) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"
