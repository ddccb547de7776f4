"""A library over a quick embedder of its own, on SQLite and on PostgreSQL with pgvector."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import settings
from errors import EmbeddingFailed
from model.embedding import Vectors
from retrieval import Library
from store import Store


class Words:
    """Embeds a text as its words: the same words, the same direction. Counts what it was asked."""

    batch = 4
    dimension = 64
    unrelated = 0.0
    near = 0.0

    def __init__(self, name: str = "words") -> None:
        self.name = name
        self.made: list[str] = []
        self.before: Callable[[], None] = lambda: None
        self.refuses: Callable[[str], bool] = lambda _: False

    def passages(self, texts: Sequence[str]) -> Vectors:
        self.before()
        for text in texts:
            if self.refuses(text):
                raise EmbeddingFailed(model=self.name, reason=text.splitlines()[-1].lower())
        self.made += texts
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 0.05, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word[:4].encode()) % self.dimension] += 1
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


Opened = Callable[..., Library]


@contextmanager
def libraries(path: Path, words: Words | None = None) -> Iterator[Opened]:
    """Opens libraries over data folders in ``path``; closes them at the end."""
    made: list[tuple[Library, Store]] = []

    def open_(embedder: Words | None = None, data: str = "data", **values: object) -> Library:
        chosen = settings.load_settings(_env_file=None, data_dir=path / data, **values)
        store = Store(chosen.database)
        made.append((Library(chosen, store, embedder or words or Words()), store))
        return made[-1][0]

    yield open_
    for library, store in made:
        library.close()
        store.close()


@pytest.fixture
def words() -> Words:
    return Words()


@pytest.fixture
def opened(tmp_path: Path, words: Words) -> Iterator[Opened]:
    """Opens libraries over one data folder."""
    with libraries(tmp_path, words) as open_:
        yield open_


@pytest.fixture
def library(opened: Opened) -> Library:
    return opened()
