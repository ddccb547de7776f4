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
from retrieval.embed import BuiltIn, Vectors
from retrieval.fuse import CANDIDATES, fuse
from retrieval.index import FaissSearcher, build
from retrieval.lexical import Lexical
from retrieval.row import digest
from retrieval.segment import Segment, marks
from retrieval.split import split
from retrieval.word import installed
from text.language import detect

OWN = "sections.jsonl"
METHODS = ("dense", "lexical", "fused")
CACHE = Path(user_cache_dir("gieok-bench", appauthor=False)) / "vectors"


@dataclass(frozen=True)
class Set:
    """Texts to search, the document that each belongs to, and questions with the right document."""

    name: str
    texts: Sequence[str]
    owner: NDArray[np.int64]
    questions: Sequence[str]
    gold: NDArray[np.int64]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this bench."""
    about = "folder with sections.jsonl and queries.jsonl, or with en/ and ko/"
    parser.add_argument("--data", type=Path, required=True, help=about)
    parser.add_argument("--only", help="comma-separated names of sets")
    parser.add_argument("--limit", type=int, default=0, help="questions per set at most (0: all)")


def run(args: argparse.Namespace) -> dict[str, object]:
    """``SET.METHOD.r1|r5|r10|mrr10|ndcg10|ms``; ``ms``: processor time per query, with embedding where it is used.

    Section sets are searched by the passages that the product makes of a section's text, without its heading; a
    section's rank is that of its best passage. Vectors are kept in the user's cache folder.
    """
    wanted = set(args.only.split(",")) if args.only else None
    result: dict[str, object] = {"tokens": installed()}
    for each in sets(args.data):
        if wanted is None or each.name in wanted:
            result[each.name] = measure(each, args.limit)
    return result


def sets(data: Path) -> Iterator[Set]:
    """The sets of the data folder, or one of your own: ``sections.jsonl`` with ``id`` and ``text``, and
    ``queries.jsonl`` with ``query`` and ``section``, the id of the one that answers it."""
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
    yield _set("parakqc", [each[0] for each in pairs], [each[1] for each in pairs], list(range(len(pairs))))
    yield _sections("ko_en", english, ko_faq, "en_id")


def measure(data: Set, limit: int) -> dict[str, dict[str, float]]:
    """Recall, MRR and nDCG by method."""
    vectors = embedded(data.texts, query=False)
    ids = np.arange(len(data.texts))
    dense = FaissSearcher(build(ids, vectors))
    cut = installed()
    hashes = [digest(text) for text in data.texts]
    lexical = Lexical(marks(hashes), [Segment.make(dict(zip(hashes, data.texts, strict=True)), cut)], cut)
    languages = np.asarray([detect(text) for text in data.texts])
    ranks: dict[str, list[int]] = {method: [] for method in METHODS}
    spent = dict.fromkeys(METHODS, 0.0)
    chosen = list(zip(data.questions, data.gold, strict=True))[: limit or None]
    asked = embedded([question for question, _ in chosen], query=True)
    for (question, gold), vector in zip(chosen, asked, strict=True):
        for method, order, seconds in _searches(question, vector, vectors, dense, lexical, languages):
            ranks[method].append(_rank(data.owner[order], int(gold)))
            spent[method] += seconds
    query_ms = _query_ms([question for question, _ in chosen[:20]])
    return {
        method: _scores(ranks[method])
        | {"ms": round(spent[method] / len(chosen) * 1000 + (0 if method == "lexical" else query_ms), 2)}
        for method in METHODS
    }


def _searches(
    question: str, vector: Vectors, vectors: Vectors, dense: FaissSearcher, lexical: Lexical, languages: NDArray[Any]
) -> Iterator[tuple[str, NDArray[np.int64], float]]:
    """Positions best first and processor seconds, for each method; the same steps as ``retrieval.search``."""
    began = time.process_time()
    found, _ = dense.search(vector, CANDIDATES, None)
    searched = time.process_time()
    scores, bound = lexical.scores(question)
    best = np.argsort(-scores, kind="stable")[:CANDIDATES]
    best = best[scores[best] > 0]
    scored = time.process_time()
    at = np.union1d(found, best)
    score = fuse(vectors[at] @ vector, scores[at] / bound, languages[at] != detect(question))
    order = at[np.argsort(-score, kind="stable")]
    yield "dense", found, searched - began
    yield "lexical", best, scored - searched
    yield "fused", order, time.process_time() - began


def embedded(texts: Sequence[str], *, query: bool) -> Vectors:
    """The vectors of texts, by the hash of their content from the cache, else made and kept there."""
    model = BuiltIn()
    folder = CACHE / model.name
    folder.mkdir(parents=True, exist_ok=True)
    made = np.empty((len(texts), model.dimension), np.float32)
    for at, text in enumerate(texts):
        key = hashlib.sha256(f"{'query' if query else 'passage'}:{text}".encode()).hexdigest()
        file = folder / key[:2] / key
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            vector = model.query(text) if query else model.passages([text])[0]
            part = file.with_suffix(".part")
            part.write_bytes(vector.astype(np.float32).tobytes())
            part.replace(file)
        made[at] = np.frombuffer(file.read_bytes(), np.float32)
    return made


def recall(exact: NDArray[np.int64], found: NDArray[np.int64]) -> float:
    """The share of the exact neighbours that were found, over all rows."""
    return float(np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(exact.tolist(), found.tolist(), strict=True)]))


def threads(count: int) -> None:
    """How many threads FAISS uses."""
    faiss.omp_set_num_threads(count)


def _set(name: str, texts: list[str], questions: list[str], gold: list[int]) -> Set:
    return Set(name, texts, np.arange(len(texts)), questions, np.asarray(gold))


def _sections(name: str, sections: list[dict[str, Any]], asked: list[dict[str, Any]], key: str) -> Set:
    numbers = {row["id"]: at for at, row in enumerate(sections)}
    pieces = [(at, piece.text) for at, row in enumerate(sections) for piece in split(row["text"], markdown=True)]
    known = [row for row in asked if row[key] in numbers]
    owner = np.asarray([at for at, _ in pieces])
    gold = np.asarray([numbers[row[key]] for row in known])
    return Set(name, [text for _, text in pieces], owner, [row["query"] for row in known], gold)


def _rank(owners: NDArray[np.int64], gold: int) -> int:
    """From 0, among documents, each where its best passage stands; far out when it is not there."""
    seen = list(dict.fromkeys(owners.tolist()))
    return seen.index(gold) if gold in seen else 1_000_000


def _scores(ranks: Sequence[int]) -> dict[str, float]:
    found = np.asarray(ranks)
    top = found < 10
    gain = np.where(top, 1 / np.log2(np.minimum(found, 10) + 2), 0)
    scores = {f"r{k}": float((found < k).mean()) for k in (1, 5, 10)}
    scores |= {"mrr10": float(np.where(top, 1 / (found + 1), 0).mean()), "ndcg10": float(gain.mean())}
    return {name: round(value, 4) for name, value in scores.items()}


def _query_ms(questions: Sequence[str]) -> float:
    """Processor milliseconds to embed one question."""
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
