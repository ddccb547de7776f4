"""Tool choice: the share of questions whose tool and arguments are right, by the router or a model's native calls."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall
from langchain_core.tools import BaseTool

from bench.models import add_arguments as add_model_arguments
from bench.models import codes, models
from graph import choice
from graph.system import system_prompt
from graph.tool import TOOLS, arithmetic, memory_tools, wish_tools, zone
from graph.tool.reach import Reach
from graph.tool.time import LOCAL
from model.modelset import ModelSet
from model.stream import complete
from retrieval.lookup import LookUp
from retrieval.tool import tool as search_documents

QUESTIONS = Path(__file__).parent / "data" / "decide.jsonl"
HELD_OUT = QUESTIONS.with_stem("decide_held_out")
"""Twenty more, that nothing was tuned with; reported apart."""
LANGUAGES = ("ko", "en")
NONE = "none"


@dataclass(frozen=True)
class Outcome:
    """One question: the calls that were chosen for it, whether they are right, how long the choice took."""

    row: dict[str, Any]
    calls: list[ToolCall]
    right: bool
    seconds: float

    @property
    def wanted(self) -> str:
        """The tool that the question needs."""
        return str(self.row.get("tool") or NONE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this bench."""
    add_model_arguments(parser)
    parser.add_argument(
        "--model", action="store_true", help="measure the model of the settings (else: the router alone)"
    )
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="JSON lines with the questions")
    parser.add_argument("--held-out", type=Path, default=HELD_OUT, help="JSON lines with questions reported apart")
    parser.add_argument("--wrong", action="store_true", help="list the wrong choices")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Chooses for every question. ``right_share``: the right tool with right arguments, or rightly none.

    The router needs no model, and none is started for it.
    """
    chosen = models(args) if args.url or args.model else codes()
    tools = offered(chosen)
    for language in LANGUAGES:  # the first choice of a language loads what it needs, or fills the cache
        _choose(chosen, tools, {"language": language, "question": "준비" if language == "ko" else "Ready"})
    outcomes, held_out = ([_choose(chosen, tools, row) for row in _rows(file)] for file in (args.data, args.held_out))
    return {
        "profile": chosen.profile.name,
        "model": "" if chosen.profile.tools == "routed" else chosen.name,
        "questions": len(outcomes),
        **_figures(outcomes),
        "held_out_questions": len(held_out),
        "held_out_share": _share(held_out),
        **{f"held_out_{name}": value for name, value in _by_tool(held_out).items()},
        **_milliseconds(outcomes + held_out),
        **_wrong(outcomes + held_out, args.wrong),
    }


def offered(chosen: ModelSet) -> list[BaseTool]:
    """What the app offers by default: its own documents are indexed, memory is there. No tool is called here."""
    reach = cast(Reach, None)
    routed = chosen.profile.tools == "routed"
    memory = wish_tools(reach, lambda _question, _texts: []) if routed else memory_tools(reach)
    return [*TOOLS, *memory, search_documents(cast("Callable[[str], LookUp]", None))]


def _rows(path: Path) -> list[dict[str, Any]]:
    """The questions by language, so that each language's prompt is evaluated once."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return sorted(rows, key=lambda row: str(row["language"]))


def _choose(chosen: ModelSet, tools: Sequence[BaseTool], row: dict[str, Any]) -> Outcome:
    before: list[AnyMessage] = [HumanMessage(row["previous"]), AIMessage("…")] if row.get("previous") else []
    messages: list[AnyMessage] = [*before, HumanMessage(row["question"])]
    started = time.perf_counter()
    calls = _calls(chosen, tools, messages, row["language"])
    return Outcome(row, calls, right(row, calls), time.perf_counter() - started)


def _calls(chosen: ModelSet, tools: Sequence[BaseTool], messages: list[AnyMessage], language: str) -> list[ToolCall]:
    """As in a turn: routed, or by the model itself. The fast path for small talk is left out, to see the choice."""
    if chosen.profile.tools == "routed":
        return choice.choose(chosen.profile, tools, messages)
    system = SystemMessage(system_prompt(chosen.profile, language, tools))
    return complete(choice.prepare(chosen, tools), [system, *messages]).tool_calls


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
    """Shares of right choices, of tools that were not needed or not these, and of tools that were missed."""
    tongues = {tongue: [each for each in outcomes if each.row["language"] == tongue] for tongue in LANGUAGES}
    return {
        "right_share": _share(outcomes),
        **{f"{tongue}_share": _share(these) for tongue, these in tongues.items()},
        **_by_tool(outcomes),
        "wrong_tool_share": sum(bool(each.calls) and not each.right for each in outcomes) / max(1, len(outcomes)),
        "missed_share": sum(not each.calls and not each.right for each in outcomes) / max(1, len(outcomes)),
        "greeting_calls": sum(bool(each.calls) for each in outcomes if each.row.get("greeting")),
    }


def _by_tool(outcomes: list[Outcome]) -> dict[str, object]:
    """The share of right choices by the tool that is needed, and which tools were called where none is."""
    tools = sorted({each.wanted for each in outcomes})
    needless = Counter(call["name"] for each in outcomes if each.wanted == NONE for call in each.calls)
    shares = {f"{tool}_share": _share([each for each in outcomes if each.wanted == tool]) for tool in tools}
    return {**shares, "needless": dict(needless)}


def _share(outcomes: list[Outcome]) -> float:
    return sum(each.right for each in outcomes) / max(1, len(outcomes))


def _milliseconds(outcomes: list[Outcome]) -> dict[str, float]:
    """Of a choice, the embedding included."""
    taken = sorted(1000 * each.seconds for each in outcomes)
    return {"milliseconds": statistics.median(taken), "milliseconds_p95": taken[int(0.95 * (len(taken) - 1))]}


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
