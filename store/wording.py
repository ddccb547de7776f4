"""System prompts as they were sent, each kept once under its mark. They hold nothing of anybody's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from store import schema

_TABLE = schema.wording


class Wordings:
    """Texts by mark; ``transaction`` opens a database transaction. Thread-safe."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction
        self._kept: frozenset[str] = frozenset()

    def keep(self, mark: str, text: str) -> None:
        """Keeps the text; one that is kept already costs nothing."""
        if mark in self._kept:
            return
        with self._transaction() as connection:
            if not connection.execute(select(_TABLE.c.mark).where(_TABLE.c.mark == mark)).first():
                _add(connection, mark, text)
        self._kept |= {mark}

    def text(self, mark: str) -> str | None:
        """The text, or None when it was never sent from here."""
        with self._transaction() as connection:
            return connection.execute(select(_TABLE.c.text).where(_TABLE.c.mark == mark)).scalar_one_or_none()


def _add(connection: Connection, mark: str, text: str) -> None:
    try:
        with connection.begin_nested():
            connection.execute(insert(_TABLE), {"mark": mark, "text": text})
    except IntegrityError:  # another process was first
        return
