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
from retrieval.embed import BuiltIn, Vectors
from retrieval.index import FaissIndex, FaissSearcher, Prepared, build

DIMENSION, K = 384, 10
SENTENCE = "Every three turns become one summary, which takes their place in what the model is given from then on. "
CHROMA_BATCH = 5000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this bench."""
    parser.add_argument("--sizes", default="10000,100000,1000000", help="comma-separated numbers of vectors")
    parser.add_argument("--queries", type=int, default=200, help="queries per measurement")
    parser.add_argument("--against", choices=("chroma", "none"), default="chroma", help="what to compare with")
    parser.add_argument("--compare-at", type=int, default=100_000, help="number of vectors of the comparison")
    parser.add_argument("--data", type=Path, help="folder with real texts, for recall on their embeddings")


def run(args: argparse.Namespace) -> dict[str, object]:
    """``embedding``: passages of about 100 tokens per processor second; ``sizes``: rows of measurements on clustered
    vectors (ms are processor time of one query on one thread, also with a filter that allows half). ``dense_bytes``:
    the file of the vector index; up to ``--compare-at`` also ``whole_…``: a library with rows, texts, the vectors that
    the index can be made from again, and the lexical index, with whole queries (``search_all`` without the embedding)
    and publishing. ``chroma``: the same vectors there, and with the same texts (``whole_…``); each in a process of its
    own; ``ratio``: Chroma's figure over ours; ``real_recall``: of inverted lists on real embeddings, against
    exact search.
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
    """Unit vectors around a centre for each hundred of them, as passages lie around topics."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(max(count // 100, 50), DIMENSION)).astype(np.float32)
    made = np.empty((count, DIMENSION), np.float32)
    for start in range(0, count, 50_000):
        part = slice(start, min(start + 50_000, count))
        size = part.stop - part.start
        noise = random.normal(scale=0.6, size=(size, DIMENSION)).astype(np.float32)
        made[part] = centres[random.integers(len(centres), size=size)] + noise
        made[part] /= np.linalg.norm(made[part], axis=1, keepdims=True)
    return made


def questions(vectors: Vectors, count: int) -> Vectors:
    """Unit vectors near ``count`` of these, as questions lie near passages: none is indexed itself."""
    random = np.random.default_rng(3)
    near = vectors[:: max(len(vectors) // count, 1)][:count]
    made = near + random.normal(scale=0.5 / DIMENSION**0.5, size=near.shape).astype(np.float32)
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


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
        found = [searcher.search(each, K, None)[0] for each in asked[:5]]
        found = []
        milliseconds = _timed(lambda each: found.append(searcher.search(each, K, None)[0]), asked)
        half = ids[::2]
        filtered = _timed(lambda each: searcher.search(each, K, half), asked[:50])
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
        "recall10": round(recall(exact, np.asarray(found)), 4),
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
    """Processor seconds to remove one passage, add another and publish that."""
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
        kept = client.create_collection("bench", metadata={"hnsw:space": "ip"}, embedding_function=None)
        began = time.process_time()
        for start in range(0, size, CHROMA_BATCH):
            part = range(start, min(start + CHROMA_BATCH, size))
            kept.add(
                ids=[str(each) for each in part],
                embeddings=vectors[part.start : part.stop],
                metadatas=[{"half": each % 2} for each in part],
                documents=texts and texts[part.start : part.stop],
            )
        built = time.process_time() - began
        found: list[list[int]] = []
        kept.query(query_embeddings=asked[:1], n_results=K, include=[])

        def search(each: Vectors, **where: Any) -> None:
            answer = kept.query(query_embeddings=[each], n_results=K, include=["distances"], **where)
            found.append([int(one) for one in answer["ids"][0]])

        milliseconds = _timed(search, asked)
        got = np.asarray(found[:queries])
        filtered = _timed(lambda each: search(each, where={"half": 0}), asked[:20])
        bytes_ = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return {
        "vectors": size,
        "version": chromadb.__version__,
        "build_cpu_s": round(built, 2),
        "query_cpu_ms": round(float(np.mean(milliseconds)), 3),
        "filtered_cpu_ms": round(float(np.mean(filtered)), 3),
        "recall10": round(recall(exact, got), 4),
        "dense_bytes_per_vector": round(bytes_ / size, 1),
        "peak_memory_mb": _peak(),
    }


def _chroma_whole(size: int, queries: int) -> dict[str, Any]:
    """Bytes with texts."""
    made = _chroma(size, queries, list(shelf.texts(size)))
    return {"whole_bytes_per_vector": made["dense_bytes_per_vector"]}


def _real(data: Path) -> list[dict[str, object]]:
    """Inverted lists on real embeddings, forced on although there are few: recall against exact search."""
    from retrieval import index as module

    rows: list[dict[str, object]] = []
    for each in sets(data):
        if each.name not in ("en_chunk", "ko_heading"):
            continue
        vectors, asked = embedded(each.texts, query=False), embedded(each.questions, query=True)
        usual, module.IVF_FROM = module.IVF_FROM, 0
        try:
            lists = FaissSearcher(build(np.arange(len(vectors)), vectors))
            found = np.asarray([lists.search(vector, K, None)[0] for vector in asked])
        finally:
            module.IVF_FROM = usual
        row = {"set": each.name, "vectors": len(vectors), "lists": lists.index.nlist, "probes": module.PROBES}
        rows.append({**row, "recall10": round(recall(_exact(vectors, asked), found), 4)})
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
    return np.asarray([np.argsort(-(vectors @ each))[:K] for each in asked])


def _timed(search: Callable[[Vectors], Any], asked: Vectors) -> list[float]:
    """Processor milliseconds of each query, all threads of this process together."""
    spent = []
    for each in asked:
        began = time.process_time()
        search(each)
        spent.append((time.process_time() - began) * 1000)
    return spent


def _apart(work: Callable[[int, int], dict[str, Any]], size: int, queries: int) -> dict[str, Any]:
    """Runs a measurement in a process of its own, so that memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, (size, queries))


def _rss() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1)
