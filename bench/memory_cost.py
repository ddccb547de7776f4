"""Memory, answers and look-ups: calls, tokens and dollars of sessions of 20, 50 and 100 turns (specification 11)."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import memory_recall
from bench import models as bench_models
from bench.memory_recall import planted, play
from evaluation.play import CallCost
from graph.context.turns import CHUNK
from graph.turn.agent import open_agent
from memory.state import SHORT_TURNS
from model.modelset import ModelSet
from model.price import compute_call_price
from retrieval.product_docs import first_run
from settings import load_settings
from text.language import Language

QUESTIONS = Path(__file__).parent / "data" / "rag.jsonl"
SESSIONS = (20, 50, 100)
PRICED = "gpt-5-nano"
"""The model whose price specification 11.1 takes."""
MONTHLY = 30_000
"""Sessions a month: a thousand a day."""


@dataclass(frozen=True)
class Work:
    """One kind of work: how many pieces were measured, and what these pieces cost together."""

    name: str
    measured: int
    cost: CallCost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--turns", type=int, default=60, help="turns of the conversation that is measured")
    parser.add_argument("--language", choices=memory_recall.LANGUAGES, default="ko", help="its language")
    parser.add_argument("--look-ups", type=int, default=4, help="questions that are looked up in the documents")
    parser.add_argument("--price", default=PRICED, help="model whose price is taken")
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the measured tokens of a fold, a summary, an answer and a look-up, and the costs of sessions of 20, 50
    and 100 turns."""
    models = bench_models.models(args)
    looked_up = look_up(models, args.language, args.look_ups) if args.look_ups else None
    return measure(models, args.language, args.turns, args.price, looked_up)


def measure(
    models: ModelSet, language: Language, turns: int, price: str, looked_up: Work | None = None
) -> dict[str, object]:
    """Returns the figures of one conversation. ``looked_up``: the judging that specification 11.2 counts in every
    turn."""
    played = play(models, language, planted(language)[:turns])
    works = [
        Work("fold", pieces("fold", turns + 1), played.folds),
        Work("summary", pieces("summary", turns + 1), played.summaries),
        Work("answer", turns, played.answers),
        *([looked_up] if looked_up else []),
    ]
    return {
        "model": models.name,
        "profile": models.side.name,
        "exact": models.exact,
        "priced_as": price,
        "work": [_each(work) for work in works],
        "sessions": [_session(works, length, price) for length in SESSIONS],
    }


def look_up(models: ModelSet, language: Language, count: int) -> Work:
    """Looks up ``count`` answerable questions in the product's own documents; returns the calls, tokens and seconds of
    reranking and judging."""
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines() if line.strip()]
    questions = [row["question"] for row in rows if (row["kind"], row["language"]) == ("answer", language)][:count]
    with TemporaryDirectory(prefix="gieok-bench-") as folder:
        chosen = load_settings(data_dir=Path(folder), memory=False, titles=False, retrieval=True)
        with closing(open_agent(chosen, lambda: models)) as agent:
            assert agent.library is not None
            first_run(agent.library)
            began = time.monotonic()
            look_ups = [agent.library.look_up(question, models, language) for question in questions]
            seconds = time.monotonic() - began
    calls = sum(step.judgement is not None for result in look_ups for step in result.trace)
    tokens = sum(result.prompt_tokens for result in look_ups), sum(result.answer_tokens for result in look_ups)
    return Work("look_up", len(look_ups), CallCost(calls, *tokens, seconds))


def pieces(name: str, turns: int) -> int:
    """Returns how many pieces of this work a session of so many turns needs."""
    if name == "fold":
        return max(0, (turns - 1) // SHORT_TURNS)
    return max(0, (turns - 1) // CHUNK) if name == "summary" else turns


def _each(work: Work) -> dict[str, object]:
    per = max(1, work.measured)
    return {
        "work": work.name,
        "measured": work.measured,
        "calls": round(work.cost.calls / per, 2),
        "prompt_tokens": round(work.cost.prompt_tokens / per),
        "answer_tokens": round(work.cost.answer_tokens / per),
        "seconds": round(work.cost.seconds / per, 2),
    }


def _session(works: list[Work], turns: int, price: str) -> dict[str, object]:
    """Returns the costs of one session by kind of work, and of a month with a thousand such sessions a day."""
    row: dict[str, object] = {"turns": turns}
    total = 0.0
    for work in works:
        share = pieces(work.name, turns) / max(1, work.measured)
        prompt, answer = (round(tokens * share) for tokens in (work.cost.prompt_tokens, work.cost.answer_tokens))
        dollars = compute_call_price(price, prompt, 0, answer)
        total += dollars or 0.0
        row |= {f"{work.name}_calls": round(work.cost.calls * share), f"{work.name}_tokens": prompt + answer}
        row[f"{work.name}_usd"] = dollars if dollars is None else round(dollars, 5)
    memory = row["fold_usd"]
    monthly = {"month_usd": round(total * MONTHLY), "month_memory_usd": None if memory is None else _month(memory)}
    return {**row, "usd": round(total, 5), **monthly}


def _month(dollars: object) -> int:
    return round(float(str(dollars)) * MONTHLY)
