"""System prompts as they were sent, each stored once under its mark. These texts hold no data of a user."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from store.database import schema
from text.digest import hash_text

_TABLE = schema.wording


def build_text_mark(text: str) -> str:
    """Returns the mark of a text: a digest that stands for the text in reports and beside questions. The text itself is
    stored elsewhere and can be erased there.
    """
    return hash_text(text)[:16]


class Wordings:
    """Texts by mark; ``transaction`` opens a database transaction. Thread-safe."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction
        self._kept: frozenset[str] = frozenset()

    def keep(self, mark: str, text: str) -> None:
        """Stores the text; a text that is already stored costs nothing."""
        if mark in self._kept:
            return
        with self._transaction() as connection:
            if not connection.execute(select(_TABLE.c.mark).where(_TABLE.c.mark == mark)).first():
                _add_wording(connection, mark, text)
        self._kept |= {mark}

    def text(self, mark: str) -> str | None:
        """Returns the text, or None when this installation never sent such a text."""
        with self._transaction() as connection:
            return connection.execute(select(_TABLE.c.text).where(_TABLE.c.mark == mark)).scalar_one_or_none()


def _add_wording(connection: Connection, mark: str, text: str) -> None:
    try:
        with connection.begin_nested():
            connection.execute(insert(_TABLE), {"mark": mark, "text": text})
    except IntegrityError:  # another process was first
        return
