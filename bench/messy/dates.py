"""Questions about days and times, and everyday messages with numbers, dates and names that ask for neither.

A row of ``bench/data/messy/dates.jsonl`` has a ``text``, the ``value`` that answers it (a date, a number of days or
other units, a time of day; empty for an everyday message), its ``language``, and whether it was written after the code
(``unseen``). All are asked on Friday, 27 November 2026, 14:30 in Seoul.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from bench.decide import offered
from bench.messy import Verdict
from bench.models import codes
from graph import choice
from graph.answer import by_code
from graph.tool import TOOLS
from graph.tool.time import configure_tool_clock

DATA = Path(__file__).parent.parent / "data" / "messy" / "dates.jsonl"
NOW = datetime(2026, 11, 27, 14, 30, tzinfo=ZoneInfo("Asia/Seoul"))


def judge(args: argparse.Namespace) -> Iterator[Verdict]:
    """Yields a verdict on every row: of the questions, whether code answers them, and whether what it answers is right;
    of the everyday messages, whether code leaves them to the model."""
    for line in DATA.read_text("utf-8").splitlines():
        row = json.loads(line)
        results, answer = ask(row["text"], row["language"])
        shown = answer or ""
        if not row["value"]:
            yield Verdict(
                f"everyday messages left alone, {row['language']}", row["text"], not answer, row["unseen"], shown
            )
            continue
        yield Verdict(f"questions that code answers, {row['language']}", row["text"], bool(answer), row["unseen"])
        if answer:
            is_right = any(is_value(result, row["value"]) for result in results)
            yield Verdict(f"answers of code, {row['language']}", row["text"], is_right, row["unseen"], shown)


def ask(text: str, language: str) -> tuple[list[ToolMessage], str | None]:
    """Returns the results of the tools about sums and times that a message calls, and the answer that code words of
    them."""
    models = codes()
    question = HumanMessage(text)
    calls = choice.choose_tool_calls(models.profile, offered(models), [question], now=lambda: NOW)
    tools = {tool.name: tool for tool in TOOLS}
    results = [
        tools[call["name"]].invoke(dict(call), configure_tool_clock(lambda: NOW))
        for call in calls
        if call["name"] in tools
    ]
    messages: list[AnyMessage] = [question, *results]
    return results, by_code.render_answer_by_code(messages, language) if results else None


def is_value(result: ToolMessage, value: str) -> bool:
    """Returns whether a result has the value: a date, a number, or a time of day."""
    facts: dict[str, Any] = result.artifact or {}
    moment = facts.get("moment") or ("" if facts.get("dates") else facts.get("now") or "")
    return value in (facts.get("day"), facts.get("count"), moment[:10], moment[11:16])
