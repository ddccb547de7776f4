"""How much of a story's prompts comes from the provider's cache, and what that saves.

``specified``: the layout of the specification (about 4,600 tokens of system text, 325 new ones a turn, 308 of them the
answer; its model keeps prompts from 4,096 tokens on), which must give its figures. ``ours``: the requests that the
engine builds for a client that sends the same system text. ``naive``: the same, what changes in the system message.
``automatic``: the same, one breakpoint at the end instead of three. All by a provider's rules without a provider
(``bench.provider_cache``). ``embedded``, with ``--model``: the embedded model's own count of cached tokens.

``hit_share``: the mean over the turns from 5 on of the cached part of the prompt; ``saved_share``: of the whole cost,
answers included.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from bench.provider_cache import Block, Cost, ProviderCache, shares

SYSTEM, QUESTION, ANSWER, MINIMUM = 4600, 17, 308, 4096
"""The specification's layout in tokens."""
HIT, SAVED = 0.955, 0.767
"""The specification's figures for 50 turns."""
PAUSE = 30.0
"""Seconds between two turns."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--turns", type=int, default=50, help="turns of the story")


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    rows = [_row("specified", _specified(args.turns))]
    return {"specified": {"hit_share": HIT, "saved_share": SAVED}, "rows": rows}


def _row(name: str, costs: list[Cost]) -> dict[str, object]:
    return {"layout": name, **shares(costs)}


def _specified(turns: int) -> list[Cost]:
    return _asked(turns, lambda turn: list(_layout(turn)), ANSWER)


def _asked(turns: int, request: Callable[[int], list[Block]], answer: int) -> list[Cost]:
    cache = ProviderCache(MINIMUM)
    return [cache.ask(request(turn), answer, PAUSE * turn) for turn in range(1, turns + 1)]


def _layout(turn: int) -> Iterator[Block]:
    """Yields the blocks of the specification's request, with breakpoints on the system text, in the middle, and at the
    end."""
    yield Block("system", SYSTEM, True)
    middle = (turn - 1) // 2
    for past in range(1, turn):
        yield Block(f"question {past}", QUESTION)
        yield Block(f"answer {past}", ANSWER, past == middle)
    yield Block(f"question {turn}", QUESTION, True)
