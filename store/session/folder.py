"""Folders: named groups of sessions, one level deep. Deleting a folder keeps its sessions."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from errors import FolderUnknown
from store.database import schema
from store.owner import build_owner_condition, owner_of_new
from store.record import Folder
from text.clean import clean_text, collapse_spaces
from text.cut import cut_graphemes

NAME_CHARS = 60

_TABLE = schema.folder


class Folders:
    """The folders of a user; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def all(self) -> list[Folder]:
        """Returns all folders, sorted by name."""
        with self._transaction() as connection:
            query = select(_TABLE).where(build_owner_condition(connection, _TABLE.c.owner))
            folders = [Folder(row.id, row.name) for row in connection.execute(query)]
        return sorted(folders, key=lambda folder: (folder.name.casefold(), folder.id))

    def create(self, name: str) -> Folder | None:
        """Creates an empty folder and returns the folder; returns None for a blank name."""
        folder = Folder(uuid.uuid4().hex[:16], _clean_folder_name(name))
        if folder.name:
            self.restore(folder, ())
        return folder if folder.name else None

    def rename(self, folder_id: str, name: str) -> None:
        """Renames the folder; a blank name changes nothing. Raises ``FolderUnknown``."""
        if _clean_folder_name(name):
            with self._transaction() as connection:
                _update_folder(connection, folder_id, name=_clean_folder_name(name))

    def delete(self, folder_id: str) -> list[str]:
        """Deletes the folder and returns the ids of its sessions, which lie in no folder afterwards."""
        with self._transaction() as connection:
            # first, because this statement takes the lock
            own = (_TABLE.c.id == folder_id, build_owner_condition(connection, _TABLE.c.owner))
            if not connection.execute(delete(_TABLE).where(*own)).rowcount:
                return []
            inside = schema.session.c.folder == folder_id
            ids = list(connection.execute(select(schema.session.c.id).where(inside)).scalars())
            connection.execute(update(schema.session).where(inside).values(folder=""))
        return ids

    def restore(self, folder: Folder, session_ids: Iterable[str]) -> None:
        """Creates a deleted folder again and puts the sessions into it."""
        with self._transaction() as connection:
            row = {"id": folder.id, "name": folder.name, "created": time.time(), "owner": owner_of_new(connection)}
            connection.execute(insert(_TABLE), row)
            _put_into_folders(connection, dict.fromkeys(session_ids, folder.id))

    def move(self, session_ids: Iterable[str], folder_id: str) -> dict[str, str]:
        """Puts sessions into a folder, or into none when ``folder_id`` is empty; returns each session's folder before
        the move.

        Leaves out sessions that are not there or not the user's. Raises ``FolderUnknown``.
        """
        with self._transaction() as connection:
            if folder_id:
                # an update that changes nothing: it locks the row, so that nobody deletes the folder meanwhile
                _update_folder(connection, folder_id, id=folder_id)
            table, wanted = schema.session, list(session_ids)
            query = select(table.c.id, table.c.folder).where(
                table.c.id.in_(wanted), build_owner_condition(connection, table.c.owner)
            )
            lies = {row.id: row.folder for row in connection.execute(query)}
            known = {session_id: lies[session_id] for session_id in wanted if session_id in lies}
            _put_into_folders(connection, dict.fromkeys(known, folder_id))
        return known

    def move_back(self, before: Mapping[str, str]) -> None:
        """Undoes ``move``; a session whose folder has been deleted since then lies in none."""
        with self._transaction() as connection:
            known = set(
                connection.execute(
                    select(_TABLE.c.id).where(build_owner_condition(connection, _TABLE.c.owner))
                ).scalars()
            )
            _put_into_folders(
                connection, {session_id: folder if folder in known else "" for session_id, folder in before.items()}
            )


def _clean_folder_name(name: str) -> str:
    return cut_graphemes(collapse_spaces(clean_text(name)), NAME_CHARS)


def _update_folder(connection: Connection, folder_id: str, **values: str) -> None:
    own = (_TABLE.c.id == folder_id, build_owner_condition(connection, _TABLE.c.owner))
    result = connection.execute(update(_TABLE).where(*own).values(**values))
    if not result.rowcount:
        raise FolderUnknown()


def _put_into_folders(connection: Connection, folders: Mapping[str, str]) -> None:
    """Puts sessions into folders, by the session's id; skips sessions that are not the user's."""
    rows = [{"own": session_id, "to": folder} for session_id, folder in folders.items()]
    own = (schema.session.c.id == bindparam("own"), build_owner_condition(connection, schema.session.c.owner))
    if rows:
        connection.execute(update(schema.session).where(*own).values(folder=bindparam("to")), rows)
