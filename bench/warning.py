"""The warning «facts missing from the summary»: how often a fact that it names is really missing.

The rows are 196 facts that extracted summaries at rate 0.3 lack, drawn at random (seed 11) over both languages and
labelled by hand one by one. A row is right when somebody told this number, date, time, name, code or address, and the
summary lacks it. Half of the dialogues (``held``) are counted separately; they are no test set, because their rows were
read while the rule was written. The answers in ``lists`` are full of lists and headings, in the way that models write.
Rows of ``manual``, ``music`` and ``airline`` need ``--data``: a folder with hgtods (ko) and tau-bench (en), both under
the MIT licence.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from bench import dialogue
from graph.context.turns import CHUNK
from graph.summary.original import Original

ROWS = dialogue.DATA / "warning.jsonl"
FILES = {
    "manual": "ko/hgtods_manual_dev.jsonl",
    "music": "ko/hgtods_music_dev.jsonl",
    "airline": "en/taubench_airline_gpt4o_success.jsonl",
}


@dataclass(frozen=True)
class Row:
    """One fact that a summary lacks. ``source``: the set and the dialogue; ``first``: the first turn of its chunk;
    ``right``: the fact belongs in a warning; ``why``: the reason against it."""

    source: str
    language: str
    first: int
    kind: str
    fact: str
    half: str
    right: bool
    why: str = ""

    @property
    def bundled(self) -> bool:
        return self.source.partition("/")[0] not in FILES


def rows() -> list[Row]:
    """Returns the labelled rows."""
    return [Row(**json.loads(line)) for line in ROWS.read_text("utf-8").splitlines()]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--data", type=Path, help="folder with ko/hgtods_… and en/taubench_…, for all rows")
    parser.add_argument("--show", action="store_true", help="list what is named wrongly and what is left out")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the precision of all facts that a summary lacks (``before``), the precision of the facts that the warning
    names (``precision``), and the share of the right facts that the warning names (``recall``): of the held-out half,
    then of the other half and by language."""
    chosen = [row for row in rows() if row.bundled or args.data]
    named = {row: row.fact in _told(row.source, row.first, args.data) for row in chosen}
    result: dict[str, object] = {"rows": len(chosen), **figures([row for row in chosen if row.half == "held"], named)}
    for name in ("dev", "ko", "en"):
        part = figures([row for row in chosen if name in (row.half, row.language)], named)
        result |= {f"{name}.{key}": value for key, value in part.items()}
    if args.show:
        wrong = [row for row in chosen if named[row] != row.right]
        result["rows_wrong"] = [{"source": row.source, "fact": row.fact, "named": named[row]} for row in wrong]
    return result


def figures(chosen: Sequence[Row], named: dict[Row, bool]) -> dict[str, object]:
    """Returns the figures of these rows: precision before and of the warning, the number of named facts, recall."""
    right = [row for row in chosen if row.right]
    shown = [row for row in chosen if named[row]]
    hits = sum(row.right for row in shown)
    return {
        "before": round(len(right) / max(1, len(chosen)), 3),
        "precision": round(hits / max(1, len(shown)), 3),
        "named": len(shown),
        "recall": round(hits / max(1, len(right)), 3),
    }


@cache
def _told(source: str, first: int, data: Path | None) -> frozenset[str]:
    """Returns the facts of a chunk that a warning may name."""
    turns = _dialogues(source.partition("/")[0], data)[source]
    messages = tuple(chain.from_iterable(turns[first - 1 : first - 1 + CHUNK]))
    return frozenset(fact.text for fact in Original(messages, (1, 2, 3), 0.3, "en").told_facts)


@cache
def _dialogues(name: str, data: Path | None) -> dict[str, list[list[AnyMessage]]]:
    """Returns the dialogues of a set by their source, each as a list of its turns."""
    if name == "own":
        dialogues = [*dialogue.samples(), dialogue.load(dialogue.LONG)]
    elif name == "lists":
        dialogues = dialogue.lists()
    else:
        assert data is not None
        lines = (data / FILES[name]).read_text("utf-8").splitlines()
        reader = {"manual": _manual, "music": _music, "airline": _airline}[name]
        return dict(reader(number, json.loads(line)) for number, line in enumerate(lines))
    return {f"{name}/{sample.id}": [list(turn.messages) for turn in sample.turns] for sample in dialogues}


def _manual(_number: int, row: dict[str, Any]) -> tuple[str, list[list[AnyMessage]]]:
    messages = ((HumanMessage if turn["role"] == "user" else AIMessage)(turn["text"]) for turn in row["turns"])
    return f"manual/{row['id']}", _turns(messages)


def _music(_number: int, row: dict[str, Any]) -> tuple[str, list[list[AnyMessage]]]:
    turns: list[list[AnyMessage]] = [
        [HumanMessage(turn["user"]), AIMessage(turn["assistant"])] for turn in row["turns"]
    ]
    return f"music/{row['id']}", turns


def _airline(number: int, row: dict[str, Any]) -> tuple[str, list[list[AnyMessage]]]:
    kinds = {"user": HumanMessage, "assistant": AIMessage}
    messages = (
        kinds[message["role"]](message.get("content") or "")
        if message["role"] in kinds
        else ToolMessage(message.get("content") or "", tool_call_id="call")
        for message in row["messages"]
        if message["role"] != "system"
    )
    return f"airline/{number}", _turns(messages)


def _turns(said: Iterator[AnyMessage]) -> list[list[AnyMessage]]:
    """Groups messages by turn; drops messages before the first question."""
    turns: list[list[AnyMessage]] = []
    for message in said:
        if isinstance(message, HumanMessage):
            turns.append([])
        if turns:
            turns[-1].append(message)
    return turns
