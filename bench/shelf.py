"""A whole library over given vectors, for the index bench: its rows, files, queries and changes.

The words of its texts are as rare and as common as in a natural language, so that the lexical index has a realistic
size and cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import settings
from model.embedding import Vectors
from retrieval.change import LibraryChange, SourceFile, stage_file
from retrieval.index import search
from retrieval.index.published import Shelf
from retrieval.index.row import LibraryRows, RevisionState, embedded_text, passage_row
from retrieval.index.vectors import FaissIndex
from retrieval.read.split import Piece
from store import Store
from text.digest import hash_text

WORDS, VOCABULARY, PER_DOCUMENT, MANY = 60, 30_000, 100, 5000


class GivenVectors:
    """An embedder with known vectors: «query 7» gets row 7 of ``asked``, n passages get the first n rows."""

    name, batch, unrelated, near = "given", 1, 0.0, 0.0

    def __init__(self, asked: Vectors) -> None:
        self._asked = asked
        self.dimension = asked.shape[1]

    def query(self, text: str) -> Vectors:
        return np.asarray(self._asked[int(text.split()[1])])

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._asked[: len(texts)]


def texts(count: int) -> Iterator[str]:
    """Yields texts of ``WORDS`` words with the word frequencies of a language (Zipf); the same texts at every call."""
    random = np.random.default_rng(11)
    share = 1 / np.arange(1, VOCABULARY + 1)
    for start in range(0, count, MANY):
        drawn = random.choice(VOCABULARY, size=(min(MANY, count - start), WORDS), p=share / share.sum())
        yield from (" ".join(f"w{word:x}" for word in row) for row in drawn.tolist())


def measure(folder: Path, vectors: Vectors, asked: Vectors) -> dict[str, Any]:
    """Returns the bytes, and the times to open the library, to run whole queries and to publish one more document: in
    the library that was just filled, and in one that was just opened."""
    chosen = settings.load_settings(_env_file=None, data_dir=folder)
    store, embedder = Store(chosen.database), GivenVectors(asked)

    def shelf() -> Shelf:
        return Shelf(chosen, store, embedder, FaissIndex(folder / "library"))

    first = shelf()
    _fill(store, first.rows, vectors, embedder.name)
    first.publish(whole=True)
    warm = _published(first, embedder, 1)
    fresh, began = shelf(), time.perf_counter()
    view = fresh.open()
    opened = time.perf_counter() - began
    questions = [f"query {at} {' '.join(text.split()[:6])}" for at, text in enumerate(texts(len(asked)))]
    spent = [_spent(partial(search.search_all_types, view, fresh.rows, embedder, question)) for question in questions]
    cold = _published(fresh, embedder, 2)
    store.close()
    return {
        "whole_open_s": round(opened, 3),
        "whole_query_cpu_ms": round(float(np.mean(spent[1:])) * 1000, 3),
        "whole_first_query_cpu_ms": round(spent[0] * 1000, 3),
        "whole_publish_one_cpu_s": round(warm, 3),
        "whole_publish_one_fresh_cpu_s": round(cold, 3),
        **_bytes(folder, len(vectors)),
    }


def _fill(store: Store, rows: LibraryRows, vectors: Vectors, model: str) -> None:
    new_texts = texts(len(vectors))
    for start in range(0, len(vectors), MANY):
        part = vectors[start : start + MANY]
        passages = [_passage(start + at, next(new_texts)) for at in range(len(part))]
        with store.transaction() as connection:
            rows.put_passages(connection, passages)
            for document in range(start // PER_DOCUMENT, -(-(start + len(part)) // PER_DOCUMENT)):
                rows.put_document(connection, _document(document + 1))
        rows.keep_vectors([row["hash"] for row in passages], part, model)
    with store.transaction() as connection:
        rows.set_state(connection, RevisionState(), RevisionState(0, len(vectors) * 2 + 1, model, vectors.shape[1]))


def _passage(at: int, text: str) -> dict[str, Any]:
    piece = Piece(at % PER_DOCUMENT, 0, (f"Section {at}",), text, at % 3 == 0)
    row = passage_row(at + 1, at // PER_DOCUMENT + 1, "Document", "faq" if at % 4 == 0 else "guide", piece)
    return {**row, "hash": hash_text(embedded_text("Document", piece.path, text))}


def _document(number: int) -> dict[str, Any]:
    state = {"asked_type": None, "error": None, "state": "ready", "language": "en", "doc_type": "guide"}
    identity = {"key": hash_text(str(number)), "name": f"{number}.md", "source": f"/{number}.md", "title": "Document"}
    return {"id": number, "hash": "", "size": 0, "sections": 1, "passages": 1, "added": 0.0, **state, **identity}


def _published(shelf: Shelf, given: GivenVectors, number: int) -> float:
    """Publishes one more document, whose vector is known, and returns the processor seconds."""
    data = f"# New {number}\n\nA new passage.".encode()
    staged = stage_file(SourceFile(f"new{number}.md", f"upload:new{number}.md", lambda: data), data, None, len(data))
    shelf.rows.keep_vectors([hash_text(text) for text in staged.texts()], given.passages(staged.texts()), given.name)
    return _spent(partial(shelf.publish, LibraryChange([staged])))


def _bytes(folder: Path, count: int) -> dict[str, float]:
    """Returns bytes per vector: of the index files, of all files (with texts, and with the vectors from which the index
    can be built again), and of the texts alone."""
    sizes = {path.name: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    files = sum(size for name, size in sizes.items() if name.startswith(("dense-", "lexical-")))
    text = sum(map(len, texts(count)))
    parts = {"index_files": files, "whole": sum(sizes.values()), "text": text}
    return {f"{name}_bytes_per_vector": round(size / count, 1) for name, size in parts.items()}


def _spent(work: Callable[[], object]) -> float:
    """Returns the processor seconds of the work."""
    began = time.process_time()
    work()
    return time.process_time() - began
