"""A service with its door for other agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.door.a2a.place import Place, place
from tests.stub.reply import said
from tests.stub.upstream import Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always=said("Why did the chicken cross the road? To get to the other side!")) as opened:
        yield opened


@pytest.fixture
def opened(tmp_path: Path, upstream: Upstream) -> Iterator[Place]:
    with place(tmp_path, upstream, api_rate=10_000) as service:
        yield service
