"""The document index: embedding speed, opening, querying, size and memory, against Chroma on the same vectors."""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import shelf
from bench.retrieval import embedded, recall, sets, threads
from errors import MissingExtra
from model.embedding import BuiltIn, Vectors
from retrieval.index.vectors import FaissIndex, FaissSearcher, Prepared, build_faiss_index

DIMENSION, K = 384, 10
SENTENCE = "Every three turns become one summary, which takes their place in what the model is given from then on. "
CHROMA_BATCH = 5000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--sizes", default="10000,100000,1000000", help="comma-separated numbers of vectors")
    parser.add_argument("--queries", type=int, default=200, help="queries per measurement")
    parser.add_argument("--against", choices=("chroma", "none"), default="chroma", help="what to compare with")
    parser.add_argument("--compare-at", type=int, default=100_000, help="number of vectors of the comparison")
    parser.add_argument("--data", type=Path, help="folder with real texts, for recall on their embeddings")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the measurements. ``embedding``: passages of about 100 tokens per processor second. ``sizes``: one row
    per number of clustered vectors; ``…_cpu_ms`` is the processor time of one query on one thread (``filtered_…``: with
    a filter that allows half), ``dense_bytes_…`` the file of the vector index. Up to ``--compare-at`` vectors a row
    also has ``whole_…``: a library with rows, texts, the vectors that the index can be built from again, and the
    lexical index; its whole queries (``search_all`` without the embedding) and publishing. ``chroma``: the same vectors
    in Chroma; ``whole_…`` there: with the same texts. Every row is measured in a process of its own. ``ratio``:
    Chroma's figure divided by Gieok's. ``real_recall``: recall of inverted lists on real embeddings, against exact
    search.
    """
    if args.against == "chroma" and find_spec("chromadb") is None:
        raise MissingExtra(feature="The comparison", package="chromadb")
    sizes = sorted({int(size) for size in args.sizes.split(",")})
    rows = {size: _apart(_ours, size, args.queries) for size in sizes}
    for size in sizes:
        rows[size] |= _apart(_whole, size, args.queries) if size <= args.compare_at else {}
    result: dict[str, object] = {"embedding": _embedding(), "sizes": list(rows.values())}
    if args.against == "chroma" and args.compare_at in rows:
        ours = rows[args.compare_at]
        theirs = _apart(_chroma, args.compare_at, args.queries) | _apart(_chroma_whole, args.compare_at, 1)
        result["chroma"] = theirs
        names = ("query_cpu_ms", "filtered_cpu_ms", "dense_bytes_per_vector", "whole_bytes_per_vector")
        result["ratio"] = {name: round(theirs[name] / ours[name], 2) for name in names}
    if args.data:
        result["real_recall"] = _real(args.data)
    return result


def clustered(count: int, seed: int = 7) -> Vectors:
    """Returns unit vectors in clusters of about a hundred, as passages cluster around topics."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(max(count // 100, 50), DIMENSION)).astype(np.float32)
    vectors = np.empty((count, DIMENSION), np.float32)
    for start in range(0, count, 50_000):
        part = slice(start, min(start + 50_000, count))
        size = part.stop - part.start
        noise = random.normal(scale=0.6, size=(size, DIMENSION)).astype(np.float32)
        vectors[part] = centres[random.integers(len(centres), size=size)] + noise
        vectors[part] /= np.linalg.norm(vectors[part], axis=1, keepdims=True)
    return vectors


