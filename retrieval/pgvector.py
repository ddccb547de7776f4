"""The index on PostgreSQL with pgvector, for more than one machine.

Vectors of 16 bits in one table, changed in the same transaction as the rows; HNSW makes it quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from errors import BadSetting
from retrieval.embed import Vectors
from retrieval.index import FaissIndex, Found, Ids, Index, Prepared, Searcher
from settings import Settings
from store import Store
from store.database import alone

TABLE = "retrieval_embedding"
WIDE = 1000
"""How many HNSW finds at most (its ``ef_search``)."""
FEW = 10_000
"""So many are compared one by one in the time that HNSW takes: 10 ms of 384 dimensions."""
_MANY = 500


def index(settings: Settings, store: Store) -> Index:
    """The index that the settings choose. Raises ``BadSetting`` for a pgvector that is not there."""
    engine: Engine = store.engine
    wanted = settings.retrieval_index
    if wanted != "faiss" and engine.dialect.name == "postgresql" and _installed(engine):
        return PgVector(store)
    if wanted == "pgvector":
        reason = "DATABASE_URL is no PostgreSQL with the extension pgvector"
        raise BadSetting(name="GIEOK_RETRIEVAL_INDEX", value=wanted, reason=reason, reason_code="no_pgvector")
    return FaissIndex(settings.data_dir / "library")


def _installed(engine: Engine) -> bool:
    """Makes the extension where it can be made."""
    try:
        with alone(engine), engine.begin() as connection:
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    except DBAPIError:
        return False
    return True


class PgVector:
    """Vectors in a table of the store's database; every revision is the same table."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, revision: str) -> Searcher:
        with self._store.transaction() as connection:
            if connection.execute(text("SELECT to_regclass(:name)"), {"name": TABLE}).scalar() is None:
                raise FileNotFoundError(TABLE)
        return _PgSearcher(self._store)

    def change(self, old: Searcher, revision: str, removed: Ids, ids: Ids, vectors: Vectors) -> Prepared | None:
        def commit(connection: Connection) -> None:
            for start in range(0, len(removed), _MANY):
                gone = [int(each) for each in removed[start : start + _MANY]]
                connection.execute(text(f"DELETE FROM {TABLE} WHERE id = ANY(:ids)"), {"ids": gone})
            _insert(connection, ids, vectors)

        return Prepared(old, commit)

    def replace(self, revision: str, ids: Ids, vectors: Vectors) -> Prepared:
        def commit(connection: Connection) -> None:
            dimension = int(vectors.shape[1])
            connection.execute(text(f"DROP TABLE IF EXISTS {TABLE}"))
            made = f"CREATE TABLE {TABLE} (id integer PRIMARY KEY, value halfvec({dimension}) NOT NULL)"
            connection.execute(text(made))
            _insert(connection, ids, vectors)
            connection.execute(text(f"CREATE INDEX ON {TABLE} USING hnsw (value halfvec_ip_ops)"))

        return Prepared(_PgSearcher(self._store), commit)

    def prune(self, revision: str) -> None:
        """Nothing is left over."""


@dataclass(frozen=True)
class _PgSearcher:
    store: Store

    def search(self, vector: Vectors, k: int, allowed: Ids | None) -> Found:
        """As ``Searcher``. HNSW knows no filters: of its nearest ``WIDE`` the allowed ones are taken. Where those are
        too few, or ``FEW`` are allowed at all, all allowed ones are compared."""
        if allowed is None:
            return self._nearest(vector, k, None)
        if len(allowed) > FEW:
            ids, cosines = self._nearest(vector, WIDE, None)
            mine = np.isin(ids, allowed)
            if mine.sum() >= k:
                return ids[mine][:k], cosines[mine][:k]
        return self._nearest(vector, k, [int(each) for each in allowed])

    def _nearest(self, vector: Vectors, k: int, among: list[int] | None) -> Found:
        """By HNSW, or exactly when they are named."""
        where = "" if among is None else "WHERE id = ANY(:ids)"
        order = "value <#> CAST(:vector AS halfvec)"
        wanted = text(f"SELECT id, -({order}) AS cosine FROM {TABLE} {where} ORDER BY {order}, id LIMIT :k")
        values: dict[str, Any] = {"vector": _literal(vector), "k": k, **({} if among is None else {"ids": among})}
        with self.store.transaction() as connection:
            width = {"width": str(min(max(2 * k, 40), WIDE))}
            connection.execute(text("SELECT set_config('hnsw.ef_search', :width, true)"), width)
            if among is not None:
                connection.execute(text("SET LOCAL enable_indexscan = off"))
            found = connection.execute(wanted, values).all()
        return np.asarray([row.id for row in found], np.int64), np.asarray([row.cosine for row in found], np.float32)


def _insert(connection: Connection, ids: Ids, vectors: Vectors) -> None:
    rows = [{"id": int(id_), "value": _literal(vector)} for id_, vector in zip(ids, vectors, strict=True)]
    if rows:
        connection.execute(text(f"INSERT INTO {TABLE} (id, value) VALUES (:id, CAST(:value AS halfvec))"), rows)


def _literal(vector: Vectors) -> str:
    return "[" + ",".join(f"{value:.6g}" for value in vector.tolist()) + "]"
