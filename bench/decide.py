"""Tool decisions: the share of questions whose tool and arguments are right."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall
from langchain_core.tools import BaseTool

from bench.models import add_arguments as add_model_arguments
from bench.models import models
from graph.casual import is_casual
from graph.documents import grounded
from graph.system import system_prompt
from graph.tool import TOOLS, arithmetic, memory_tools, zone
from graph.tool.reach import Reach
from graph.tool.time import LOCAL
from model import decide
from model.modelset import ModelSet
from model.stream import complete, usage
from retrieval.library import Library
from retrieval.lookup import LookUp
from retrieval.own import first_run
from retrieval.tool import tool as search_documents
from settings import load
from store import Store

QUESTIONS = Path(__file__).parent / "data" / "decide.jsonl"
HELD_OUT = QUESTIONS.with_stem("decide_held_out")
"""Twenty more, that no prompt was tuned with; reported apart."""


@dataclass(frozen=True)
class Outcome:
    """One question: whether it was decided rightly, how long it took, its prompt tokens and those from the cache."""

    row: dict[str, Any]
    calls: list[ToolCall]
    right: bool
    seconds: float
    prompt: int
    cached: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this bench."""
    add_model_arguments(parser)
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="JSON lines with the questions")
    parser.add_argument("--held-out", type=Path, default=HELD_OUT, help="JSON lines with questions reported apart")
    parser.add_argument("--wrong", action="store_true", help="list the wrong decisions")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Decides every question. ``right_share``: the right tool with right arguments, or rightly none."""
    with tempfile.TemporaryDirectory() as folder:
        return _measured(args, models(args), offered(Path(folder)))


def offered(folder: Path) -> list[BaseTool]:
    """What the app offers by default: its own documents are indexed, memory is there. No tool is called here."""
    settings = load(data_dir=folder)
    library = Library.open(settings, Store(settings.database))
    first_run(library)
    documents = grounded(search_documents(cast("Callable[[str], LookUp]", None)), library)
    return [*TOOLS, *memory_tools(cast(Reach, None)), documents]


def _measured(args: argparse.Namespace, chosen: ModelSet, tools: Sequence[BaseTool]) -> dict[str, object]:
    rows = _rows(args.data)
    for language in ("ko", "en"):  # the first call of a language fills the cache; it is not measured
        _decide(chosen, tools, {"language": language, "question": "준비" if language == "ko" else "Ready"})
    outcomes, held_out = ([_decide(chosen, tools, row) for row in these] for these in (rows, _rows(args.held_out)))
    return {
        "model": chosen.name,
        "questions": len(outcomes),
        **_figures(outcomes),
        "held_out_questions": len(held_out),
        "held_out_share": _share(held_out),
        **_wrong(outcomes + held_out, args.wrong),
    }


def _rows(path: Path) -> list[dict[str, Any]]:
    """The questions by language, so that each language's prompt is evaluated once."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return sorted(rows, key=lambda row: str(row["language"]))


def _decide(chosen: ModelSet, tools: Sequence[BaseTool], row: dict[str, Any]) -> Outcome:
    history: list[AnyMessage] = [HumanMessage(row["previous"]), AIMessage("…")] if row.get("previous") else []
    started = time.monotonic()
    message = _decision(chosen, tools, row["question"], history, row["language"])
    seconds = time.monotonic() - started
    prompt, cached, _, _ = usage(message)
    return Outcome(row, message.tool_calls, right(row, message.tool_calls), seconds, prompt, cached)


def _decision(
    chosen: ModelSet, tools: Sequence[BaseTool], question: str, history: list[AnyMessage], language: str
) -> AIMessage:
    """As in a turn: natively, or by the decision call. The fast path for small talk is left out, to see the model."""
    if chosen.decide is not None:
        return decide.decision(chosen, tools, question, history, language=language)
    system = SystemMessage(system_prompt(language, tools))
    return complete(decide.prepare(chosen, tools), [system, *history, HumanMessage(question)])


def right(row: dict[str, Any], calls: list[ToolCall]) -> bool:
    """Whether the calls are those that the question needs: by the value of the expression, by the zone of the place."""
    wanted = row.get("tool")
    if wanted is None or len(calls) != 1 or calls[0]["name"] != wanted:
        return wanted is None and not calls
    if wanted == "calculate":
        return _value(str(calls[0]["args"].get("expression"))) == _value(row["value"])
    place = str(calls[0]["args"].get("zone", LOCAL))
    return bool((zone.find(place) or place) == row["zone"])


def _value(expression: str) -> Decimal | None:
    try:
        return arithmetic.evaluate(arithmetic.understand(expression))[0]
    except arithmetic.CannotCalculate:
        return None


def _figures(outcomes: list[Outcome]) -> dict[str, object]:
    by_language = {tongue: [each for each in outcomes if each.row["language"] == tongue] for tongue in ("ko", "en")}
    greetings = [each for each in outcomes if each.row.get("greeting")]
    return {
        "right_share": _share(outcomes),
        **{f"{tongue}_share": _share(these) for tongue, these in by_language.items()},
        "tool_share": _share([each for each in outcomes if each.row["tool"]]),
        "reply_share": _share([each for each in outcomes if not each.row["tool"]]),
        "greeting_calls": sum(bool(each.calls) for each in greetings),
        "greetings_on_fast_path": sum(is_casual(each.row["question"]) for each in greetings),
        "seconds_p50": statistics.median(each.seconds for each in outcomes),
        "seconds_max": max(each.seconds for each in outcomes),
        "cached_share": sum(each.cached for each in outcomes) / max(1, sum(each.prompt for each in outcomes)),
    }


def _share(outcomes: list[Outcome]) -> float:
    return sum(each.right for each in outcomes) / max(1, len(outcomes))


def _wrong(outcomes: list[Outcome], wanted: bool) -> dict[str, object]:
    if not wanted:
        return {}
    return {
        "wrong": [
            {"question": each.row["question"], "calls": [f"{call['name']} {call['args']}" for call in each.calls]}
            for each in outcomes
            if not each.right
        ]
    }
