"""Secrets that all processes of an installation share: random text by a name, made when it is first asked for."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from errors import StoreUnavailable
from store.database import schema

_TABLE = schema.secret


class Secrets:
    """The secrets of the installation; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def of(self, name: str) -> str:
        """Returns the secret of this name: 256 random bits as text. Processes that ask at the same time get the same
        one."""
        known = self._load_secret(name)
        if known is None:
            try:
                with self._transaction() as connection:
                    connection.execute(insert(_TABLE), {"name": name, "value": secrets.token_hex(32)})
            except StoreUnavailable as error:
                if not isinstance(error.__cause__, IntegrityError):  # else another process was first
                    raise
            known = self._load_secret(name)
        assert known is not None
        return known

    def _load_secret(self, name: str) -> str | None:
        with self._transaction() as connection:
            return connection.execute(select(_TABLE.c.value).where(_TABLE.c.name == name)).scalar()
