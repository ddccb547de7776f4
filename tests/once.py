"""What costs many tests time and tells them nothing, done once per process."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

import private
from tests import memory_disk

NOBODY = Path(__file__).parent / "stub" / "authority.pem"
"""The certificate of an authority that has signed nothing."""
TRUSTED = "SSL_CERT_FILE"
"""OpenSSL's variable: the file of the authorities that clients trust."""
_before: str | None = None


def use() -> None:
    """Has Streamlit look for components among the installed packages once (half a second), not for each page of a test;
    has clients trust one authority, not 150, which takes 25 ms of each client, because no test goes beyond this
    machine; and makes the tables of an empty SQLite file once: a new database is a copy of it."""
    global _before
    from streamlit.components.v2 import manifest_scanner

    manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
    _copy_new_databases()
    _before = os.environ.get(TRUSTED)
    os.environ[TRUSTED] = str(NOBODY)


def _copy_new_databases() -> None:
    from store.database import engine

    make = engine._make

    @cache
    def empty() -> bytes:
        with tempfile.TemporaryDirectory(dir=memory_disk.place()) as folder:
            path = Path(folder) / "empty.db"
            private.make_file(path)
            engine.connect(f"sqlite:///{path}")[0].dispose()
            assert not path.with_name("empty.db-wal").exists(), "all of it is in the file"
            return path.read_bytes()

    def copied(path: str | None) -> None:
        if path and path != ":memory:" and not path.startswith("file:") and not Path(path).exists():
            content = empty()
            with suppress(OSError):  # the product itself says why a file cannot be made
                private.make_folder(Path(path).parent)
                _write_new(Path(path), content)
        make(path)

    engine._make = copied


def _write_new(path: Path, content: bytes) -> None:
    """Writes a file that is whole as soon as it is there, unless there is one already."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    private.make_file(fresh)
    fresh.write_bytes(content)
    try:
        os.link(fresh, path)
    finally:
        fresh.unlink()


@contextmanager
def outside() -> Iterator[None]:
    """Trusts what the machine trusts: for a download."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(TRUSTED)
        if _before is not None:
            patch.setenv(TRUSTED, _before)
        yield
