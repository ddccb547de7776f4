"""The marks by which servers recognise the pages in the library, so that only changed pages are sent again."""

from __future__ import annotations

from sqlalchemy import delete, insert, select

from retrieval.read.web import Mark
from store import Store
from store.database import library_table as table
from text.digest import hash_text


class PageMarks:
    """Marks of pages by address. A mark counts only for the content that the library has, because it may be stored
    before that content is published."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, address: str) -> Mark | None:
        """Returns the mark of the page as the library has it; None when it has none, or the page could not be read."""
        page, document = table.page.c, table.document.c
        same = (document.key == page.key) & (document.hash == page.hash) & (document.state == "ready")
        query = select(page.etag, page.modified).join(table.document, same).where(page.key == hash_text(address))
        with self._store.transaction() as connection:
            row = connection.execute(query).one_or_none()
        return Mark(row.etag, row.modified) if row else None

    def keep(self, address: str, mark: Mark, content: str) -> None:
        """Stores the mark of a page; ``content``: SHA-256 of its bytes."""
        values = {"key": hash_text(address), "etag": mark.etag, "modified": mark.modified, "hash": content}
        with self._store.transaction() as connection:
            connection.execute(delete(table.page).where(table.page.c.key == values["key"]))
            if mark.headers:
                connection.execute(insert(table.page), values)

    def sweep(self) -> None:
        """Removes the marks of pages that are no longer in the library."""
        with self._store.transaction() as connection:
            connection.execute(delete(table.page).where(table.page.c.key.not_in(select(table.document.c.key))))
