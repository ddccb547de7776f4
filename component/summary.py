"""The summary history of the panel, drawn as the specification does (context-managing.md «채팅 탭 오른쪽 패널»)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from component.catalogue import Words
from component.markdown import plain, short, shown
from store import Summary

LOST_SHOWN = 6
FACT_CHARS = 40


def draw_summaries(
    words: Words,
    summaries: Sequence[Summary],
    earlier: int,
    closer: Callable[[int], None] | None = None,
    prefix: str = "",
) -> None:
    """One card per summary, oldest first; ``earlier`` more are not shown.

    ``closer``: looks at one closely, by its first turn; None while an answer runs and the cards are drawn again.
    """
    if not summaries:
        st.caption(words("panel.none"))
    if earlier > 0:
        st.caption(words("panel.earlier", count=earlier))
    for summary in summaries:
        with st.container(border=True, gap="xsmall"):
            _draw_card(words, summary)
            if closer is not None and summary.record is not None:
                _draw_closer(words, summary, closer, prefix)


def _draw_closer(words: Words, summary: Summary, closer: Callable[[int], None], prefix: str) -> None:
    st.button(
        words("revision.open"),
        key=f"{prefix}closer-{summary.turns[0]}",
        icon=":material/difference:",
        type="tertiary",
        on_click=closer,
        args=(summary.turns[0],),
    )


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
    if summary.status == "ready":
        st.caption(f":material/bolt: {words('summary.ahead')}")
    elif summary.status == "retired":
        st.caption(f":material/inventory_2: {words('summary.retired')}")


def _lost(words: Words, facts: Sequence[str]) -> str:
    named = ", ".join(short(fact, FACT_CHARS) for fact in facts[:LOST_SHOWN])
    more = len(facts) - LOST_SHOWN
    return words("summary.lost.more", facts=named, count=more) if more > 0 else named


def _draw_failed(words: Words, summary: Summary) -> None:
    """Why there is no summary, and that its turns stay and it is tried again."""
    error = summary.error or {}
    said, hint = words.error(str(error.get("code")), str(error.get("message", "")), error.get("values") or {})
    st.markdown(f":orange[:material/warning: {plain(said)}]")
    st.caption(plain(hint or words("summary.again")))
