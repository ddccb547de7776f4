"""Files as people have them: whether their text, tables, headings, reading order and titles come out as they stand.

Every check of a file is a row.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.messy import Verdict
from errors import DocumentError
from retrieval.read.load import KINDS, load_file
from retrieval.read.split import Piece, split_passages

FILES = Path(__file__).parents[1] / "data" / "files"
LIMIT = 10**7
SECONDS = 1.0
"""The processor time for which the files of a kind are read again and again."""


def judge(args: argparse.Namespace) -> Iterator[Verdict]:
    """Judges every check of every file, by code."""
    for line in (FILES / "rows.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        for case, right, outcome in _check(row):
            yield Verdict(row["table"], f"{row['file']}: {case}", right, bool(row.get("unseen")), outcome)


def measure_reading() -> Iterator[dict[str, object]]:
    """Yields for each kind of files the passages and megabytes that are read in a second of processor time; embedding
    comes on top, at the same pace for every kind."""
    for kind in KINDS:
        files = [path for path in FILES.rglob("*") if path.suffix in kind.suffixes]
        data = [(path.name, path.read_bytes()) for path in files]
        began, passages, size = time.process_time(), 0, 0
        while files and time.process_time() - began < SECONDS:
            for name, content in data:
                loaded = load_file(name, content, LIMIT)
                passages += len(split_passages(loaded.text, markdown=loaded.markdown, title=loaded.title))
                size += len(content)
        if files:
            seconds = time.process_time() - began
            yield {
                "kind": kind.name,
                "passages": round(passages / seconds),
                "megabytes": round(size / seconds / 1e6, 2),
            }


def _check(row: Mapping[str, Any]) -> Iterator[tuple[str, bool, str]]:
    """Yields what is checked, whether it is right, and what came out. ``has``, ``lacks``: texts that must and must not
    stand there; ``lines``: texts that stand in one line; ``order``: texts in the order of reading; ``under``: the
    heading above a text; ``columns``: of the first table; ``title``: of the file."""
    path = FILES / row["file"]
    try:
        loaded = load_file(path.name, path.read_bytes(), LIMIT)
    except DocumentError as error:
        yield "is read", False, error.code
        return
    pieces = split_passages(loaded.text, markdown=loaded.markdown, title=loaded.title)
    text = "\n\n".join("\n".join([*piece.path, piece.text]) for piece in pieces)
    text = "\n".join([loaded.title, text.replace("\xa0", " ")])
    for part in row.get("has", ()):
        said = re.sub(r"^#+ ", "", part, flags=re.MULTILINE)
        yield f"has {part!r}", all(each in text for each in said.split("\n\n")), text[:300]
    for part in row.get("lacks", ()):
        yield f"lacks {part!r}", part not in text, text[:300]
    for parts in row.get("lines", ()):
        yield f"one line {parts}", any(all(part in line for part in parts) for line in text.split("\n")), text[:300]
    if order := row.get("order"):
        places = [text.find(part) for part in order]
        yield "order", places == sorted(places) and -1 not in places, str(places)
    for part, heading in row.get("under", {}).items():
        yield f"{part!r} under {heading!r}", _is_under(pieces, part, heading), str(_paths(pieces, part))
    if columns := row.get("columns"):
        found = list(loaded.sheets[0].columns) if loaded.sheets else []
        yield "columns", found == columns, str(found)
    if title := row.get("title"):
        yield "title", loaded.title == title, loaded.title


def _is_under(pieces: list[Piece], part: str, heading: str) -> bool:
    return any(heading in path for path in _paths(pieces, part))


def _paths(pieces: list[Piece], part: str) -> list[tuple[str, ...]]:
    return [piece.path for piece in pieces if part in piece.text]
