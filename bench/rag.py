"""Answers from the product's own documents: the right section, refusals, calls and seconds."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from bench.models import add_arguments as add_model_arguments
from bench.models import models
from graph.system import system_prompt
from model.modelset import ModelSet
from model.stream import complete
from retrieval import Library, LookUp
from retrieval.batch import first_run
from retrieval.tool import result
from settings import Settings, current
from store import Store

QUESTIONS = Path(__file__).parent / "data" / "rag.jsonl"
KINDS = ("answer", "again", "section", "none")


@dataclass(frozen=True)
class Outcome:
    """One question. ``first``: the right section is the first passage; ``found``: it is among them; ``refused``: none
    was given; ``cited``: the answer names the number of a right passage (None: no answer was made)."""

    kind: str
    question: str
    gold: tuple[str, ...]
    given: tuple[str, ...]
    first: bool
    found: bool
    refused: bool
    sufficiency: str
    confidence: float | None
    fallback: str
    calls: int
    seconds: float
    cited: bool | None = None
    answer: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="JSON lines with questions and right sections")
    parser.add_argument("--library", type=Path, help="folder for the index, to keep it (else: a temporary one)")
    parser.add_argument("--limit", type=int, default=0, help="questions of each kind at most (0: all)")
    parser.add_argument("--answer", action="store_true", help="also make the answers and look for their citations")
    parser.add_argument("--rows", action="store_true", help="list every question")


def run(args: argparse.Namespace) -> dict[str, object]:
    """``right_share``: of the answerable questions, those with the right section among the passages given;
    ``first_share``: as the first one; ``refused_share``: of the unanswerable ones, those for which none was given;
    ``false_refusals``: answerable ones that were refused; ``judged_share``: of all judge calls, those that were read.
    """
    rows = [json.loads(line) for line in args.data.read_text("utf-8").splitlines()]
    chosen = [row for kind in KINDS for row in [each for each in rows if each["kind"] == kind][: args.limit or None]]
    judge = models(args)
    with TemporaryDirectory() as folder:
        settings = current().model_copy(update={"data_dir": args.library or Path(folder), "database_url": None})
        with _library(settings) as library:
            done = list(_outcomes(library.library, judge, chosen, args.answer))
    result = _summary([outcome for outcome, _ in done]) | {"judged_share": _judged(look for _, look in done)}
    if args.rows:
        result["outcomes"] = [_row(outcome) for outcome, _ in done]
    return result


class _library:
    """The product's documents, indexed."""

    def __init__(self, settings: Settings) -> None:
        self._store = Store(settings.database)
        self.library = Library.open(settings, self._store)

    def __enter__(self) -> _library:
        first_run(self.library)
        return self

    def __exit__(self, *_: object) -> None:
        self.library.close()
        self._store.close()


def _outcomes(
    library: Library, judge: ModelSet, rows: Sequence[dict[str, Any]], answer: bool
) -> Iterator[tuple[Outcome, LookUp]]:
    for row in rows:
        began = time.monotonic()
        found = library.look_up(row["question"], judge, row["language"])
        given = tuple(each.label for each in found.passages)
        right = {each.number for each in found.passages if each.label in row["gold"]}
        said = _answer(judge, row, found) if answer else ""
        yield (
            Outcome(
                kind=row["kind"],
                question=row["question"],
                gold=tuple(row["gold"]),
                given=given,
                first=bool(given) and given[0] in row["gold"],
                found=bool(right),
                refused=not given,
                sufficiency=found.sufficiency,
                confidence=found.confidence,
                fallback=found.fallback.kind if found.fallback else "",
                calls=found.calls,
                seconds=time.monotonic() - began,
                cited=any(f"[{number}]" in said for number in right) if answer else None,
                answer=said,
            ),
            found,
        )


def _answer(judge: ModelSet, row: dict[str, Any], found: LookUp) -> str:
    messages = [
        SystemMessage(system_prompt(row["language"], (), calls=False)),
        HumanMessage(f"{result(found)}\n\n{row['question']}"),
    ]
    return complete(judge.chat, messages, max_tokens=160).text.strip()


def _summary(done: Sequence[Outcome]) -> dict[str, object]:
    answerable = [each for each in done if each.kind != "none"]
    refusable = [each for each in done if each.kind == "none"]
    kinds = {kind: [each for each in done if each.kind == kind] for kind in KINDS}
    return {
        "questions": len(done),
        "right_share": _share(each.found for each in answerable),
        "first_share": _share(each.first for each in answerable),
        "right_by_kind": {kind: _share(each.found for each in kinds[kind]) for kind in KINDS[:-1]},
        "refused_share": _share(each.refused for each in refusable),
        "false_refusals": sum(each.refused for each in answerable),
        "cited_share": _share(bool(each.cited) for each in answerable if each.cited is not None),
        "calls_mean": round(statistics.fmean(each.calls for each in done), 2),
        "seconds_p50": round(statistics.median(each.seconds for each in done), 2),
        "seconds_max": round(max(each.seconds for each in done), 2),
    }


def _judged(looks: Iterable[LookUp]) -> float | None:
    steps = [step for look in looks for step in look.trace if step.reason not in ("empty", "unrelated")]
    return _share(step.judgement is not None for step in steps)


def _share(right: Iterable[bool]) -> float | None:
    values = list(right)
    return round(sum(values) / len(values), 3) if values else None


def _row(outcome: Outcome) -> dict[str, object]:
    shown = {name: getattr(outcome, name) for name in Outcome.__dataclass_fields__}
    return {**shown, "gold": " | ".join(outcome.gold), "given": " | ".join(outcome.given)}
