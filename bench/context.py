"""Tokens per turn against full history, over the bundled 50-turn dialogue with tool calls.

The agent runs the dialogue; its answers and tool results are replayed. Summaries are verbatim sentences of the turns,
packed to the target length; with ``--model`` the model writes them. The sums include the summary calls.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool

from bench import dialogue
from bench import models as bench_models
from evaluation.play import recorded_tools
from graph.context.report import ContextReport
from graph.turn.agent import Agent, open_agent
from graph.turn.event import ContextBuilt, Done
from model import scripted
from model.call import token
from model.modelset import ModelSet
from settings import load_settings
from text import sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--turns", type=int, default=50, help="how many turns of the dialogue")
    parser.add_argument("--rate", type=float, default=0.3, help="compression rate")
    parser.add_argument("--model", action="store_true", help="let the model write the summaries and count the tokens")
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the prompt tokens of the last turn and of all turns, each against full history; ``saved_share`` includes
    the summary calls."""
    turns = dialogue.load(dialogue.LONG).turns[: args.turns]
    with tempfile.TemporaryDirectory() as folder:
        models = _models(turns, args)
        agent = open_agent(load_settings(data_dir=Path(folder), titles=False, memory=False), lambda: models)
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
class PlayedDialogue:
    """The reports of every model call by turn, and the tokens that summaries cost at each turn."""

    reports: list[list[ContextReport]]
    summary_tokens: list[int]
    summary_calls: int

    def sums(self) -> tuple[int, int]:
        """Returns the prompt tokens of all calls: as sent, and with full history."""
        calls = [report for reports in self.reports for report in reports]
        return sum(call.total_tokens for call in calls), sum(call.full_tokens for call in calls)

    def break_even(self) -> int | None:
        """Returns the turn from which on the summaries have saved more tokens than they cost; None without such a
        turn."""
        saved, since = 0, None
        for number, (reports, cost) in enumerate(zip(self.reports, self.summary_tokens, strict=True), 1):
            saved += sum(report.saved_tokens for report in reports) - cost
            since = (since or number) if saved > 0 else None
        return since


def play(agent: Agent, turns: Sequence[dialogue.DialogueTurn], rate: float) -> PlayedDialogue:
    """Runs the dialogue; returns the reports of all model calls and the tokens that the summaries cost."""
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
        summaries = agent.store.ledger.summaries(session.id, superseded=True)
        costs.append(sum(summary.prompt_tokens + summary.answer_tokens for summary in summaries) - spent)
        spent += costs[-1]
    return PlayedDialogue(reports, costs, len(summaries))


def replayed(turns: Sequence[dialogue.DialogueTurn]) -> list[BaseTool]:
    """Returns tools with the names in the dialogue; each tool returns its recorded results in order."""
    messages = (message for turn in turns for message in turn.messages if isinstance(message, ToolMessage))
    return recorded_tools((str(message.name), str(message.text)) for message in messages)


def _models(turns: Sequence[dialogue.DialogueTurn], args: argparse.Namespace) -> ModelSet:
    messages = iter([message for turn in turns for message in turn.messages if isinstance(message, AIMessage)])
    chat = scripted.ScriptedModel(lambda _: next(messages), piece=r"(?s).+")
    if args.model:
        return replace(bench_models.models(args), chat=chat)
    return replace(scripted.build_scripted_models(chat=chat, utility=excerpt), count=token.estimate_tokens, exact=False)


def excerpt(messages: Sequence[BaseMessage]) -> str:
    """Returns sentences of the turns in a summary prompt, up to the length that the prompt asks for."""
    prompt = "\n".join(str(message.text) for message in messages if isinstance(message, HumanMessage))
    target = int(re.findall(r"(\d+)\s?(?:자쯤|characters)", prompt)[-1])
    chosen = ""
    for piece in sentence.split_sentences(prompt):
        if len(chosen) + len(piece) + 1 <= target:
            chosen = f"{chosen} {piece}".strip()
    return chosen
