"""Files, dates and words as people really have them: the share of right rows by group and table.

A group is one file of ``bench/messy`` and one line of ``GROUPS``.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Protocol, cast

from bench.messy import Verdict
from bench.messy.files import measure_reading
from bench.models import add_arguments as add_model_arguments

GROUPS = (
    "dates",
    "files",
    "stream",
    "text",
)  # fmt: skip
"""The groups, each the name of a file of ``bench/messy``."""


class Group(Protocol):
    """The interface of a group: the function that its file defines."""

    def judge(self, args: argparse.Namespace) -> Iterator[Verdict]: ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--group", action="append", choices=GROUPS, help="only this group; may be repeated")
    parser.add_argument(
        "--model", action="store_true", help="with the model of the settings, where a group can use one (else: by code)"
    )
    parser.add_argument("--speed", action="store_true", help="also how fast the files of each kind are read")
    parser.add_argument("--wrong", action="store_true", help="list the wrong rows")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Judges every row of the groups. ``right``: the share of right rows; ``unseen_right``: of those rows that were
    written after what they measure was done. ``speed``: see ``bench.messy.files.measure_reading``."""
    chosen = args.group or GROUPS
    verdicts = {name: list(load_group(name).judge(args)) for name in chosen}
    figures = [row for name, judged in verdicts.items() for row in count_tables(name, judged)]
    wrong = [
        {"group": name, "table": verdict.table, "case": verdict.case, "outcome": verdict.outcome}
        for name, judged in verdicts.items()
        for verdict in judged
        if not verdict.right
    ]
    speeds = {"speed": list(measure_reading())} if args.speed and "files" in chosen else {}
    return {"groups": figures, **speeds, **({"wrong": wrong} if args.wrong else {})}


def load_group(name: str) -> Group:
    """Imports and returns the group with this name."""
    return cast(Group, importlib.import_module(f"bench.messy.{name}"))


def count_tables(group: str, verdicts: Iterable[Verdict]) -> Iterator[dict[str, object]]:
    """Yields the figures of every table of a group, in the order of the tables' names."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.table)
    for name, rows in groupby(ordered, key=lambda verdict: verdict.table):
        judged = list(rows)
        unseen = [verdict for verdict in judged if verdict.unseen]
        yield {
            "group": group,
            "table": name,
            "rows": len(judged),
            "right": compute_share(judged),
            "unseen_rows": len(unseen),
            "unseen_right": compute_share(unseen),
        }


def compute_share(verdicts: list[Verdict]) -> float | None:
    """Returns the share of right rows; None where there are none."""
    return round(sum(verdict.right for verdict in verdicts) / len(verdicts), 3) if verdicts else None
