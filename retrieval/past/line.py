"""Search in a few lines, such as those of a profile, as in past turns: by the same weights and above the same floor."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from model.embedding import built_in
from retrieval.past.rank import keep_fitting, rank_turns, read_floor
from retrieval.past.row import pack_turn
from retrieval.past.turn_table import TurnTable
from store.search.turn_index import IndexedTurn, PastTurn, TurnKey

APART = 2
"""The distance of two lines in turn numbers: lines are not neighbours as turns are, which answer each other."""


class SaidLine(NamedTuple):
    """A line, and when it was said (Unix seconds)."""

    text: str
    at: float


def find_fitting_lines(lines: Sequence[SaidLine], query: str, now: datetime) -> list[int]:
    """Returns the positions of the lines that fit a query, the best first; none where nothing fits. Each line is
    searched as a turn that says nothing else. ``now``: as in ``retrieval.past.find_turns``."""
    table = TurnTable()
    table.add(IndexedTurn("", 0, APART * at, *pack_line(line)) for at, line in enumerate(lines, 1))
    table.set_path("", {0: range(1, APART * len(lines) + 1)})
    embedder = built_in()
    searched = table.choose_searched([""], "", APART * len(lines) + 1)
    found = rank_turns(table, searched, embedder.query(query), query, now, len(lines), embedder.name)
    fitting = keep_fitting([each.score for each in found], read_floor(query))
    return [each.key.number // APART - 1 for each, fits in zip(found, fitting, strict=True) if fits]


@lru_cache(maxsize=256)
def pack_line(line: SaidLine) -> tuple[bytes, bytes]:
    """Returns the vector and the words of a line. It takes about 25 ms the first time, for the vector."""
    return pack_turn(PastTurn(TurnKey("", 0, 0), line.at, line.text, ""), built_in())
