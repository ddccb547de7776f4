"""A store on SQLite, and the address of each database that a store runs on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path / 'own' / 'gieok.db'}")
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """``DATABASE_URL`` of each database that the store runs on; None: the default."""
    return str(request.getfixturevalue("postgres")) if request.param == "postgresql" else None
