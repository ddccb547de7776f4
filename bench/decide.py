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
from functools import partial
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolCall
from langchain_core.tools import BaseTool

from bench.models import add_arguments as add_model_arguments
from bench.models import codes, models
from graph import choice
from graph.choice import expression
from graph.context.system_prompt import system_prompt
from graph.tool import TOOLS, memory_tools, wish_tools
from graph.tool.calculation import arithmetic, zone
from graph.tool.reach import MemoryReach
from graph.tool.time import LOCAL
from model.call.stream import complete_answer
from model.modelset import ModelSet
from model.scripted import ScriptedModel
from retrieval.answer.lookup import LookUp
from retrieval.answer.tool import build_document_tool as search_documents

QUESTIONS = Path(__file__).parent / "data" / "decide.jsonl"
HELD_OUT = QUESTIONS.with_stem("decide_held_out")
"""Twenty more questions, which nothing was tuned with; they have figures of their own."""
LANGUAGES = ("ko", "en")
NONE = "none"
UNWRITTEN = "(written by the model)"
"""Stands for the expression of a sum where no model is there to write it."""


@dataclass(frozen=True)
class ChoiceOutcome:
    """One question: the calls that were chosen for it, whether they are right, the seconds that the choice took."""

    row: dict[str, Any]
    calls: list[ToolCall]
    right: bool
    seconds: float

    @property
    def wanted(self) -> str:
        """Returns the tool that the question needs, or ``none``."""
        return str(self.row.get("tool") or NONE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    add_model_arguments(parser)
    parser.add_argument(
        "--model", action="store_true", help="measure the model of the settings (else: the router alone)"
    )
    parser.add_argument("--data", type=Path, default=QUESTIONS, help="JSON lines with the questions")
    parser.add_argument("--held-out", type=Path, default=HELD_OUT, help="JSON lines with questions reported apart")
    parser.add_argument("--wrong", action="store_true", help="list the wrong choices")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Chooses tools for every question. ``right_share``: the share with the right tool and arguments, or rightly
    without a tool.

    The router needs no model; no model is started for it. Without ``--model``, a sum whose expression the model would
    write counts as right, because the router chose the right tool.
    """
    chosen = models(args) if args.url or args.model else codes()
    tools = offered(chosen)
    for language in LANGUAGES:  # not measured: the first choice of a language loads its data or fills the cache
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
    """Returns the tools of the app with default settings, as if its own documents were indexed and memory ran. The
    bench calls none of them."""
    reach = cast(MemoryReach, None)
    routed = chosen.profile.tools == "routed"
    memory = wish_tools(reach, lambda _question, _texts: []) if routed else memory_tools(reach)
    return [*TOOLS, *memory, search_documents(cast("Callable[[str], LookUp]", None))]


def _rows(path: Path) -> list[dict[str, Any]]:
    """Returns the questions ordered by language, so that the model reads the prompt of each language once."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return sorted(rows, key=lambda row: str(row["language"]))


def _choose(chosen: ModelSet, tools: Sequence[BaseTool], row: dict[str, Any]) -> ChoiceOutcome:
    before: list[AnyMessage] = [HumanMessage(row["previous"]), AIMessage("…")] if row.get("previous") else []
    messages: list[AnyMessage] = [*before, HumanMessage(row["question"])]
    started = time.perf_counter()
    calls = _calls(chosen, tools, messages, row["language"])
    return ChoiceOutcome(row, calls, right(row, calls), time.perf_counter() - started)


def _calls(chosen: ModelSet, tools: Sequence[BaseTool], messages: list[AnyMessage], language: str) -> list[ToolCall]:
    """Chooses as a turn does: by the router, or by the model itself. Leaves out the fast path for small talk, so that
    the choice itself is measured."""
    system = SystemMessage(system_prompt(chosen.profile, language, tools))
    if chosen.profile.tools == "routed":
        return choice.choose_tool_calls(chosen.profile, tools, messages, partial(_written, chosen, language, [system]))
    return complete_answer(choice.prepare_chat_model(chosen, tools), [system, *messages]).tool_calls


def _written(chosen: ModelSet, language: str, conversation: list[AnyMessage], asked: expression.Sum) -> str | None:
    """Returns the expression that the model writes, or ``UNWRITTEN`` without a model."""
    if isinstance(chosen.chat, ScriptedModel):
        return UNWRITTEN
    reply = expression.ask_model_expression(
        chosen.chat, expression.build_expression_prompt(asked, language, conversation), None
    )
    formula = str(reply.text).strip() if reply else ""
    return formula if expression.is_expression_faithful(formula, asked) else None


def right(row: dict[str, Any], calls: list[ToolCall]) -> bool:
    """Returns whether the calls are those that the question needs. An expression counts by its value, a place by its
    time zone."""
    tool = row.get("tool")
    if tool is None or len(calls) != 1 or calls[0]["name"] != tool:
        return tool is None and not calls
    if tool == "calculate":
        formula = str(calls[0]["args"].get("expression"))
        return formula == UNWRITTEN or _value(formula) == _value(row["value"])
    place = str(calls[0]["args"].get("zone", LOCAL))
    return bool((zone.find_place_zone(place) or place) == row["zone"])


def _value(formula: str) -> Decimal | None:
    try:
        return arithmetic.evaluate_expression(arithmetic.normalize_expression(formula))[0]
    except arithmetic.CannotCalculate:
        return None


def _figures(outcomes: list[ChoiceOutcome]) -> dict[str, object]:
    """Returns the shares of right choices, of wrong or needless tools, and of missed tools."""
    by_language = {
        language: [outcome for outcome in outcomes if outcome.row["language"] == language] for language in LANGUAGES
    }
    return {
        "right_share": _share(outcomes),
        **{f"{language}_share": _share(part) for language, part in by_language.items()},
        **_by_tool(outcomes),
        "wrong_tool_share": sum(bool(outcome.calls) and not outcome.right for outcome in outcomes)
        / max(1, len(outcomes)),
        "missed_share": sum(not outcome.calls and not outcome.right for outcome in outcomes) / max(1, len(outcomes)),
        "greeting_calls": sum(bool(outcome.calls) for outcome in outcomes if outcome.row.get("greeting")),
    }


def _by_tool(outcomes: list[ChoiceOutcome]) -> dict[str, object]:
    """Returns the share of right choices by the tool that is needed, and the number of calls by tool where none is
    needed."""
    tools = sorted({outcome.wanted for outcome in outcomes})
    needless = Counter(call["name"] for outcome in outcomes if outcome.wanted == NONE for call in outcome.calls)
    shares = {f"{tool}_share": _share([outcome for outcome in outcomes if outcome.wanted == tool]) for tool in tools}
    return {**shares, "needless": dict(needless)}


def _share(outcomes: list[ChoiceOutcome]) -> float:
    return sum(outcome.right for outcome in outcomes) / max(1, len(outcomes))


def _milliseconds(outcomes: list[ChoiceOutcome]) -> dict[str, float]:
    """Returns the median and the 95th percentile of the milliseconds of a choice, the embedding included."""
    milliseconds = sorted(1000 * outcome.seconds for outcome in outcomes)
    return {
        "milliseconds": statistics.median(milliseconds),
        "milliseconds_p95": milliseconds[int(0.95 * (len(milliseconds) - 1))],
    }


def _wrong(outcomes: list[ChoiceOutcome], wanted: bool) -> dict[str, object]:
    if not wanted:
        return {}
    return {
        "wrong": [
            {"question": outcome.row["question"], "calls": [f"{call['name']} {call['args']}" for call in outcome.calls]}
            for outcome in outcomes
            if not outcome.right
        ]
    }