def questions(vectors: Vectors, count: int) -> Vectors:
    """Returns unit vectors near ``count`` of the given ones, as questions lie near passages; the index contains none of
    them."""
    random = np.random.default_rng(3)
    near = vectors[:: max(len(vectors) // count, 1)][:count]
    shifted = near + random.normal(scale=0.5 / DIMENSION**0.5, size=near.shape).astype(np.float32)
    return np.asarray(shifted / np.linalg.norm(shifted, axis=1, keepdims=True), np.float32)


def _ours(size: int, queries: int) -> dict[str, Any]:
    threads(1)
    vectors, ids = clustered(size), np.arange(size)
    asked = questions(vectors, queries)
    with TemporaryDirectory() as folder:
        began = time.process_time()
        FaissIndex(Path(folder)).replace("1", ids, vectors)
        built = time.process_time() - began
        exact = _exact(vectors, asked)
        del vectors
        before, began = _rss(), time.perf_counter()
        searcher = FaissIndex(Path(folder)).open("1")
        opened = time.perf_counter() - began
        memory = _rss() - before
        neighbours = [searcher.search(query, K, None)[0] for query in asked[:5]]
        neighbours = []
        milliseconds = _timed(lambda query: neighbours.append(searcher.search(query, K, None)[0]), asked)
        half = ids[::2]
        filtered = _timed(lambda query: searcher.search(query, K, half), asked[:50])
        change = _change(Path(folder), searcher, asked[:1], size)
        bytes_ = sum(path.stat().st_size for path in Path(folder).iterdir() if path.name.startswith("dense-1"))
    return {
        "vectors": size,
        "build_cpu_s": round(built, 2),
        "open_s": round(opened, 3),
        "query_cpu_ms": round(float(np.mean(milliseconds)), 3),
        "query_p50_ms": round(float(np.percentile(milliseconds, 50)), 3),
        "query_p95_ms": round(float(np.percentile(milliseconds, 95)), 3),
        "filtered_cpu_ms": round(float(np.mean(filtered)), 3),
        "recall10": round(recall(exact, np.asarray(neighbours)), 4),
        "publish_one_cpu_s": round(change, 3),
        "dense_bytes_per_vector": round(bytes_ / size, 1),
        "index_memory_mb": round(memory / 1e6, 1),
        "peak_memory_mb": _peak(),
    }


def _whole(size: int, queries: int) -> dict[str, Any]:
    threads(1)
    vectors = clustered(size)
    with TemporaryDirectory() as folder:
        return shelf.measure(Path(folder), vectors, questions(vectors, queries))


def _change(folder: Path, searcher: Any, vector: Vectors, size: int) -> float:
    """Removes one passage, adds another and publishes the change; returns the processor seconds."""
    began = time.process_time()
    changed: Prepared | None = FaissIndex(folder).change(searcher, "2", np.asarray([3]), np.asarray([size + 1]), vector)
    assert changed is not None
    return time.process_time() - began


def _chroma(size: int, queries: int, texts: list[str] | None = None) -> dict[str, Any]:
    import chromadb
    from chromadb.config import Settings

    vectors = clustered(size)
    asked = questions(vectors, queries)
    exact = _exact(vectors, asked)
    with TemporaryDirectory() as folder:
        client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
        collection = client.create_collection("bench", metadata={"hnsw:space": "ip"}, embedding_function=None)
        began = time.process_time()
        for start in range(0, size, CHROMA_BATCH):
            part = range(start, min(start + CHROMA_BATCH, size))
            collection.add(
                ids=[str(each) for each in part],
                embeddings=vectors[part.start : part.stop],
                metadatas=[{"half": each % 2} for each in part],
                documents=texts and texts[part.start : part.stop],
            )
        built = time.process_time() - began
        neighbours: list[list[int]] = []
        collection.query(query_embeddings=asked[:1], n_results=K, include=[])

        def search(each: Vectors, **where: Any) -> None:
            answer = collection.query(query_embeddings=[each], n_results=K, include=["distances"], **where)
            neighbours.append([int(key) for key in answer["ids"][0]])

        milliseconds = _timed(search, asked)
        unfiltered = np.asarray(neighbours[:queries])
        filtered = _timed(lambda each: search(each, where={"half": 0}), asked[:20])
        bytes_ = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {
        "vectors": size,
        "version": chromadb.__version__,
        "build_cpu_s": round(built, 2),
        "query_cpu_ms": round(float(np.mean(milliseconds)), 3),
        "filtered_cpu_ms": round(float(np.mean(filtered)), 3),
        "recall10": round(recall(exact, unfiltered), 4),
        "dense_bytes_per_vector": round(bytes_ / size, 1),
        "peak_memory_mb": _peak(),
    }


def _chroma_whole(size: int, queries: int) -> dict[str, Any]:
    """Returns the bytes per vector with texts."""
    figures = _chroma(size, queries, list(shelf.texts(size)))
    return {"whole_bytes_per_vector": figures["dense_bytes_per_vector"]}


def _real(data: Path) -> list[dict[str, object]]:
    """Returns the recall of inverted lists on real embeddings, against exact search. Forces the lists on, although
    there are too few vectors for them."""
    from retrieval.index import vectors as module

    rows: list[dict[str, object]] = []
    for data_set in sets(data):
        if data_set.name not in ("en_chunk", "ko_heading"):
            continue
        vectors, asked = embedded(data_set.texts, query=False), embedded(data_set.questions, query=True)
        usual, module.IVF_FROM = module.IVF_FROM, 0
        try:
            lists = FaissSearcher(build_faiss_index(np.arange(len(vectors)), vectors))
            neighbours = np.asarray([lists.search(vector, K, None)[0] for vector in asked])
        finally:
            module.IVF_FROM = usual
        row = {"set": data_set.name, "vectors": len(vectors), "lists": lists.index.nlist, "probes": module.PROBES}
        rows.append({**row, "recall10": round(recall(_exact(vectors, asked), neighbours), 4)})
    return rows


def _embedding() -> dict[str, float]:
    model, texts = BuiltIn(), [f"{number}. {SENTENCE * 4}" for number in range(8)]
    model.query("warm")
    began, cpu = time.perf_counter(), time.process_time()
    for text in texts:
        model.passages([text])
    spent = time.process_time() - cpu
    wall = time.perf_counter() - began
    return {"passages_per_cpu_s": round(len(texts) / spent, 2), "passages_per_s": round(len(texts) / wall, 2)}


def _exact(vectors: Vectors, asked: Vectors) -> NDArray[np.int64]:
    return np.asarray([np.argsort(-(vectors @ query))[:K] for query in asked])


def _timed(search: Callable[[Vectors], Any], asked: Vectors) -> list[float]:
    """Returns the processor milliseconds of each query, of all threads of this process together."""
    milliseconds = []
    for query in asked:
        began = time.process_time()
        search(query)
        milliseconds.append((time.process_time() - began) * 1000)
    return milliseconds


def _apart(work: Callable[[int, int], dict[str, Any]], size: int, queries: int) -> dict[str, Any]:
    """Runs a measurement in a process of its own, so that its memory figures count nothing else."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, (size, queries))


def _rss() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1)
