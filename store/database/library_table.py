"""Tables of the library: documents, passages, vectors, the current index, and validators of web pages (design 7.1).

The rows are the source of truth: index files are rebuilt from them without embedding anything again.
``retrieval_state`` has one row. Its ``revision`` is the commit point of every change, because rows and the name of the
index files change together.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, Index, Integer, LargeBinary, String, Table

from store.database.schema import ExactText, PlainData, metadata

document = Table(
    "retrieval_document",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("key", String(64), nullable=False, unique=True),
    Column("name", ExactText, nullable=False),
    Column("source", ExactText, nullable=False),
    Column("doc_type", String(8), nullable=False),
    Column("asked_type", String(8)),
    Column("title", ExactText, nullable=False),
    Column("language", String(8), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("size", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("error", PlainData),
    Column("sections", Integer, nullable=False),
    Column("passages", Integer, nullable=False),
    Column("added", Float, nullable=False),
    Column("collection", String(16), nullable=False, server_default="mine"),
)
"""``collection``: see ``retrieval.document.Collection``. ``store.turn.attachment`` names the files of conversations."""

passage = Table(
    "retrieval_passage",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("document_id", Integer, nullable=False),
    Column("section", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("path", PlainData, nullable=False),
    Column("text", ExactText, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("doc_type", String(8), nullable=False),
    Column("language", String(8), nullable=False),
    Column("has_steps", Boolean, nullable=False),
    Index("retrieval_passage_by_document", "document_id", "section", "number"),
    Index("retrieval_passage_by_hash", "hash"),
)

vector = Table(
    "retrieval_vector",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("model", String(128), primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("used", Float, nullable=False),
)

sheet = Table(
    "retrieval_sheet",
    metadata,
    Column("document_id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", ExactText, nullable=False),
    Column("columns", PlainData, nullable=False),
    Column("kinds", PlainData, nullable=False),
    Column("count", Integer, nullable=False),
    Column("cells", LargeBinary, nullable=False),
)
"""Tables of documents that are tables, to calculate with. ``kinds``: of each column its type in SQL and an example;
``cells``: the rows and their numbers as packed JSON, ``count`` of them."""

state = Table(
    "retrieval_state",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("revision", Integer, nullable=False),
    Column("next_id", Integer, nullable=False),
    Column("model", String(128), nullable=False),
    Column("dimension", Integer, nullable=False),
)

page = Table(
    "retrieval_page",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("etag", ExactText, nullable=False),
    Column("modified", ExactText, nullable=False),
    Column("hash", String(64), nullable=False),
)
"""Validators that the server of a web page sent, to recognise the page later; ``key`` and ``hash`` are those of the
page's document.
"""

TABLES = [document, passage, vector, sheet, state, page]
