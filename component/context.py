"""What the model was given: any answer's prompt in full, all turns against full history, and the next prompt."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from component.catalogue import Words
from component.exact import draw_exact
from component.failure import draw_error
from component.markdown import plain
from component.prompt_bar import draw_prompt
from component.view import View
from errors import GieokError
from graph.preview import preview
from store import Session, Store, Turn

MOST = 120
"""Bars of the plot; of more turns, so many are drawn, evenly spread."""
NEWEST = 20


def draw_context(view: View, prefix: str = "") -> None:
    """The tab."""
    words, session = view.words, view.session
    last = answered(view.store, session) if session else 0
    if session is None or not last:
        st.caption(words("prompt.none"))
        return
    turn = _choose(view, session, last, prefix)
    if turn is None or not (turn.report or {}).get("total_tokens"):
        st.caption(words("context.unknown"))
    else:
        _draw_answer(view, turn, prefix)
    st.markdown(f"## {words('context.plot')}", anchors=False)
    st.html(plot(words, sizes(view.store, session.id, last)))
    st.markdown(f"## {words('context.next')}", anchors=False)
    _draw_next(view, session, prefix)


def answered(store: Store, session: Session) -> int:
    """The last turn whose prompt is known, among the newest ones; 0 when there is none."""
    known = store.reports(session.id, range(max(1, session.turn_count - NEWEST + 1), session.turn_count + 1))
    return max((number for number, report in known.items() if report.get("total_tokens")), default=0)


def _choose(view: View, session: Session, last: int, prefix: str) -> Turn | None:
    """The turn whose prompt is looked at, however far back; the last one to begin with."""
    label, key = view.words("context.turn"), f"{prefix}context-turn-{session.id}-{last}"
    number = st.number_input(label, 1, last, last, step=1, key=key, icon=":material/tag:")
    return view.store.turn(session.id, int(number))


def _draw_answer(view: View, turn: Turn, prefix: str) -> None:
    words, report = view.words, turn.report or {}
    draw_prompt(words, report)
    _draw_items(words, report)
    _draw_left_out(words, report)
    _draw_cost(view, turn)
    draw_exact(view, turn, prefix)


def _draw_items(words: Words, report: dict[str, Any]) -> None:
    """Which turns stand in which part."""
    rows = [
        f"<li><span>{escape(words('part.' + part['name']))}</span><b>{escape(', '.join(part['items']))}</b></li>"
        for part in report["parts"]
        if part.get("items")
    ]
    if rows:
        st.caption(words("context.items"))
        st.html(f'<ul class="gieok-legend">{"".join(rows)}</ul>')


def _draw_left_out(words: Words, report: dict[str, Any]) -> None:
    left = report.get("left_out") or []
    if not left:
        return
    rows = "".join(
        f"<li><span>{escape(words('context.reason.' + each['reason']))}</span><b>{escape(each['what'])}</b></li>"
        for each in left
    )
    st.caption(words("context.left_out"))
    st.html(f'<ul class="gieok-legend">{rows}</ul>')


def _draw_cost(view: View, turn: Turn) -> None:
    """Cached tokens and dollars, as far as they are known."""
    words, usage = view.words, turn.usage or {}
    prompt, cached = int(usage.get("prompt_tokens") or 0), int(usage.get("cached_tokens") or 0)
    facts = [words("context.cached", tokens=cached, percent=round(100 * cached / prompt))] if prompt else []
    st.caption(plain(" · ".join([*facts, _price(words, usage.get("usd"))])))


def _price(words: Words, usd: float | None) -> str:
    """What an answer has cost; nothing on a model of this machine."""
    if usd is None:
        return words("context.free")
    return words("context.cost", usd=usd) if usd else words("context.own")


def sizes(store: Store, session_id: str, last: int) -> list[tuple[int, int, int]]:
    """Of the turns up to ``last``: number, tokens sent, tokens of the full history; thinned when there are many."""
    steps = min(last, MOST)
    numbers = {1 + round(place * (last - 1) / max(1, steps - 1)) for place in range(steps)}
    found = store.reports(session_id, numbers)
    return [
        (number, int(report["total_tokens"]), int(report["full_tokens"]))
        for number, report in sorted(found.items())
        if report.get("total_tokens")
    ]


def plot(words: Words, sizes: Sequence[tuple[int, int, int]]) -> str:
    """Per turn a bar of what was sent, before a paler one of the full history."""
    top = max(max(sent, full) for _, sent, full in sizes)
    bars = "".join(
        f'<i data-turn="{number}" title="{number}: {sent:,} / {full:,}"><u style="height:{100 * full / top:.1f}%"></u>'
        f'<b style="height:{100 * sent / top:.1f}%"></b></i>'
        for number, sent, full in sizes
    )
    said = words("context.plot.said", sent=sizes[-1][1], full=sizes[-1][2], number=sizes[-1][0])
    key = f'<p class="gieok-key"><b></b>{words("context.sent")} <u></u>{words("context.full")}</p>'
    return f'<div class="gieok-plot" role="img" aria-label="{escape(said, quote=True)}">{bars}</div>{key}'


def _draw_next(view: View, session: Session, prefix: str) -> None:
    """What the next prompt will hold; worked out only when it is opened."""
    words, number = view.words, session.turn_count + 1
    label = words("context.next.open", number=number)
    with st.expander(label, key=f"{prefix}next-{session.id}-{number}", on_change="rerun") as box:
        if not box.open:
            return
        if view.job is not None or view.status.state != "ready":
            st.caption(words("context.next.later"))
            return
        try:
            coming = preview(view.agent, session.id)
        except GieokError as error:
            draw_error(words, error)
            return
        draw_prompt(words, coming.report.plain())
        _draw_items(words, coming.report.plain())
        _draw_left_out(words, coming.report.plain())
        if coming.making:
            st.caption(words("context.next.making", turns=", ".join(coming.making)))
        st.caption(words("context.next.more"))
