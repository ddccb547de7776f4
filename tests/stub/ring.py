"""A keyring that keeps its passwords in memory, as the system's does in its own way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class Ring(KeyringBackend):
    """``locked``: nothing can be read or written."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._open()
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._open()
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._open()
        if self.held.pop((service, username), None) is None:
            raise PasswordDeleteError

    def _open(self) -> None:
        if self.locked:
            raise KeyringLocked


@contextmanager
def ring() -> Iterator[Ring]:
    """The system has this keyring for the length of the block."""
    before, made = keyring.get_keyring(), Ring()
    keyring.set_keyring(made)
    try:
        yield made
    finally:
        keyring.set_keyring(before)
