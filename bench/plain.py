"""Everyday conversations by the product, against plain chat on the same weights: right answers, echoes, leaks, seconds.

Both sides play twelve conversations of twelve turns (``bench/data/plain_*.jsonl``): the product with a user who types
on at once, plain chat with the whole history and a system prompt of two lines. Code judges the answers
(``bench.everyday.check``): a turn is right when it fails no check. A third of the conversations is held out: do not
read its rows while you change the product.
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
from settings import load_current_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--language", choices=("ko", "en"), help="only the conversations in this language")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this conversation; may be repeated")
    parser.add_argument("--tuning", action="store_true", help="without the conversations that are held out")
    parser.add_argument("--earlier", action="store_true", help="the product's user has had ten conversations before")
    parser.add_argument("--rows", action="store_true", help="list every question with both answers and failed checks")
    parser.add_argument("--skip-plain", action="store_true", help="only the product")
    parser.add_argument("--plain-from", type=Path, metavar="FILE", help="take the plain side from this file")
    parser.add_argument("--save-plain", type=Path, metavar="FILE", help="keep the plain side in this file")
    parser.add_argument("--ours-from", type=Path, metavar="FILE", help="take the product's side from this file")
    parser.add_argument("--save-ours", type=Path, metavar="FILE", help="keep the product's side in this file")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Plays the conversations and returns the figures. ``right_share``, ``plain_right_share``: the share of right turns
    of the product and of plain chat; ``gain``: their difference; ``held_out_…``: of the held-out third; ``echo``,
    ``leak``, ``repeat``: the turns of the product that fail this check (``plain_…``: of plain chat); ``by_kind``,
    ``by_language``: the right shares of both sides; ``first_token_ratio``: the product's median seconds to the first
    token divided by plain chat's; ``seconds_ratio``: the same for the sums of all seconds; ``calls_per_turn``: model
    calls within a turn.
    """
    chosen = [conversation for conversation in conversations() if wanted(args, conversation)]
    ours, theirs = read(args.ours_from, chosen), read(args.plain_from, chosen)
    models = play(args, chosen, ours, theirs)
    judged, plain = judge(chosen, ours), judge(chosen, theirs)
    about = {"profile": profile(models), "model": models.name} if models else {}
    result: dict[str, object] = {**about, **figures(judged, plain)}
    return {**result, "outcomes": rows(judged, plain)} if args.rows else result


def wanted(args: argparse.Namespace, conversation: Conversation) -> bool:
    """Returns whether the options include the conversation."""
    return (
        args.language in (None, conversation.language)
        and (not args.only or conversation.name in args.only)
        and not (args.tuning and conversation.held_out)
    )


def profile(models: ModelSet) -> str | None:
    """Returns the name of the profile that was measured."""
    return getattr(getattr(models, "profile", None), "name", None)


def play(args: argparse.Namespace, chosen: Sequence[Conversation], ours: Kept, theirs: Kept) -> ModelSet | None:
    """Plays the conversations that ``ours`` and ``theirs`` lack, and adds them there. One side plays a whole
    conversation, then the other side plays it; the sides alternate in who begins. A side is saved after every
    conversation that it plays. Returns the product's models; None when the product had nothing to play."""
    settings, models = load_current_settings(), None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, ExitStack() as stack:
        sides: list[tuple[Side, Kept, Path | None]] = []
        if any(candidate.name not in ours for candidate in chosen):
            languages = {conversation.language for conversation in chosen} if args.earlier else ()
            playing, models = stack.enter_context(side.product(settings, Path(name) / "product", languages))
            sides.append((playing, ours, args.save_ours))
        if not args.skip_plain and any(candidate.name not in theirs for candidate in chosen):
            sides.append((stack.enter_context(side.plain(settings, Path(name) / "plain")), theirs, args.save_plain))
        for number, conversation in enumerate(chosen):
            for playing, played, path in sides if number % 2 == 0 else reversed(sides):
                if conversation.name not in played:
                    played[conversation.name] = playing(conversation)
                    save(path, played)
    return models


def read(path: Path | None, chosen: Sequence[Conversation]) -> Kept:
    """Returns the conversations of a file whose messages are still those of the data."""
    if path is None:
        return {}
    data = json.loads(path.read_text("utf-8"))
    played = {name: [Played(**entry) for entry in turns] for name, turns in data.items()}
    messages = {entry.name: [turn.say for turn in entry.turns] for entry in chosen}
    return {name: turns for name, turns in played.items() if [turn.said for turn in turns] == messages.get(name)}


def save(path: Path | None, kept: Kept) -> None:
    """Writes one side to ``path``, unless ``path`` is None."""
    if path is not None:
        data = {name: [asdict(turn) for turn in turns] for name, turns in kept.items()}
        path.write_text(json.dumps(data, ensure_ascii=False, indent=1), "utf-8")
