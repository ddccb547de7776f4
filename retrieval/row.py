"""The library's rows: documents, passages, vectors and the revision (tables: ``store.retrieval``)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, update

from errors import PassageUnknown
from retrieval.document import DocType, Document, Passage, Section
from retrieval.embed import Vectors
from retrieval.split import Piece
from store import Store
from store import retrieval as table
from text.language import detect

_MANY = 500
"""Values in one «in» list."""
_BETWEEN = "\n\n"
"""What joins the passages of a section."""
_ANY = select(exists(select(table.passage.c.id)))


@dataclass(frozen=True, slots=True)
class State:
    """Which index counts. ``revision`` 0: there is none yet."""

    revision: int = 0
    next_id: int = 1
    model: str = ""
    dimension: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """A passage as the index knows it: its place and what its vector was made from."""

    id: int
    document_id: int
    hash: str
    doc_type: str
    language: str
    has_steps: bool


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a file that is in the library. ``hash``: of its bytes, when it was last read."""

    id: int
    name: str
    hash: str
    asked_type: DocType | None
    state: str


def embedded_text(title: str, path: Sequence[str], text: str) -> str:
    """What is embedded and searched: the passage under its title and headings."""
    heading = " › ".join(dict.fromkeys(part for part in (title, *path) if part))
    return f"{heading}\n{text}" if heading else text


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Rows:
    """Reads and writes the library's tables. Methods that take a connection are parts of a larger transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # --- state ----------------------------------------------------------------------------------

    def state(self) -> State:
        columns = (table.state.c.revision, table.state.c.next_id, table.state.c.model, table.state.c.dimension)
        with self._store.transaction() as connection:
            row = connection.execute(select(*columns)).one_or_none()
        return State(*row) if row else State()

    @staticmethod
    def set_state(connection: Connection, old: State, new: State) -> None:
        values = {"revision": new.revision, "next_id": new.next_id, "model": new.model, "dimension": new.dimension}
        if old.revision or connection.execute(select(func.count()).select_from(table.state)).scalar():
            connection.execute(update(table.state).values(**values))
        else:
            connection.execute(insert(table.state), {"id": 1, **values})

    # --- documents ------------------------------------------------------------------------------

    def documents(self, ids: Sequence[int] | None = None) -> list[Document]:
        """All by name, or those of these ids that exist, in any order."""
        wanted = select(table.document).order_by(table.document.c.name, table.document.c.id)
        parts = [wanted] if ids is None else [wanted.where(some) for some in _in(table.document.c.id, ids)]
        with self._store.transaction() as connection:
            return [_document(row) for part in parts for row in connection.execute(part)]

    @staticmethod
    def set_type(connection: Connection, document: int, doc_type: DocType) -> None:
        of = table.document.c.id == document
        connection.execute(update(table.document).where(of).values(doc_type=doc_type, asked_type=doc_type))
        of = table.passage.c.document_id == document
        connection.execute(update(table.passage).where(of).values(doc_type=doc_type))

    def set_source(self, document: int, source: str) -> None:
        of = table.document.c.id == document
        with self._store.transaction() as connection:
            connection.execute(update(table.document).where(of).values(source=source, key=digest(source)))

    def known(self, keys: Sequence[str]) -> dict[str, Known]:
        """What is known of these documents, by their keys."""
        c, found = table.document.c, dict[str, Known]()
        wanted = select(c.key, c.id, c.name, c.hash, c.asked_type, c.state)
        with self._store.transaction() as connection:
            for some in _in(c.key, keys):
                found |= {key: Known(*values) for key, *values in connection.execute(wanted.where(some))}
        return found

    @staticmethod
    def put_document(connection: Connection, values: dict[str, Any]) -> None:
        """Inserts the document, or replaces the row of the same id."""
        connection.execute(delete(table.document).where(table.document.c.id == values["id"]))
        connection.execute(insert(table.document), values)

    @staticmethod
    def drop_documents(connection: Connection, ids: Sequence[int]) -> None:
        for some in _in(table.document.c.id, ids):
            connection.execute(delete(table.document).where(some))

    # --- passages -------------------------------------------------------------------------------

    def slots(self) -> list[Slot]:
        """Every passage by rising id."""
        c = table.passage.c
        wanted = select(c.id, c.document_id, c.hash, c.doc_type, c.language, c.has_steps).order_by(c.id)
        with self._store.transaction() as connection:
            return [Slot(*row) for row in connection.execute(wanted)]

    def any(self) -> bool:
        """Whether there is any passage; as quick for a million as for one."""
        with self._store.transaction() as connection:
            return bool(connection.execute(_ANY).scalar())

    def texts(self, hashes: Sequence[str] | None = None) -> dict[str, str]:
        """The embedded text of every passage by its hash, or of those of these hashes."""
        p, d = table.passage.c, table.document.c
        wanted = select(p.hash, p.path, p.text, d.title).join(table.document, d.id == p.document_id)
        parts = [wanted] if hashes is None else [wanted.where(some) for some in _in(p.hash, hashes)]
        with self._store.transaction() as connection:
            rows = (row for part in parts for row in connection.execute(part))
            return {row.hash: embedded_text(row.title, row.path, row.text) for row in rows}

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages that exist, by id."""
        return {passage.id: passage for passage in self._passages(_in(table.passage.c.id, list(ids)))}

    def section(self, section_id: str) -> Section:
        """A whole section, or ``PassageUnknown``."""
        document, _, number = section_id.partition(":")
        if not (document.isdecimal() and number.isdecimal() and len(section_id) < 20):
            raise PassageUnknown(passage=section_id)
        c = table.passage.c
        found = self._passages([(c.document_id == int(document)) & (c.section == int(number))])
        if not found:
            raise PassageUnknown(passage=section_id)
        first, text = found[0], _BETWEEN.join(each.text for each in found)
        ids = tuple(each.id for each in found)
        starts = tuple(accumulate((len(each.text) + len(_BETWEEN) for each in found[:-1]), initial=0))
        return Section(section_id, first.document_id, first.name, first.title, first.path, text, ids, starts)

    def _passages(self, wheres: Iterable[ColumnElement[bool]]) -> list[Passage]:
        d, made = table.document.c, list[Passage]()
        with self._store.transaction() as connection:
            for where in wheres:
                rows = select(table.passage, d.name, d.title).join(table.document, d.id == table.passage.c.document_id)
                order = (table.passage.c.section, table.passage.c.number)
                made += [_passage(row) for row in connection.execute(rows.where(where).order_by(*order))]
        return made

    @staticmethod
    def of_document(connection: Connection, ids: Sequence[int]) -> list[tuple[int, int, str]]:
        """Id, document and hash of the passages of these documents."""
        c, found = table.passage.c, list[tuple[int, int, str]]()
        for some in _in(c.document_id, ids):
            rows = connection.execute(select(c.id, c.document_id, c.hash).where(some))
            found += [(row.id, row.document_id, row.hash) for row in rows]
        return found

    @staticmethod
    def drop_passages(connection: Connection, documents: Sequence[int]) -> None:
        for some in _in(table.passage.c.document_id, documents):
            connection.execute(delete(table.passage).where(some))

    @staticmethod
    def put_passages(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            connection.execute(insert(table.passage), list(rows))

    # --- vectors --------------------------------------------------------------------------------

    def missing(self, hashes: Sequence[str], model: str) -> set[str]:
        """Which of these have no vector of this model yet."""
        have, c = set[str](), table.vector.c
        with self._store.transaction() as connection:
            for some in _in(c.hash, hashes):
                have |= set(connection.execute(select(c.hash).where(some, c.model == model)).scalars())
        return set(hashes) - have

    def keep_vectors(self, hashes: Sequence[str], vectors: Vectors, model: str) -> None:
        """Keeps vectors as they are made, so that a run that was cut off goes on from there."""
        now, c = time.time(), table.vector.c
        rows = [
            {"hash": each, "model": model, "value": vector.astype(np.float16).tobytes(), "used": now}
            for each, vector in zip(hashes, vectors, strict=True)
        ]
        with self._store.transaction() as connection:
            for some in _in(c.hash, hashes):
                connection.execute(delete(table.vector).where(some, c.model == model))
            connection.execute(insert(table.vector), rows)

    def vectors(self, hashes: Sequence[str], model: str, dimension: int) -> Vectors:
        """A row for each hash. Raises ``KeyError`` for one that has no vector."""
        c, unique, values = table.vector.c, list(dict.fromkeys(hashes)), dict[str, bytes]()
        with self._store.transaction() as connection:
            for some in _in(c.hash, unique):
                rows = connection.execute(select(c.hash, c.value).where(some, c.model == model))
                values |= {row.hash: row.value for row in rows}
        made = np.empty((len(hashes), dimension), np.float32)
        for at, each in enumerate(hashes):
            made[at] = np.frombuffer(values[each], np.float16)
        return made

    def drop_vectors(self, before: float) -> None:
        """Removes vectors that no passage uses and that were made before ``before`` (Unix seconds)."""
        used = select(table.passage.c.hash)
        with self._store.transaction() as connection:
            connection.execute(
                delete(table.vector).where(table.vector.c.used < before, table.vector.c.hash.not_in(used))
            )


def passage_row(id_: int, document: int, title: str, doc_type: str, piece: Piece) -> dict[str, Any]:
    """A passage as its table has it."""
    return {
        "id": id_,
        "document_id": document,
        "section": piece.section,
        "number": piece.number,
        "path": list(piece.path),
        "text": piece.text,
        "hash": digest(embedded_text(title, piece.path, piece.text)),
        "doc_type": doc_type,
        "language": detect(f"{' '.join(piece.path)} {piece.text}"),
        "has_steps": piece.has_steps,
    }


def _document(row: Any) -> Document:
    c = {name: getattr(row, name) for name in Document.__dataclass_fields__}
    return Document(**c)


def _passage(row: Any) -> Passage:
    values = {name: getattr(row, name) for name in Passage.__dataclass_fields__}
    return Passage(**{**values, "path": tuple(row.path)})


def _in(column: Any, values: Sequence[Any]) -> Iterator[ColumnElement[bool]]:
    """Conditions that together say «is one of these»."""
    for start in range(0, len(values), _MANY):
        yield column.in_(values[start : start + _MANY])
