"""The library's rows: documents, passages, vectors and the revision (tables: ``store.database.library_table``)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, delete, exists, func, insert, select, update

from errors import PassageUnknown
from model.embedding import Vectors
from retrieval.document import Collection, DocType, Document, Passage, SearchScope, Section
from retrieval.read.split import Piece
from store import Store
from store.database import library_table as table
from store.database import schema
from text.digest import hash_text
from text.language import detect_language

_MANY = 500
"""The most values in one «in» list."""
_BETWEEN = "\n\n"
"""The text between the passages of a section."""
_ANY = select(exists(select(table.passage.c.id)))


@dataclass(frozen=True, slots=True)
class RevisionState:
    """The current revision of the index. ``revision`` 0: nothing was published yet."""

    revision: int = 0
    next_id: int = 1
    model: str = ""
    dimension: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """A passage as the index knows it: its document, the hash of the text that its vector was made from, and the values
    that filters use."""

    id: int
    document_id: int
    hash: str
    doc_type: str
    language: str
    has_steps: bool
    collection: str


@dataclass(frozen=True, slots=True)
class KnownFile:
    """The stored facts about a file that is in the library. ``hash``: of its bytes, when it was last read;
    ``has_sheets``: whether it has tables to calculate with."""

    id: int
    name: str
    hash: str
    asked_type: DocType | None
    state: str
    collection: Collection
    has_sheets: bool


def embedded_text(title: str, path: Sequence[str], text: str) -> str:
    """Returns the text that is embedded and searched: the passage under its title and headings."""
    heading = " › ".join(dict.fromkeys(part for part in (title, *path) if part))
    return f"{heading}\n{text}" if heading else text


class LibraryRows:
    """Read and write access to the library's tables. Methods that take a connection are parts of a larger
    transaction."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # --- state ----------------------------------------------------------------------------------

    def state(self) -> RevisionState:
        columns = (table.state.c.revision, table.state.c.next_id, table.state.c.model, table.state.c.dimension)
        with self._store.transaction() as connection:
            row = connection.execute(select(*columns)).one_or_none()
        return RevisionState(*row) if row else RevisionState()

    @staticmethod
    def set_state(connection: Connection, old: RevisionState, new: RevisionState) -> None:
        values = {"revision": new.revision, "next_id": new.next_id, "model": new.model, "dimension": new.dimension}
        if old.revision or connection.execute(select(func.count()).select_from(table.state)).scalar():
            connection.execute(update(table.state).values(**values))
        else:
            connection.execute(insert(table.state), {"id": 1, **values})

    # --- documents ------------------------------------------------------------------------------

    def documents(self, ids: Sequence[int] | None = None) -> list[Document]:
        """Returns all documents outside conversations, by name, or those of these ids that exist, in any order."""
        c = table.document.c
        query = select(table.document).order_by(c.name, c.id)
        shared = query.where(c.collection != "session")
        parts = [shared] if ids is None else [query.where(condition) for condition in _build_in_conditions(c.id, ids)]
        with self._store.transaction() as connection:
            return [_build_document(row) for part in parts for row in connection.execute(part)]

    @staticmethod
    def set_type(connection: Connection, document: int, doc_type: DocType) -> None:
        condition = table.document.c.id == document
        connection.execute(update(table.document).where(condition).values(doc_type=doc_type, asked_type=doc_type))
        condition = table.passage.c.document_id == document
        connection.execute(update(table.passage).where(condition).values(doc_type=doc_type))

    def set_source(self, document: int, source: str) -> None:
        condition = table.document.c.id == document
        with self._store.transaction() as connection:
            connection.execute(update(table.document).where(condition).values(source=source, key=hash_text(source)))

    def find_known_files(self, keys: Sequence[str]) -> dict[str, KnownFile]:
        """Returns the stored facts about these documents by key."""
        c, by_key = table.document.c, dict[str, KnownFile]()
        has_sheets = exists().where(table.sheet.c.document_id == c.id)
        query = select(c.key, c.id, c.name, c.hash, c.asked_type, c.state, c.collection, has_sheets)
        with self._store.transaction() as connection:
            for condition in _build_in_conditions(c.key, keys):
                by_key |= {key: KnownFile(*values) for key, *values in connection.execute(query.where(condition))}
        return by_key

    @staticmethod
    def put_document(connection: Connection, values: dict[str, Any]) -> None:
        """Inserts the document, or replaces the row of the same id."""
        connection.execute(delete(table.document).where(table.document.c.id == values["id"]))
        connection.execute(insert(table.document), values)

    @staticmethod
    def drop_documents(connection: Connection, ids: Sequence[int]) -> None:
        for condition in _build_in_conditions(table.document.c.id, ids):
            connection.execute(delete(table.document).where(condition))

    # --- passages -------------------------------------------------------------------------------

    def slots(self) -> list[Slot]:
        """Returns every passage by rising id."""
        c, d = table.passage.c, table.document.c
        query = select(c.id, c.document_id, c.hash, c.doc_type, c.language, c.has_steps, d.collection)
        query = query.join(table.document, d.id == c.document_id).order_by(c.id)
        with self._store.transaction() as connection:
            return [Slot(*row) for row in connection.execute(query)]

    def has_passages(self, scope: SearchScope | None = None) -> bool:
        """Returns whether there is any passage, or any passage of a scope; takes the same time for a million passages
        as for one."""
        query = _ANY
        if scope is not None:
            d = table.document.c
            shared = d.collection.in_([collection for collection in scope.collections if collection != "session"])
            query = select(exists(select(d.id).where(d.passages > 0, shared | d.id.in_(attached_documents(scope)))))
        with self._store.transaction() as connection:
            return bool(connection.execute(query).scalar())

    def list_attached_ids(self, scope: SearchScope) -> list[int]:
        """Returns the ids of the documents that are files of the scope's conversation."""
        if not scope.session or "session" not in scope.collections:
            return []
        with self._store.transaction() as connection:
            return [row.id for row in connection.execute(attached_documents(scope))]

    def orphans(self) -> list[int]:
        """Returns the ids of conversations' documents that no conversation uses any more."""
        d, used_keys = table.document.c, select(schema.attachment.c.key)
        query = select(d.id).where(d.collection == "session", d.key.not_in(used_keys))
        with self._store.transaction() as connection:
            return list(connection.execute(query).scalars())

    @staticmethod
    def set_collection(connection: Connection, document: int, collection: Collection) -> None:
        condition = table.document.c.id == document
        connection.execute(update(table.document).where(condition).values(collection=collection))

    def texts(self, hashes: Sequence[str] | None = None) -> dict[str, str]:
        """Returns the embedded text of every passage by hash, or of the passages with these hashes."""
        p, d = table.passage.c, table.document.c
        query = select(p.hash, p.path, p.text, d.title).join(table.document, d.id == p.document_id)
        parts = (
            [query]
            if hashes is None
            else [query.where(condition) for condition in _build_in_conditions(p.hash, hashes)]
        )
        with self._store.transaction() as connection:
            rows = (row for part in parts for row in connection.execute(part))
            return {row.hash: embedded_text(row.title, row.path, row.text) for row in rows}

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """Returns the passages of these ids that exist, by id."""
        return {passage.id: passage for passage in self._passages(_build_in_conditions(table.passage.c.id, list(ids)))}

    def section(self, section_id: str) -> Section:
        """Returns a whole section. Raises ``PassageUnknown``."""
        document, _, number = section_id.partition(":")
        if not (document.isdecimal() and number.isdecimal() and len(section_id) < 20):
            raise PassageUnknown(passage=section_id)
        c = table.passage.c
        passages = self._passages([(c.document_id == int(document)) & (c.section == int(number))])
        if not passages:
            raise PassageUnknown(passage=section_id)
        first, text = passages[0], _BETWEEN.join(passage.text for passage in passages)
        ids = tuple(passage.id for passage in passages)
        starts = tuple(accumulate((len(passage.text) + len(_BETWEEN) for passage in passages[:-1]), initial=0))
        return Section(section_id, first.document_id, first.name, first.title, first.path, text, ids, starts)

    def sections(self, document: int) -> dict[str, tuple[str, ...]]:
        """Returns the headings above each section of a document by section id, in reading order."""
        c = table.passage.c
        query = select(c.section, c.path).where(c.document_id == document, c.number == 0).order_by(c.section)
        with self._store.transaction() as connection:
            return {f"{document}:{row.section}": tuple(row.path) for row in connection.execute(query)}

    def _passages(self, wheres: Iterable[ColumnElement[bool]]) -> list[Passage]:
        d, passages = table.document.c, list[Passage]()
        with self._store.transaction() as connection:
            for where in wheres:
                rows = select(table.passage, d.name, d.title, d.collection).join(
                    table.document, d.id == table.passage.c.document_id
                )
                order = (table.passage.c.section, table.passage.c.number)
                passages += [_build_passage(row) for row in connection.execute(rows.where(where).order_by(*order))]
        return passages

    @staticmethod
    def of_document(connection: Connection, ids: Sequence[int]) -> list[tuple[int, int, str]]:
        """Returns id, document and hash of the passages of these documents."""
        c, passages = table.passage.c, list[tuple[int, int, str]]()
        for condition in _build_in_conditions(c.document_id, ids):
            rows = connection.execute(select(c.id, c.document_id, c.hash).where(condition))
            passages += [(row.id, row.document_id, row.hash) for row in rows]
        return passages

    @staticmethod
    def drop_passages(connection: Connection, documents: Sequence[int]) -> None:
        for condition in _build_in_conditions(table.passage.c.document_id, documents):
            connection.execute(delete(table.passage).where(condition))

    @staticmethod
    def put_passages(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            connection.execute(insert(table.passage), list(rows))

    # --- vectors --------------------------------------------------------------------------------

    def missing(self, hashes: Sequence[str], model: str) -> set[str]:
        """Returns the hashes that have no vector of this model yet."""
        stored, c = set[str](), table.vector.c
        with self._store.transaction() as connection:
            for condition in _build_in_conditions(c.hash, hashes):
                stored |= set(connection.execute(select(c.hash).where(condition, c.model == model)).scalars())
        return set(hashes) - stored

    def keep_vectors(self, hashes: Sequence[str], vectors: Vectors, model: str) -> None:
        """Stores vectors as soon as they are computed, so that a run that was cut off resumes there."""
        now, c = time.time(), table.vector.c
        rows = [
            {"hash": hash_, "model": model, "value": vector.astype(np.float16).tobytes(), "used": now}
            for hash_, vector in zip(hashes, vectors, strict=True)
        ]
        with self._store.transaction() as connection:
            for condition in _build_in_conditions(c.hash, hashes):
                connection.execute(delete(table.vector).where(condition, c.model == model))
            connection.execute(insert(table.vector), rows)

    def vectors(self, hashes: Sequence[str], model: str, dimension: int) -> Vectors:
        """Returns a row for each hash. Raises ``KeyError`` for a hash that has no vector."""
        c, unique, values = table.vector.c, list(dict.fromkeys(hashes)), dict[str, bytes]()
        with self._store.transaction() as connection:
            for condition in _build_in_conditions(c.hash, unique):
                rows = connection.execute(select(c.hash, c.value).where(condition, c.model == model))
                values |= {row.hash: row.value for row in rows}
        matrix = np.empty((len(hashes), dimension), np.float32)
        for position, hash_ in enumerate(hashes):
            matrix[position] = np.frombuffer(values[hash_], np.float16)
        return matrix

    def drop_vectors(self, before: float) -> None:
        """Removes vectors that no passage uses and that were stored before ``before`` (Unix seconds)."""
        used = select(table.passage.c.hash)
        with self._store.transaction() as connection:
            connection.execute(
                delete(table.vector).where(table.vector.c.used < before, table.vector.c.hash.not_in(used))
            )

    def list_embedded_hashes(self, documents: Sequence[int]) -> list[str]:
        """Returns the hashes of all embedded texts of these documents: the passages, and the headings above them."""
        passages = self._passages(_build_in_conditions(table.passage.c.document_id, documents))
        passage_texts = {embedded_text(passage.title, passage.path, passage.text) for passage in passages}
        heading_texts = {embedded_text(passage.title, passage.path, "").strip() for passage in passages}
        return [hash_text(text) for text in passage_texts | heading_texts]

    def forget_vectors(self, hashes: Sequence[str]) -> None:
        """Removes the vectors of these hashes that no passage uses."""
        used = select(table.passage.c.hash)
        with self._store.transaction() as connection:
            for condition in _build_in_conditions(table.vector.c.hash, hashes):
                connection.execute(delete(table.vector).where(condition, table.vector.c.hash.not_in(used)))


def attached_documents(scope: SearchScope) -> Select[tuple[int]]:
    """Selects the ids of the files of the scope's conversation."""
    link, d = schema.attachment.c, table.document.c
    session = scope.session if "session" in scope.collections else ""
    return select(d.id).join(schema.attachment, link.key == d.key).where(link.session_id == session)


def passage_row(id_: int, document: int, title: str, doc_type: str, piece: Piece) -> dict[str, Any]:
    """Returns a passage as a row of its table."""
    return {
        "id": id_,
        "document_id": document,
        "section": piece.section,
        "number": piece.number,
        "path": list(piece.path),
        "text": piece.text,
        "hash": hash_text(embedded_text(title, piece.path, piece.text)),
        "doc_type": doc_type,
        "language": detect_language(f"{' '.join(piece.path)} {piece.text}"),
        "has_steps": piece.has_steps,
    }


def _build_document(row: Any) -> Document:
    values = {name: getattr(row, name) for name in Document.__dataclass_fields__}
    return Document(**values)


def _build_passage(row: Any) -> Passage:
    values = {name: getattr(row, name) for name in Passage.__dataclass_fields__}
    return Passage(**{**values, "path": tuple(row.path)})


def _build_in_conditions(column: Any, values: Sequence[Any]) -> Iterator[ColumnElement[bool]]:
    """Yields conditions that together mean «is one of these values»."""
    for start in range(0, len(values), _MANY):
        yield column.in_(values[start : start + _MANY])
