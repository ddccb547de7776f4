"""Questions about what the user said, on a small model: answered by a quotation, by the model, and quoted without need.

Each chat (``bench/data/past_question``) is stored turn by turn; then every message of its ``asks`` is typed, each right
behind these turns. Code judges: an answer to a question of kind ``recall`` is right when it holds the value. Messages
of all other kinds ask for nothing that the user said, so that a quotation is wrong.
"""

from __future__ import annotations

import argparse
import re
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import models as bench_models
from bench.everyday.spelling import folded
from bench.public.dataset.dataset import Conversation
from bench.public.dataset.read import read_lines
from bench.public.stored import small_models, store_sessions
from evaluation.scenario import RecordedTurn
from graph.context.past import RECALL
from graph.turn.agent import Agent, open_agent
from graph.turn.event import Done
from graph.turn.request import Kind, Request
from model.modelset import ModelSet
from settings import load_settings
from text.language import Language

DATA = Path(__file__).parent / "data" / "past_question"
SETS = ("dev", "held")
"""``held``: nobody reads these rows while the product is changed."""
KINDS = ("recall", "never_told", "advice", "knowledge", "follow", "tell", "task", "talk", "opinion")


@dataclass(frozen=True)
class Ask:
    """A message. ``has``: groups of spellings; a right answer has one of every group. Empty for all kinds but
    ``recall``."""

    kind: str
    say: str
    has: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Chat:
    """Turns that were told, and the messages that are typed behind them."""

    name: str
    language: Language
    turns: Sequence[RecordedTurn]
    asks: Sequence[Ask]


@dataclass(frozen=True)
class AskedMessage:
    """A message with its answer. ``quoted``: code quoted past turns. ``model_answer``, ``model_right``: what the model
    says instead; None where it was not asked."""

    chat: str
    language: str
    kind: str
    say: str
    answer: str
    quoted: bool
    right: bool
    seconds: float
    model_answer: str | None = None
    model_right: bool | None = None
    model_seconds: float | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; may be repeated")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only messages of this kind; may be repeated")
    parser.add_argument("--chats", type=int, help="only so many chats of each set")
    parser.add_argument("--rows", action="store_true", help="list every message with its answers")
    parser.add_argument(
        "--model", action="store_true", help="have the model of the settings answer, too (else: quotations alone)"
    )
    bench_models.add_arguments(parser)


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures of each set: ``recall``: questions about what was said; ``quoted``, ``quoted_right``: those
    that a quotation answers, and with the value; ``needless``: other messages that got one, of ``others``;
    ``needless_by_kind``. With the model also ``right_share``: of all questions about what was said, as the product
    answers them; ``model_share``: by the model alone; the median seconds of both."""
    asked = bench_models.models(args) if args.model or args.url else None
    sets: dict[str, object] = {}
    rows: list[dict[str, object]] = []
    for name in args.set or SETS:
        outcomes = [
            outcome
            for chat in load_chats(DATA / f"{name}.jsonl")[: args.chats]
            for outcome in play_chat(chat, args.kind or KINDS, asked)
        ]
        sets[name] = figures(outcomes)
        rows += [{"set": name, **asdict(outcome)} for outcome in outcomes]
    return {"model": asked.name if asked else "", **sets, **({"outcomes": rows} if args.rows else {})}


def load_chats(path: Path) -> list[Chat]:
    """Returns the chats of a file of JSON lines. Raises ``BadDataset`` and ``BadTextFile``."""
    return [_make_chat(row) for _, row in read_lines(path)]


def _make_chat(row: dict[str, Any]) -> Chat:
    turns = [RecordedTurn(user=turn["user"], answer=turn["assistant"]) for turn in row["turns"]]
    return Chat(row["name"], row["language"], turns, [Ask(**ask) for ask in row["asks"]])


def play_chat(chat: Chat, kinds: Sequence[str], models: ModelSet | None) -> Iterator[AskedMessage]:
    """Yields the answers to the messages of a chat; each message takes the place of the one before. ``models``: None
    has only quotations made; else the model also answers every question about what was said."""
    told = Conversation(chat.name, "user", "assistant", tuple(chat.turns), (), language=chat.language)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        off: dict[str, Any] = {"titles": False, "retrieval": False, "database_url": None, "redis_url": None}
        with closing(
            open_agent(load_settings(data_dir=Path(folder), memory=True, **off), lambda: models or small_models())
        ) as agent:
            session, number = store_sessions(agent, told).session, len(chat.turns) + 1
            for place, ask in enumerate(ask for ask in chat.asks if ask.kind in kinds):
                kind: Kind = "edited" if place else "new"
                answer, seconds, quoted = _ask(agent, Request(session, kind, ask.say, number if place else 0))
                outcome = AskedMessage(
                    chat.name, chat.language, ask.kind, ask.say, answer, quoted, is_right(ask, answer), seconds
                )
                if models is None or ask.kind != "recall":
                    yield outcome
                    continue
                other, other_seconds = answer, seconds
                if quoted:  # another answer to the same question is the model's
                    other, other_seconds, _ = _ask(agent, Request(session, "again", number=number))
                yield replace(
                    outcome, model_answer=other, model_right=is_right(ask, other), model_seconds=other_seconds
                )


def _ask(agent: Agent, request: Request) -> tuple[str, float, bool]:
    """Returns the answer, its seconds, and whether it is a quotation."""
    began = time.monotonic()
    end = agent.turn(request, threading.Event(), lambda _: None)
    seconds = time.monotonic() - began
    row = agent.store.turn(request.session, agent.store.session(request.session).turn_count)
    quoted = row is not None and any(step["name"] == RECALL for step in row.steps)
    return (end.answer if isinstance(end, Done) else ""), seconds, quoted


def is_right(ask: Ask, answer: str) -> bool:
    """Returns whether an answer holds one spelling of every group: a word also as a part of a longer one («oat»), a
    number only as a whole."""
    return bool(ask.has) and all(any(_holds_form(answer, form) for form in group) for group in ask.has)


def _holds_form(answer: str, form: str) -> bool:
    text = folded(form)
    before = r"(?<!\d)(?<!\d[.,:])" if text[0].isdigit() else ""
    after = r"(?![.,:]?\d)" if text[-1].isdigit() else ""
    return re.search(before + r"\s*".join(map(re.escape, text.split())) + after, folded(answer)) is not None


def figures(outcomes: Sequence[AskedMessage]) -> dict[str, object]:
    """Returns the figures of a set, as ``run`` names them."""
    recall = [each for each in outcomes if each.kind == "recall"]
    others = [each for each in outcomes if each.kind != "recall"]
    by_kind = {
        kind: sum(each.quoted for each in others if each.kind == kind)
        for kind in KINDS
        if any(each.kind == kind for each in others)
    }
    found: dict[str, object] = {
        "recall": len(recall),
        "quoted": sum(each.quoted for each in recall),
        "quoted_right": sum(each.quoted and each.right for each in recall),
        "others": len(others),
        "needless": sum(by_kind.values()),
        "needless_by_kind": by_kind,
    }
    judged = [each for each in recall if each.model_right is not None]
    if judged:
        found |= {
            "right_share": round(statistics.fmean(each.right for each in judged), 3),
            "model_share": round(statistics.fmean(bool(each.model_right) for each in judged), 3),
            "seconds": round(statistics.median(each.seconds for each in judged), 2),
            "model_seconds": round(statistics.median(each.model_seconds or 0.0 for each in judged), 2),
        }
    return found
