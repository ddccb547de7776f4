"""The plan of a change: which rows of the library to write, worked out before anything is written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from retrieval.change import LibraryChange, Staged
from retrieval.index.row import LibraryRows, Slot, embedded_text, passage_row
from retrieval.index.sheet import build_sheet_rows, drop_sheets, put_sheets
from store import Store


class LibraryPlan:
    """The row changes of one publication, worked out before they are written. An unchanged passage keeps its id."""

    def __init__(
        self,
        rows: LibraryRows,
        store: Store,
        slots: Sequence[Slot],
        next_id: int,
        change: LibraryChange,
    ) -> None:
        """``slots``, ``next_id``: of the revision before the change."""
        self.next_id = next_id
        self.texts: dict[str, str] = {}
        self._documents: list[dict[str, Any]] = []
        self._rows: list[dict[str, Any]] = []
        self._collections: dict[int, str] = {}
        self._sheets: list[dict[str, Any]] = []
        self._retyped, self._moved = change.retyped, change.moved
        newest = {file.source.key: file for file in change.staged}  # a file given twice counts once: the later one
        known = rows.find_known_files(list(newest))
        old_ids = [known[key].id for key in newest if key in known]
        self._replaced = [*old_ids, *change.removed]
        with store.transaction() as connection:
            old_passages = rows.of_document(connection, self._replaced)
        for file in newest.values():
            document_id = known[file.source.key].id if file.source.key in known else None
            self._add(
                file, document_id, [(id_, hash_) for id_, document, hash_ in old_passages if document == document_id]
            )
        row_ids = {row["id"] for row in self._rows}
        self.gone = [id_ for id_, _, _ in old_passages if id_ not in row_ids]
        new_ids = row_ids - {id_ for id_, _, _ in old_passages}
        new_slots = [self._slot(row) for row in self._rows]
        self.new = sorted((slot for slot in new_slots if slot.id in new_ids), key=lambda slot: slot.id)
        replaced = frozenset(self._replaced)
        other_slots = [self._change_slot(slot) for slot in slots if slot.document_id not in replaced]
        self.slots = sorted([*other_slots, *new_slots], key=lambda slot: slot.id)

    def _add(self, staged: Staged, document: int | None, before: list[tuple[int, str]]) -> None:
        free_ids: dict[str, list[int]] = {}
        for id_, hash_ in before:
            free_ids.setdefault(hash_, []).append(id_)
        document = self._take() if document is None else document
        self._collections[document] = staged.source.collection
        self._sheets += build_sheet_rows(document, staged.sheets)
        for piece in staged.pieces:
            row = passage_row(0, document, staged.title, staged.doc_type, piece)
            same_ids = free_ids.get(row["hash"])
            row["id"] = same_ids.pop(0) if same_ids else self._take()
            self.texts[row["hash"]] = embedded_text(staged.title, piece.path, piece.text)
            self._rows.append(row)
        self._documents.append(_document_row(document, staged))

    def _change_slot(self, slot: Slot) -> Slot:
        document = slot.document_id
        if document not in self._retyped and document not in self._moved:
            return slot
        doc_type = self._retyped.get(document, slot.doc_type)
        return replace(slot, doc_type=doc_type, collection=self._moved.get(document, slot.collection))

    def _slot(self, row: dict[str, Any]) -> Slot:
        row = {**row, "collection": self._collections[row["document_id"]]}
        return Slot(*(row[name] for name in Slot.__dataclass_fields__))

    def _take(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def commit(self, connection: Connection) -> None:
        LibraryRows.drop_passages(connection, self._replaced)
        LibraryRows.drop_documents(connection, self._replaced)
        drop_sheets(connection, self._replaced)
        for document in self._documents:
            LibraryRows.put_document(connection, document)
        for id_, doc_type in self._retyped.items():
            LibraryRows.set_type(connection, id_, doc_type)
        for id_, collection in self._moved.items():
            LibraryRows.set_collection(connection, id_, collection)
        LibraryRows.put_passages(connection, self._rows)
        put_sheets(connection, self._sheets)


def _document_row(id_: int, staged: Staged) -> dict[str, Any]:
    return {
        "id": id_,
        "key": staged.source.key,
        "name": staged.source.name,
        "source": staged.source.source,
        "doc_type": staged.doc_type,
        "asked_type": staged.asked_type,
        "title": staged.title,
        "language": staged.language,
        "hash": staged.hash,
        "size": staged.size,
        "state": "failed" if staged.error else "ready",
        "error": staged.error,
        "sections": len({piece.section for piece in staged.pieces}),
        "passages": len(staged.pieces),
        "added": time.time(),
        "collection": staged.source.collection,
    }
