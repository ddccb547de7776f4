"""Tokens per turn against full history, over the bundled 50-turn dialogue with tool calls.

The agent runs the dialogue with its answers and tool results replayed. Summaries are verbatim sentences of the turns
packed to the target length, or the model's own with ``--model``; their calls are counted in.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from bench import dialogue
from bench import models as bench_models
from graph.agent import Agent, open_agent
from graph.event import ContextBuilt, Done
from graph.report import ContextReport
from model import scripted, token
from model.modelset import ModelSet
from settings import load
from text import sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=50, help="how many turns of the dialogue")
    parser.add_argument("--rate", type=float, default=0.3, help="compression rate")
    parser.add_argument("--model", action="store_true", help="let the model write the summaries and count the tokens")
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Prompt tokens of the last turn and of all, each against full history; ``saved_share`` with summary calls in."""
    turns = dialogue.load(dialogue.LONG).turns[: args.turns]
    with tempfile.TemporaryDirectory() as folder:
        models = _models(turns, args)
        agent = open_agent(load(data_dir=Path(folder), titles=False, memory=False), lambda: models)
        played = play(replace(agent, tools=replayed(turns)), turns, args.rate)
        agent.close()
    with_summaries, full = played.sums()
    summary_tokens = sum(played.summary_tokens)
    last = played.reports[-1][-1]
    return {
        f"tokens_at_{len(turns)}": last.total_tokens,
        f"full_at_{len(turns)}": last.full_tokens,
        "total": with_summaries + summary_tokens,
        "full_total": full,
        "saved_share": round(1 - (with_summaries + summary_tokens) / full, 4),
        "summary_calls": played.summary_calls,
        "summary_tokens": summary_tokens,
        "exact": last.exact,
        "breaks_even_at": played.break_even(),
        "by_turn": [
            {"turn": number, "tokens": reports[-1].total_tokens, "full": reports[-1].full_tokens}
            for number, reports in enumerate(played.reports, 1)
            if number in (1, 3, 4, 7, 10, 20, 30, 40, len(turns))
        ],
    }


@dataclass(frozen=True)
class Played:
    """The reports of every model call by turn, and what the summaries cost at that turn."""

    reports: list[list[ContextReport]]
    summary_tokens: list[int]
    summary_calls: int

    def sums(self) -> tuple[int, int]:
        """Prompt tokens of all calls: as they were, and with full history."""
        calls = [report for reports in self.reports for report in reports]
        return sum(each.total_tokens for each in calls), sum(each.full_tokens for each in calls)

    def break_even(self) -> int | None:
        """The first turn from which on the summaries have saved more than they cost."""
        saved, since = 0, None
        for number, (reports, cost) in enumerate(zip(self.reports, self.summary_tokens, strict=True), 1):
            saved += sum(each.saved_tokens for each in reports) - cost
            since = (since or number) if saved > 0 else None
        return since


def play(agent: Agent, turns: Sequence[dialogue.Turn], rate: float) -> Played:
    """Runs the dialogue; the report of every model call is kept."""
    session = agent.store.create_session("ko", rate)
    reports: list[list[ContextReport]] = []
    costs: list[int] = []
    spent = 0
    for turn in turns:
        events = list(agent.run(session.id, str(turn.messages[0].text)))
        if not isinstance(events[-1], Done):
            raise AssertionError(f"turn {len(reports) + 1} did not end well: {events[-1]}")
        agent.background.idle(600)
        reports.append([event.report for event in events if isinstance(event, ContextBuilt)])
        made = agent.store.ledger.summaries(session.id, superseded=True)
        costs.append(sum(each.prompt_tokens + each.answer_tokens for each in made) - spent)
        spent += costs[-1]
    return Played(reports, costs, len(made))


def replayed(turns: Sequence[dialogue.Turn]) -> list[BaseTool]:
    """Tools by the names that the dialogue uses; each gives its recorded results in order."""
    results: defaultdict[str, deque[str]] = defaultdict(deque)
    for turn in turns:
        for message in turn.messages:
            if isinstance(message, ToolMessage):
                results[str(message.name)].append(str(message.text))
    return [_tool(name, recorded.popleft) for name, recorded in results.items()]


def _tool(name: str, result: Callable[[], str]) -> BaseTool:
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return StructuredTool(name=name, description=name, args_schema=schema, func=lambda **_: result())


def _models(turns: Sequence[dialogue.Turn], args: argparse.Namespace) -> ModelSet:
    messages = iter([each for turn in turns for each in turn.messages if isinstance(each, AIMessage)])
    chat = scripted.ScriptedModel(lambda _: next(messages), piece=r"(?s).+")
    if args.model:
        return replace(bench_models.models(args), chat=chat)
    return replace(scripted.models(chat=chat, utility=excerpt), count=token.estimate, exact=False)


def excerpt(messages: Sequence[BaseMessage]) -> str:
    """Sentences of the turns, from the prompt for a summary, up to the length that it asks for."""
    prompt = "\n".join(str(message.text) for message in messages if isinstance(message, HumanMessage))
    target = int(re.findall(r"(\d+)\s?(?:자쯤|characters)", prompt)[-1])
    chosen = ""
    for each in sentence.split(prompt):
        if len(chosen) + len(each) + 1 <= target:
            chosen = f"{chosen} {each}".strip()
    return chosen
