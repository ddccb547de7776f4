"""A library over a quick embedder of its own, on SQLite and on PostgreSQL with pgvector."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import settings
from retrieval import Library
from retrieval.embed import Vectors
from store import Store


class Words:
    """Embeds a text as its words: the same words, the same direction. Counts what it was asked."""

    batch = 4
    dimension = 64
    unrelated = 0.0

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.made: list[str] = []
        self.before: Callable[[], None] = lambda: None

    def passages(self, texts: Sequence[str]) -> Vectors:
        self.before()
        self.made += texts
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 0.05, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word[:4].encode()) % self.dimension] += 1
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


@pytest.fixture
def words() -> Words:
    return Words()


Opened = Callable[..., Library]


@pytest.fixture
def opened(tmp_path: Path, words: Words) -> Iterator[Opened]:
    """Opens libraries over one data folder; closes them at the end."""
    made: list[tuple[Library, Store]] = []

    def open_(embedder: Words = words, **values: object) -> Library:
        chosen = settings.load(_env_file=None, data_dir=tmp_path / "data", **values)
        store = Store(chosen.database)
        made.append((Library(chosen, store, embedder), store))
        return made[-1][0]

    yield open_
    for library, store in made:
        library.close()
        store.close()


@pytest.fixture
def library(opened: Opened) -> Library:
    return opened()
