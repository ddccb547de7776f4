"""Keys of the OpenAI-compatible endpoint: who may use it, and as which user.

A key is shown once, when it is created. The table holds only its hash, because whoever reads the database must not be
able to use the endpoint. A key has 256 random bits, so a plain SHA-256 is enough: there is nothing to guess.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from errors import BadUserName
from store.database import schema
from text.digest import hash_text
from text.user_name import user_name

PREFIX = "gk-"
_TABLE = schema.api_key
_LOOKED_UP = select(_TABLE).where(_TABLE.c.id.in_((bindparam("key"), select(func.min(_TABLE.c.id)).scalar_subquery())))
"""The key, and some key: without a row nobody needs one."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. ``id``: the public part of the key. ``user``: whose conversations it opens.
    ``documents``: whether answers may come from documents. ``memory``: whether its conversations share the user's
    memory (else each is kept apart). ``created``, ``revoked``: Unix seconds; None: not revoked.
    """

    id: str
    name: str
    user: str
    documents: bool
    memory: bool
    created: float
    revoked: float | None


class ApiKeys:
    """The keys of the installation; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def add(self, name: str, user: str, documents: bool = True, memory: bool = True) -> str:
        """Creates a key for a user and returns it: ``gk-ID-SECRET``. Nothing can show it again.

        Raises ``BadUserName``.
        """
        names = {"name": user_name(name), "user": user_name(user)}
        for written, usable in zip((name, user), names.values(), strict=True):
            if not usable:
                raise BadUserName(name=written)
        key_id, secret = secrets.token_hex(5), secrets.token_urlsafe(32)
        row = {"id": key_id, **names, "documents": documents, "memory": memory, "digest": hash_text(secret)}
        with self._transaction() as connection:
            connection.execute(insert(_TABLE), {**row, "created": time.time(), "revoked": None})
        return f"{PREFIX}{key_id}-{secret}"

    def all(self) -> list[ApiKey]:
        """Returns all keys, also revoked ones, the oldest first."""
        with self._transaction() as connection:
            return [
                _build_api_key(row)
                for row in connection.execute(select(_TABLE).order_by(_TABLE.c.created, _TABLE.c.id))
            ]

    def any(self) -> bool:
        """Returns whether a key was ever created, so that the endpoint asks for one."""
        with self._transaction() as connection:
            return bool(connection.execute(select(func.count()).select_from(_TABLE)).scalar())

    def revoke(self, key_id: str) -> bool:
        """Takes a key back; returns False when there is no such key, or it was revoked before."""
        change = update(_TABLE).where(_TABLE.c.id == key_id, _TABLE.c.revoked.is_(None)).values(revoked=time.time())
        with self._transaction() as connection:
            return connection.execute(change).rowcount > 0

    def of(self, key: str) -> ApiKey | None:
        """Returns the key with this secret; None for a wrong, revoked or unknown one. Compares in constant time."""
        return self.look_up(key)[0]

    def look_up(self, key: str) -> tuple[ApiKey | None, bool]:
        """Returns the key with this secret, as ``of`` does, and whether a key was ever created, as ``any`` does."""
        key_id, _, secret = key.removeprefix(PREFIX).partition("-")
        with self._transaction() as connection:
            rows = connection.execute(_LOOKED_UP, {"key": key_id}).all()
        return self._match(next((row for row in rows if row.id == key_id), None), secret), bool(rows)

    @staticmethod
    def _match(row: Any, secret: str) -> ApiKey | None:
        same = hmac.compare_digest(row.digest if row is not None else hash_text(""), hash_text(secret))
        return _build_api_key(row) if row is not None and same and row.revoked is None else None


def _build_api_key(row: object) -> ApiKey:
    return ApiKey(**{name: getattr(row, name) for name in ApiKey.__slots__})
