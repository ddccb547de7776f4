"""Totals of a session's summaries, and which summary is due next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from component.page.catalogue import Words
from graph.context.turns import find_next_chunk


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the summaries that were made; lengths in characters."""

    count: int
    turns: int
    original: int
    summary: int

    @property
    def saved_percent(self) -> int:
        """How much shorter the summaries are than their turns, in per cent: 2400 → 720 is 70 (specification 8.4). Less
        than nothing where they are longer, as one that the user wrote may be."""
        return round(100 * (1 - self.summary / self.original)) if self.original else 0


def sum_summary_records(records: Iterable[dict[str, Any] | None]) -> Totals:
    """Adds up the records; failed attempts (None) count for nothing."""
    complete = [record for record in records if record is not None]
    return Totals(
        len(complete),
        sum(int(record["turn_length"]) for record in complete),
        sum(int(record["original_chars"]) for record in complete),
        sum(int(record["summary_chars"]) for record in complete),
    )


def draw_totals(words: Words, sums: Totals) -> None:
    """Draws the three lines of specification 8.4, what was saved first and large. Nothing in it has a key: an answer
    that brings a summary draws them again in the same page run."""
    st.markdown(f"## {words('total.title')}", anchors=False)
    with st.container(gap=None):
        is_longer = sums.summary > sums.original
        st.markdown(words("total.longer" if is_longer else "total.saved", percent=abs(sums.saved_percent)))
        st.caption(words("total.length", original=sums.original, summary=sums.summary))
        st.caption(words("total.count", count=sums.count, turns=sums.turns))


def draw_due(words: Words, turn_count: int, covered: int) -> None:
    """Draws from which turn the next summary is used, and which turns of its chunk are done. ``covered``: the last turn
    that a summary in the context covers."""
    chunk, due = find_next_chunk(turn_count, covered)
    dots = "".join(f'<i class="{"done" if turn <= turn_count else ""}">{turn}</i>' for turn in chunk)
    st.html(f'<div class="gieok-due"><span>{dots}</span></div>')
    st.caption(words("due.next", due=due, first=chunk[0], last=chunk[-1]))
