"""Search in past turns: which earlier turns say what is asked for, best first, each with a probability.

Shows ``find_turns``, which searches, and ``find_fitting_lines``, which does so in a few lines of text; ``excerpt_turn``
shortens a found turn; ``adds_answer`` tells whether its answer is needed; ``pack_turn`` makes the row of
``store.search.turn_index`` that a search reads, first with its words alone, later with its vector.
May import ``retrieval.index``, ``store.search``, ``model`` and ``text``.
"""

from __future__ import annotations

from retrieval.past.excerpt import adds_answer, excerpt_turn
from retrieval.past.line import SaidLine, find_fitting_lines, pack_line
from retrieval.past.rank import FoundTurn, SearchedPast, find_turns, keep_fitting, read_floor
from retrieval.past.row import build_rules_name, pack_turn

__all__ = [
    "FoundTurn",
    "SaidLine",
    "SearchedPast",
    "adds_answer",
    "build_rules_name",
    "excerpt_turn",
    "find_fitting_lines",
    "find_turns",
    "keep_fitting",
    "pack_line",
    "pack_turn",
    "read_floor",
]
