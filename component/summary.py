"""The summary history of the panel, drawn as the specification does (context-managing.md «채팅 탭 오른쪽 패널»)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from component.catalogue import Words
from component.markdown import plain, short, shown
from errors import SummaryRejected
from store import Summary

Way = tuple[str, str, Callable[[int], None]]
"""What can be done with a summary: its label, its icon, and the action on its first turn."""

LOST_SHOWN = 6
FACT_CHARS = 40


def draw_summaries(
    words: Words,
    summaries: Sequence[Summary],
    earlier: int,
    ways: Sequence[Way] = (),
    prefix: str = "",
) -> None:
    """One card per summary, oldest first; ``earlier`` more are not shown.

    ``ways``: what can be done with a card; none while an answer runs and the cards are drawn again.
    """
    if not summaries:
        st.caption(words("panel.none"))
    if earlier > 0:
        st.caption(words("panel.earlier", count=earlier))
    for summary in summaries:
        with st.container(border=True, gap="xsmall"):
            _draw_card(words, summary)
            if ways and summary.record is not None:
                _draw_ways(summary.turns[0], ways, prefix)


def _draw_ways(first: int, ways: Sequence[Way], prefix: str) -> None:
    with st.container(key=f"{prefix}ways-{first}", horizontal=True, gap="small"):
        for label, icon, action in ways:
            key = f"{prefix}{'closer' if icon == 'difference' else icon}-{first}"
            icon = f":material/{icon}:"
            st.button(label, key=key, icon=icon, type="tertiary", on_click=action, args=(first,))


def _draw_card(words: Words, summary: Summary) -> None:
    first, last = summary.turns[0], summary.turns[-1]
    head = f"**{plain(words('summary.head', first=first, last=last))}**"
    st.markdown(f"{head} :gray[{plain(words('panel.rate', rate=f'{summary.rate:g}'))}]")
    record = summary.record
    if record is None:
        _draw_failed(words, summary)
        return
    st.caption(words("summary.length", original=record["original_chars"], summary=record["summary_chars"]))
    st.text(shown(str(record["summary"])), width="stretch")
    if summary.lost:
        st.markdown(f":orange[:material/warning: {plain(words('summary.lost', facts=_lost(words, summary.lost)))}]")
    if summary.origin == "extracted":
        st.caption(f":material/format_quote: {words('summary.extracted')}")
    if summary.status == "ready":
        st.caption(f":material/bolt: {words('summary.ahead')}")
    elif summary.status == "retired":
        st.caption(f":material/inventory_2: {words('summary.retired')}")


def _lost(words: Words, facts: Sequence[str]) -> str:
    named = ", ".join(short(fact, FACT_CHARS) for fact in facts[:LOST_SHOWN])
    more = len(facts) - LOST_SHOWN
    return words("summary.lost.more", facts=named, count=more) if more > 0 else named


def _draw_failed(words: Words, summary: Summary) -> None:
    """Why there is no summary, what helps, and that its turns stay and when it is tried again."""
    error = summary.error or {}
    said, hint = words.error(str(error.get("code")), str(error.get("message", "")), error.get("values") or {})
    st.markdown(f":orange[:material/warning: {plain(said)}]")
    again = words("summary.again")
    st.caption(plain(again if error.get("code") == SummaryRejected.code else f"{hint} {again}".strip()))
