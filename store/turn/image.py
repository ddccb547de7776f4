"""Images that users send with their messages: the bytes, once per conversation, under a key that turns name in their
``files`` beside the keys of documents."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from store.database import schema
from store.owner import check_session
from store.path import Path, branch_at
from store.session.session_path import lock_session_row
from store.turn.attachment import NEXT, insert_attachments
from text.clean import choose_free_name

_TABLE, _TURN = schema.image.c, schema.turn.c
_KEY_BEGIN = "image-"
_DIGITS = 32
MOST_MESSAGE_IMAGES = 10
"""Images of one message: each takes as many tokens as a page of text, and a message keeps its images."""


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image. ``kind``: the MIME type of ``data``."""

    kind: str
    data: bytes

    @property
    def address(self) -> str:
        """Returns the image as a ``data:`` address."""
        return f"data:{self.kind};base64,{base64.b64encode(self.data).decode('ascii')}"


class Images:
    """The images of all conversations; ``transaction`` opens a database transaction."""

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def attach(self, session_id: str, images: Sequence[tuple[str, StoredImage]]) -> list[tuple[str, str]]:
        """Stores images of a conversation, each once, for its next message; returns their names and keys. An image
        whose name the conversation has gets a number: pasted ones are all called alike. Raises ``SessionUnknown``."""
        stored = {build_image_key(image.data): image for _, image in images}
        files = list[tuple[str, str]]()
        with self._transaction() as connection:
            lock_session_row(connection, session_id)  # two pages that paste at once choose their names in turn
            check_session(connection, session_id)
            query = select(schema.attachment.c.name).where(schema.attachment.c.session_id == session_id)
            names = set(connection.execute(query).scalars())
            for name, image in images:
                free = choose_free_name(name, names)
                names.add(free)
                files.append((free, build_image_key(image.data)))
            write_images(connection, session_id, stored)
            insert_attachments(connection, session_id, files, NEXT)
        return files

    def load(self, session_id: str, keys: Iterable[str]) -> dict[str, StoredImage]:
        """Returns those of the images that the conversation has, by key. Raises ``SessionUnknown``."""
        wanted = [key for key in keys if is_image_key(key)]
        if not wanted:
            return {}
        with self._transaction() as connection:
            check_session(connection, session_id)
            return load_images(connection, session_id, wanted)

    def find_turn_keys(self, session_id: str, path: Path, first: int, last: int) -> dict[int, list[str]]:
        """Returns the keys of the images that came with the turns ``first`` to ``last`` of a path, by turn number.
        Raises ``SessionUnknown``."""
        query = select(_TURN.number, _TURN.branch, _TURN.files).where(
            _TURN.session_id == session_id, _TURN.number.between(first, last), _TURN.files.is_not(None)
        )
        with self._transaction() as connection:
            check_session(connection, session_id)
            rows = connection.execute(query.order_by(_TURN.number)).all()
        on_path = (row for row in rows if branch_at(path, row.number) == row.branch)
        found = {row.number: list_image_keys(row.files) for row in on_path}
        return {number: keys for number, keys in found.items() if keys}

    def detach(self, session_id: str, name: str) -> None:
        """Takes an image off the message that it waits for, and removes it where nothing else of the conversation has
        it. Raises ``SessionUnknown``."""
        attachment = schema.attachment.c
        here = (attachment.session_id == session_id, attachment.name == name)
        with self._transaction() as connection:
            lock_session_row(connection, session_id)
            check_session(connection, session_id)
            key = connection.execute(select(attachment.key).where(*here)).scalar()
            connection.execute(delete(schema.attachment).where(*here))
            if key is not None and is_image_key(key) and not _is_used(connection, session_id, key):
                connection.execute(delete(schema.image).where(_TABLE.session_id == session_id, _TABLE.key == key))


def _is_used(connection: Connection, session_id: str, key: str) -> bool:
    """Returns whether a message or a turn has an image."""
    attachment = schema.attachment.c
    waiting = select(attachment.key).where(attachment.session_id == session_id, attachment.key == key)
    if connection.execute(waiting).first() is not None:
        return True
    told = select(_TURN.files).where(_TURN.session_id == session_id, _TURN.files.is_not(None))
    return any(key in list_image_keys(files) for files in connection.execute(told).scalars().all())


def is_image_key(key: str) -> bool:
    """Returns whether a file of a turn is an image, by its key."""
    return key.startswith(_KEY_BEGIN)


def list_image_keys(files: Iterable[Mapping[str, str]] | None) -> list[str]:
    """Returns the keys of the images among the files of a turn, in their order."""
    return [file["key"] for file in files or () if is_image_key(file.get("key", ""))]


def build_image_key(data: bytes) -> str:
    """Returns the key of an image: equal for equal bytes."""
    return _KEY_BEGIN + hashlib.sha256(data).hexdigest()[:_DIGITS]


def write_images(connection: Connection, session_id: str, images: Mapping[str, StoredImage]) -> None:
    """Writes images by key, those that the conversation does not have yet."""
    if not images:
        return
    query = select(_TABLE.key).where(_TABLE.session_id == session_id, _TABLE.key.in_(list(images)))
    known = set(connection.execute(query).scalars())
    rows = [
        {"session_id": session_id, "key": key, "kind": image.kind, "data": image.data}
        for key, image in images.items()
        if key not in known
    ]
    if rows:
        connection.execute(insert(schema.image), rows)


def load_images(connection: Connection, session_id: str, keys: Iterable[str]) -> dict[str, StoredImage]:
    """Returns those of the images that a conversation has, by key. The caller has asked whose it is."""
    query = select(_TABLE.key, _TABLE.kind, _TABLE.data)
    rows = connection.execute(query.where(_TABLE.session_id == session_id, _TABLE.key.in_(list(keys)))).all()
    return {row.key: StoredImage(row.kind, row.data) for row in rows}


def copy_images(connection: Connection, source: str, made: str, files: Sequence[Mapping[str, str]]) -> None:
    """Copies the images among the given files from the conversation ``source`` to the conversation ``made``."""
    if keys := list_image_keys(files):
        write_images(connection, made, load_images(connection, source, keys))


__all__ = [
    "MOST_MESSAGE_IMAGES",
    "Images",
    "StoredImage",
    "build_image_key",
    "copy_images",
    "is_image_key",
    "list_image_keys",
    "load_images",
    "write_images",
]
