"""Search quality: dense, lexical and fused over sets with known answers, all with the product's one setting."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_dir

from errors import BadSetting
from model.embedding import BuiltIn, Vectors
from retrieval.answer.fuse import CANDIDATES, fuse_scores
from retrieval.index.lexical import Lexical
from retrieval.index.segment import Segment, build_hash_marks
from retrieval.index.vectors import FaissSearcher, build_faiss_index
from retrieval.index.word import find_installed_cut
from retrieval.read.split import split_passages
from text.digest import hash_text
from text.language import detect_language

OWN = "sections.jsonl"
METHODS = ("dense", "lexical", "fused")
BETTER = "better"
"""The better value of dense and lexical for each figure; the fused order must not fall below it."""
CACHE = Path(user_cache_dir("gieok-bench", appauthor=False)) / "vectors"


@dataclass(frozen=True)
class Set:
    """Texts to search, the document that each text belongs to, and questions with the right document."""

    name: str
    texts: Sequence[str]
    owner: NDArray[np.int64]
    questions: Sequence[str]
    gold: NDArray[np.int64]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    about = "folder with sections.jsonl and queries.jsonl, or with en/ and ko/"
    parser.add_argument("--data", type=Path, required=True, help=about)
    parser.add_argument("--only", help="comma-separated names of sets")
    parser.add_argument("--limit", type=int, default=0, help="questions per set at most (0: all)")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns ``SET.METHOD.r1|r5|r10|mrr10|ndcg10|ms``; ``ms``: processor time per query, with the embedding of the
    question where the method needs one; ``SET.better``: the better figures of dense and lexical.

    Section sets are searched by the passages that the product cuts from a section's text, without its heading; a
    section's rank is that of its best passage. Vectors are kept in the user's cache folder.
    """
    names = set(args.only.split(",")) if args.only else None
    result: dict[str, object] = {"tokens": find_installed_cut()}
    for data_set in sets(args.data):
        if names is None or data_set.name in names:
            result[data_set.name] = measure(data_set, args.limit)
    return result


def sets(data: Path) -> Iterator[Set]:
    """Yields the sets of the data folder, or one set of your own: ``sections.jsonl`` with ``id`` and ``text``, and
    ``queries.jsonl`` with ``query`` and ``section``, the id of the section that answers the query."""
    if (data / OWN).exists():
        yield _sections("own", _read(data / OWN), _read(data / "queries.jsonl"), "section")
        return
    chunks = _read(data / "en/en_chunks.jsonl")
    numbers = {row["id"]: at for at, row in enumerate(chunks)}
    asked = _read(data / "en/en_chunk_retrieval_1000.jsonl")
    gold = [numbers[row["passage_id"]] for row in asked]
    yield _set("en_chunk", [row["text"] for row in chunks], [row["query"] for row in asked], gold)
    english, korean = _read(data / "en/react_en_sections.jsonl"), _read(data / "ko/react_ko_sections.jsonl")
    en_faq, ko_faq = _read(data / "en/en_faq_queries.jsonl"), _read(data / "ko/ko_faq_queries.jsonl")
    yield _sections("en_faq", english, en_faq, "passage_id")
    yield _sections("ko_faq", korean, ko_faq, "passage_id")
    yield _sections("ko_heading", korean, _read(data / "ko/ko_heading_queries.jsonl"), "passage_id")
    groups: dict[int, list[str]] = {}
    for row in _read(data / "ko/parakqc.jsonl"):
        groups.setdefault(row["group"], []).append(row["text"])
    pairs = [texts for texts in groups.values() if len(texts) > 1]
    yield _set("parakqc", [pair[0] for pair in pairs], [pair[1] for pair in pairs], list(range(len(pairs))))
    yield _sections("ko_en", english, ko_faq, "en_id")


def measure(data: Set, limit: int) -> dict[str, dict[str, float]]:
    """Returns recall, MRR, nDCG and milliseconds by method."""
    vectors = embedded(data.texts, query=False)
    ids = np.arange(len(data.texts))
    dense = FaissSearcher(build_faiss_index(ids, vectors))
    cut = find_installed_cut()
    hashes = [hash_text(text) for text in data.texts]
    lexical = Lexical(build_hash_marks(hashes), [Segment.make(dict(zip(hashes, data.texts, strict=True)), cut)], cut)
    languages = np.asarray([detect_language(text) for text in data.texts])
    ranks: dict[str, list[int]] = {method: [] for method in METHODS}
    spent = dict.fromkeys(METHODS, 0.0)
    chosen = list(zip(data.questions, data.gold, strict=True))[: limit or None]
    asked = embedded([question for question, _ in chosen], query=True)
    for (question, gold), vector in zip(chosen, asked, strict=True):
        for method, order, seconds in _searches(question, vector, vectors, dense, lexical, languages):
            ranks[method].append(_rank(data.owner[order], int(gold)))
            spent[method] += seconds
    query_ms = _query_ms([question for question, _ in chosen[:20]])
    scores = {method: _scores(ranks[method]) for method in METHODS}
    better = {figure: max(scores[half][figure] for half in METHODS[:2]) for figure in scores["fused"]}
    for method in METHODS:
        embedding = 0 if method == "lexical" else query_ms
        scores[method]["ms"] = round(spent[method] / len(chosen) * 1000 + embedding, 2)
    return {**scores, BETTER: better}


