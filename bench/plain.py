"""Everyday conversations by the product, against plain chat on the same weights: right answers, echoes, leaks, seconds.

Twelve conversations of twelve turns (``bench/data/plain_*.jsonl``), each played by the product, typing on at once, and
as plain chat with the whole history and a system prompt of two lines. Answers are judged by code
(``bench.everyday.check``): a turn is right when none of its checks fails. A third of the conversations is held out: do
not read its rows while you change the product.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from bench.everyday import side
from bench.everyday.conversation import Conversation, conversations
from bench.everyday.figure import Kept, figures, judge, rows
from bench.everyday.side import Played, Side
from model.modelset import ModelSet
from settings import current


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this bench."""
    parser.add_argument("--language", choices=("ko", "en"), help="only the conversations in this language")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this conversation; may be repeated")
    parser.add_argument("--tuning", action="store_true", help="without the conversations that are held out")
    parser.add_argument("--rows", action="store_true", help="list every question with both answers and failed checks")
    parser.add_argument("--skip-plain", action="store_true", help="only the product")
    parser.add_argument("--plain-from", type=Path, metavar="FILE", help="take the plain side from this file")
    parser.add_argument("--save-plain", type=Path, metavar="FILE", help="keep the plain side in this file")
    parser.add_argument("--ours-from", type=Path, metavar="FILE", help="take the product's side from this file")
    parser.add_argument("--save-ours", type=Path, metavar="FILE", help="keep the product's side in this file")


def run(args: argparse.Namespace) -> dict[str, object]:
    """``right_share``, ``plain_right_share`` and their difference ``gain``; ``held_out_…``: of the held-out third;
    ``echo``, ``leak``, ``repeat``: turns of the product that fail this check (``plain_…``: of the plain side);
    ``by_kind``, ``by_language``: right shares of both; ``first_token_ratio``: median, the product's through the plain
    one's; ``seconds_ratio``: of all seconds; ``calls_per_turn``: of the model within a turn.
    """
    chosen = [each for each in conversations() if wanted(args, each)]
    ours, theirs = read(args.ours_from, chosen), read(args.plain_from, chosen)
    models = play(args, chosen, ours, theirs)
    judged, plain = judge(chosen, ours), judge(chosen, theirs)
    told = {"profile": profile(models), "model": models.name} if models else {}
    result: dict[str, object] = {**told, **figures(judged, plain)}
    return {**result, "outcomes": rows(judged, plain)} if args.rows else result


def wanted(args: argparse.Namespace, conversation: Conversation) -> bool:
    """Whether the options leave the conversation in."""
    return (
        args.language in (None, conversation.language)
        and (not args.only or conversation.name in args.only)
        and not (args.tuning and conversation.held_out)
    )


def profile(models: ModelSet) -> str | None:
    """The name of the profile that was measured."""
    return getattr(getattr(models, "profile", None), "name", None)


def play(args: argparse.Namespace, chosen: Sequence[Conversation], ours: Kept, theirs: Kept) -> ModelSet | None:
    """Plays what is not in the files yet, a conversation whole by one side and then by the other, which goes first by
    turns. Both sides are kept after every conversation."""
    settings, models = current(), None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, ExitStack() as stack:
        sides: list[tuple[Side, Kept, Path | None]] = []
        if any(each.name not in ours for each in chosen):
            playing, models = stack.enter_context(side.product(settings, Path(name) / "product"))
            sides.append((playing, ours, args.save_ours))
        if not args.skip_plain and any(each.name not in theirs for each in chosen):
            sides.append((stack.enter_context(side.plain(settings, Path(name) / "plain")), theirs, args.save_plain))
        for number, conversation in enumerate(chosen):
            for playing, kept, path in sides if number % 2 == 0 else reversed(sides):
                if conversation.name not in kept:
                    kept[conversation.name] = playing(conversation)
                    save(path, kept)
    return models


def read(path: Path | None, chosen: Sequence[Conversation]) -> Kept:
    """The conversations of a file whose words are still those of the data."""
    if path is None:
        return {}
    data = json.loads(path.read_text("utf-8"))
    kept = {name: [Played(**each) for each in turns] for name, turns in data.items()}
    same = {each.name: [turn.say for turn in each.turns] for each in chosen}
    return {name: turns for name, turns in kept.items() if [turn.said for turn in turns] == same.get(name)}


def save(path: Path | None, kept: Kept) -> None:
    """Writes one side to a file, if one was given."""
    if path is not None:
        data = {name: [asdict(each) for each in turns] for name, turns in kept.items()}
        path.write_text(json.dumps(data, ensure_ascii=False, indent=1), "utf-8")
