"""The tables of documents as rows of the library (table: ``store.database.library_table.sheet``)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from retrieval.calculation.query import is_named
from retrieval.document import SearchScope
from retrieval.index.row import attached_documents
from retrieval.read.format.loaded import Sheet
from store import Store
from store.database import library_table as table


@dataclass(frozen=True, slots=True)
class KnownSheet:
    """A table of a document, without its rows. ``document``: the document's name; ``kinds``: of each column
    its type in SQL and an example; ``count``: of the rows."""

    document_id: int
    number: int
    document: str
    name: str
    columns: tuple[str, ...]
    kinds: tuple[tuple[str, str], ...]
    count: int

    @property
    def label(self) -> str:
        """Returns the place of the table for citations: «file › sheet»."""
        return " › ".join(filter(None, (self.document, self.name)))


def build_sheet_rows(document: int, sheets: Sequence[Sheet]) -> list[dict[str, Any]]:
    """Returns the tables of a document as rows of the library, with their cells packed."""
    return [
        {
            "document_id": document,
            "number": number,
            "name": sheet.name,
            "columns": sheet.columns,
            "kinds": sheet.kinds,
            "count": len(sheet.rows),
            "cells": _pack_sheet(sheet),
        }
        for number, sheet in enumerate(sheets)
    ]


def _pack_sheet(sheet: Sheet) -> bytes:
    cells = {"rows": sheet.rows, "numbers": sheet.numbers}
    return zlib.compress(json.dumps(cells, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def put_sheets(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Stores tables of ``build_sheet_rows``."""
    if rows:
        connection.execute(insert(table.sheet), list(rows))


def drop_sheets(connection: Connection, documents: Sequence[int]) -> None:
    """Removes the tables of documents."""
    for document in documents:
        connection.execute(delete(table.sheet).where(table.sheet.c.document_id == document))


def list_sheets(store: Store, scope: SearchScope, most: int) -> list[KnownSheet]:
    """Returns the newest tables of a scope's documents, those of the conversation first."""
    s, d = table.sheet.c, table.document.c
    shared = [collection for collection in scope.collections if collection != "session"]
    allowed = d.collection.in_(shared) | d.id.in_(attached_documents(scope))
    query = select(s.document_id, s.number, d.name.label("document"), s.name, s.columns, s.kinds, s.count)
    query = query.join(table.document, d.id == s.document_id).where(allowed)
    query = query.order_by((d.collection != "session"), d.added.desc(), s.number).limit(most)
    with store.transaction() as connection:
        rows = connection.execute(query).all()
    return [KnownSheet(*row[:4], tuple(row[4]), tuple(map(tuple, row[5])), row[6]) for row in rows]


def read_sheets(store: Store, known: Sequence[KnownSheet], sql: str) -> list[Sheet]:
    """Returns tables for a query, with the rows of those that it names; one whose document was removed meanwhile has
    none."""
    named, unpacked = [each for at, each in enumerate(known, 1) if is_named(sql, at)], dict[KnownSheet, Any]()
    with store.transaction() as connection:
        for each in named:
            key = (table.sheet.c.document_id == each.document_id) & (table.sheet.c.number == each.number)
            if packed := connection.execute(select(table.sheet.c.cells).where(key)).scalar():
                unpacked[each] = json.loads(zlib.decompress(packed))
    cells = [unpacked.get(each) or {"rows": (), "numbers": ()} for each in known]
    pairs = zip(known, cells, strict=True)
    return [Sheet.of(each.name, each.columns, found["rows"], found["numbers"], each.kinds) for each, found in pairs]