def _searches(
    question: str, vector: Vectors, vectors: Vectors, dense: FaissSearcher, lexical: Lexical, languages: NDArray[Any]
) -> Iterator[tuple[str, NDArray[np.int64], float]]:
    """Yields each method with the positions that it finds, best first, and its processor seconds; takes the same steps
    as ``retrieval.index.search``."""
    began = time.process_time()
    nearest, _ = dense.search(vector, CANDIDATES, None)
    searched = time.process_time()
    scores, bound = lexical.scores(question)
    best = np.argsort(-scores, kind="stable")[:CANDIDATES]
    best = best[scores[best] > 0]
    scored = time.process_time()
    at = np.union1d(nearest, best)
    score = fuse_scores(vectors[at] @ vector, scores[at] / bound, languages[at] != detect_language(question))
    order = at[np.argsort(-score, kind="stable")]
    yield "dense", nearest, searched - began
    yield "lexical", best, scored - searched
    yield "fused", order, time.process_time() - began


def embedded(texts: Sequence[str], *, query: bool) -> Vectors:
    """Returns the vectors of texts. Reads them from the cache by the hash of the text; makes missing vectors and adds
    them to the cache."""
    model = BuiltIn()
    folder = CACHE / model.name
    folder.mkdir(parents=True, exist_ok=True)
    vectors = np.empty((len(texts), model.dimension), np.float32)
    for at, text in enumerate(texts):
        key = hashlib.sha256(f"{'query' if query else 'passage'}:{text}".encode()).hexdigest()
        file = folder / key[:2] / key
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            vector = model.query(text) if query else model.passages([text])[0]
            part = file.with_suffix(".part")
            part.write_bytes(vector.astype(np.float32).tobytes())
            part.replace(file)
        vectors[at] = np.frombuffer(file.read_bytes(), np.float32)
    return vectors


def recall(exact: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    """Returns the share of the exact neighbours that were found, over all rows."""
    return float(np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(exact.tolist(), found.tolist(), strict=True)]))


def threads(count: int) -> None:
    """Sets the number of threads that FAISS uses."""
    faiss.omp_set_num_threads(count)


def _set(name: str, texts: list[str], questions: list[str], gold: list[int]) -> Set:
    return Set(name, texts, np.arange(len(texts)), questions, np.asarray(gold))


def _sections(name: str, sections: list[dict[str, Any]], asked: list[dict[str, Any]], key: str) -> Set:
    numbers = {row["id"]: at for at, row in enumerate(sections)}
    pieces = [
        (at, piece.text) for at, row in enumerate(sections) for piece in split_passages(row["text"], markdown=True)
    ]
    known = [row for row in asked if row[key] in numbers]
    owner = np.asarray([at for at, _ in pieces])
    gold = np.asarray([numbers[row[key]] for row in known])
    return Set(name, [text for _, text in pieces], owner, [row["query"] for row in known], gold)


def _rank(owners: NDArray[np.int64], gold: int) -> int:
    """Returns the rank of the right document (from 0), where a document ranks as its best passage; a million when it
    was not found."""
    seen = list(dict.fromkeys(owners.tolist()))
    return seen.index(gold) if gold in seen else 1_000_000


def _scores(ranks: Sequence[int]) -> dict[str, float]:
    positions = np.asarray(ranks)
    top = positions < 10
    gain = np.where(top, 1 / np.log2(np.minimum(positions, 10) + 2), 0)
    scores = {f"r{k}": float((positions < k).mean()) for k in (1, 5, 10)}
    scores |= {"mrr10": float(np.where(top, 1 / (positions + 1), 0).mean()), "ndcg10": float(gain.mean())}
    return {name: round(value, 4) for name, value in scores.items()}


def _query_ms(questions: Sequence[str]) -> float:
    """Returns the processor milliseconds to embed one question."""
    model = BuiltIn()
    model.query("warm")
    began = time.process_time()
    for question in questions:
        model.query(question)
    return (time.process_time() - began) / max(len(questions), 1) * 1000


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    except OSError as error:
        raise BadSetting(name="--data", value=str(path), reason="there is no such file") from error
