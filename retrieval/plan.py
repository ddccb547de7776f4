"""What a change does to the library's rows, worked out before anything is written."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from retrieval.change import Staged
from retrieval.document import DocType
from retrieval.row import Rows, Slot, embedded_text, passage_row
from store import Store


class Plan:
    """What a change does to the rows, worked out before it is done. A passage that did not change keeps its id."""

    def __init__(
        self,
        rows: Rows,
        store: Store,
        slots: Sequence[Slot],
        next_id: int,
        *,
        staged: Sequence[Staged] = (),
        removed: Sequence[int] = (),
        retyped: Mapping[int, DocType] | None = None,
    ) -> None:
        """``slots``, ``next_id``: as they are before; ``retyped``: the new type of documents."""
        self.next_id = next_id
        self.texts: dict[str, str] = {}
        self._documents: list[dict[str, Any]] = []
        self._rows: list[dict[str, Any]] = []
        self._retyped = dict(retyped or {})
        latest = {each.source.key: each for each in staged}  # the same file twice: the later one
        known = rows.known(list(latest))
        old = [known[key].id for key in latest if key in known]
        self._replaced = [*old, *removed]
        with store.transaction() as connection:
            before = rows.of_document(connection, self._replaced)
        for each in latest.values():
            mine = known[each.source.key].id if each.source.key in known else None
            self._add(each, mine, [(id_, hash_) for id_, document, hash_ in before if document == mine])
        kept = {row["id"] for row in self._rows}
        self.gone = [id_ for id_, _, _ in before if id_ not in kept]
        new_ids = kept - {id_ for id_, _, _ in before}
        mine_now = [_slot(row) for row in self._rows]
        self.new = sorted((slot for slot in mine_now if slot.id in new_ids), key=lambda slot: slot.id)
        replaced = frozenset(self._replaced)
        others = [self._typed(slot) for slot in slots if slot.document_id not in replaced]
        self.slots = sorted([*others, *mine_now], key=lambda slot: slot.id)

    def _add(self, staged: Staged, document: int | None, before: list[tuple[int, str]]) -> None:
        free: dict[str, list[int]] = {}
        for id_, hash_ in before:
            free.setdefault(hash_, []).append(id_)
        document = self._take() if document is None else document
        for piece in staged.pieces:
            row = passage_row(0, document, staged.title, staged.doc_type, piece)
            same = free.get(row["hash"])
            row["id"] = same.pop(0) if same else self._take()
            self.texts[row["hash"]] = embedded_text(staged.title, piece.path, piece.text)
            self._rows.append(row)
        self._documents.append(_document_row(document, staged))

    def _typed(self, slot: Slot) -> Slot:
        type_ = self._retyped.get(slot.document_id)
        return slot if type_ is None else replace(slot, doc_type=type_)

    def _take(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def commit(self, connection: Connection) -> None:
        Rows.drop_passages(connection, self._replaced)
        Rows.drop_documents(connection, self._replaced)
        for document in self._documents:
            Rows.put_document(connection, document)
        for id_, doc_type in self._retyped.items():
            Rows.set_type(connection, id_, doc_type)
        Rows.put_passages(connection, self._rows)


def _slot(row: dict[str, Any]) -> Slot:
    return Slot(*(row[name] for name in Slot.__dataclass_fields__))


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
    }
