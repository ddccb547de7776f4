"""First sources: of questions that uploads answer, and of questions that only the product's manual answers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from retrieval import Filters, Hit, Library
from retrieval.answer.heading import measure_nearness
from retrieval.document import SearchScope
from retrieval.product_docs import first_run
from settings import load_current_settings
from store import Store

DATA = Path(__file__).parent / "data"
HALVES = ("dev", "held")
"""The halves of the questions. The rule was chosen on ``dev``; nobody looked at ``held`` before."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--rows", action="store_true", help="list every question whose first source is wrong")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns figures by half and by whose document answers (``mine``, ``product``). ``first_share``: the share of
    questions whose first passage is right, in the order that a judging model gets; ``section_share``: the share whose
    first section is right, in the order that a small model quotes from; ``wrong_quotes``: the number of wrong sections
    that are near enough to be quoted. For a question about the product any passage of the product's documents is
    right."""
    rows = [json.loads(line) for line in (DATA / "collection.jsonl").read_text("utf-8").splitlines()]
    with TemporaryDirectory() as folder:
        settings = load_current_settings().model_copy(update={"data_dir": Path(folder), "database_url": None})
        store = Store(settings.database)
        with closing(Library.open(settings, store)) as library:
            first_run(library)
            library.add([(file.name, file.read_bytes()) for file in sorted((DATA / "collection").glob("*.md"))])
            outcomes = [(row, *_asked(library, row)) for row in rows]
        store.close()
    result: dict[str, object] = {
        f"{half}.{whose}": _shares(
            [outcome for outcome in outcomes if outcome[0]["half"] == half and outcome[0]["from"] == whose]
        )
        for half in HALVES
        for whose in ("mine", "product")
    }
    if args.rows:
        result["wrong"] = [row["question"] for row, passage, section, _ in outcomes if not (passage and section)]
    return result


def _asked(library: Library, row: Mapping[str, str]) -> tuple[bool, bool, bool]:
    """Returns whether the first passage and the first section for a question are right, and whether that section would
    be quoted."""
    scope = SearchScope(("mine", "product"))
    passages = library.search_all(row["question"], Filters(scope=scope))
    for language in (row["language"], None):  # in the order of ``retrieval.answer.quote``
        sections = library.sections(row["question"], Filters(product_language=language, scope=scope))  # type: ignore[arg-type]
        if near := measure_nearness(sections) >= library.near:
            break
    return _right(passages, row), _right(sections, row), near


def _right(hits: Sequence[Hit], row: Mapping[str, str]) -> bool:
    first = hits[0].passage
    return first.label == row["gold"] if row["gold"] else first.collection == "product"


def _shares(done: Sequence[tuple[Mapping[str, str], bool, bool, bool]]) -> dict[str, float]:
    return {
        "questions": len(done),
        "first_share": round(sum(passage for _, passage, _, _ in done) / len(done), 3),
        "section_share": round(sum(section for _, _, section, _ in done) / len(done), 3),
        "wrong_quotes": sum(near and not section for _, _, section, near in done),
    }
