"""The context tab: the prompt of any answer, a plot of prompts against the full history, and the next prompt."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from component.answer.past import draw_past_button, list_places
from component.page.catalogue import Words
from component.page.view import View
from component.panel.prompt_bar import draw_prompt
from component.panel.prompt_view import draw_exact
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from errors import GieokError
from graph.context.preview import preview_next_prompt
from graph.context.report import list_shown_summaries
from store import Session, Store, TurnRow

MOST = 120
"""Most bars in the plot; a longer conversation is drawn with this many of its turns, evenly spread."""
NEWEST = 20


def draw_context(view: View, prefix: str = "") -> None:
    """Draws the tab."""
    words, session = view.words, view.session
    last = find_last_reported_turn(view.store, session) if session else 0
    if session is None or not last:
        st.caption(words("prompt.none"))
        return
    turn = _choose_context_turn(view, session, last, prefix)
    if turn is None or not (turn.report or {}).get("total_tokens"):
        st.caption(words("context.unknown"))
    else:
        _draw_answer(view, turn, prefix)
    st.markdown(f"## {words('context.plot')}", anchors=False)
    st.html(render_prompt_plot(words, load_prompt_sizes(view.store, session.id, last)))
    st.markdown(f"## {words('context.next')}", anchors=False)
    _draw_next(view, session, prefix)


def find_last_reported_turn(store: Store, session: Session) -> int:
    """Returns the last turn whose prompt is known, among the newest ``NEWEST`` turns; 0 when there is none."""
    known = store.reports(session.id, range(max(1, session.turn_count - NEWEST + 1), session.turn_count + 1))
    return max((number for number, report in known.items() if report.get("total_tokens")), default=0)


def _choose_context_turn(view: View, session: Session, last: int, prefix: str) -> TurnRow | None:
    """Draws the field that selects a turn, and returns the turn. The field starts with ``last`` and reaches back to
    turn 1."""
    label, key = view.words("context.turn"), f"{prefix}context-turn-{session.id}-{last}"
    number = st.number_input(label, 1, last, last, step=1, key=key, icon=":material/tag:")
    return view.store.turn(session.id, int(number))


def _draw_answer(view: View, turn: TurnRow, prefix: str) -> None:
    words, report = view.words, turn.report or {}
    draw_prompt(words, report)
    if _has_broken_prefix(view.store, turn):
        st.caption(f":material/restart_alt: {words('context.broken')}")
    _render_prompt_items(view, report)
    draw_past_button(view, turn, prefix)
    _draw_left_out(view, report)
    _draw_cost(view, turn)
    draw_exact(view, turn, prefix)


def _has_broken_prefix(store: Store, turn: TurnRow) -> bool:
    """Returns whether the tools changed before this turn, so that the prompt's prefix had to be read anew."""
    before = store.reports(turn.session_id, [turn.number - 1]).get(turn.number - 1) or {}
    marks = [report.get("tools") for report in (before, turn.report or {})]
    return all(marks) and marks[0] != marks[1]


def _render_prompt_items(view: View, report: dict[str, Any]) -> None:
    """Draws which turns every part of the prompt holds; past turns one by one, with their scores."""
    words, rows = view.words, list[str]()
    for part in report["parts"]:
        items, name = part.get("items") or (), escape(words("part." + part["name"]))
        if part["name"] == "summaries":
            items = list_shown_summaries(report)
        if part["name"] == "turns":
            rows += [f"<li><span>{name}</span></li>{_list_places(view, items)}"] if items else []
        elif items:
            rows.append(f"<li><span>{name}</span><b>{escape(', '.join(items))}</b></li>")
    if rows:
        st.caption(words("context.items"))
        st.html(f'<ul class="gieok-legend">{"".join(rows)}</ul>')


def _draw_left_out(view: View, report: dict[str, Any]) -> None:
    """Draws what is not in the prompt and why; past turns one by one, with their scores."""
    words, rows = view.words, list[str]()
    for each in report.get("left_out") or []:
        reason = escape(words("context.reason." + each["reason"]))
        rows.append(f"<li><span>{reason}</span><b>{escape(each['what'])}</b></li>")
        if each.get("items"):
            rows.append(_list_places(view, each["items"]))
    if rows:
        st.caption(words("context.left_out"))
        st.html(f'<ul class="gieok-legend">{"".join(rows)}</ul>')


def _list_places(view: View, items: Sequence[str]) -> str:
    """Returns the line of HTML that names these past turns, each with its score."""
    places = "<br>".join(map(escape, list_places(view, items)))
    return f"<li><small>{places}</small></li>"


def _draw_cost(view: View, turn: TurnRow) -> None:
    """Draws cached tokens and dollars, as far as they are known."""
    words, usage = view.words, turn.usage or {}
    prompt, cached = int(usage.get("prompt_tokens") or 0), int(usage.get("cached_tokens") or 0)
    facts = [words("context.cached", tokens=cached, percent=round(100 * cached / prompt))] if prompt else []
    st.caption(escape_markdown(" · ".join([*facts, _format_answer_price(words, usage.get("usd"))])))


def _format_answer_price(words: Words, usd: float | None) -> str:
    """Returns the cost of an answer in words; a model on this machine costs nothing."""
    if usd is None:
        return words("context.free")
    return words("context.cost", usd=usd) if usd else words("context.own")


def load_prompt_sizes(store: Store, session_id: str, last: int) -> list[tuple[int, int, int]]:
    """Returns number, tokens sent and tokens of the full history, for at most ``MOST`` turns up to ``last``."""
    steps = min(last, MOST)
    numbers = {1 + round(place * (last - 1) / max(1, steps - 1)) for place in range(steps)}
    reports = store.reports(session_id, numbers)
    return [
        (number, int(report["total_tokens"]), int(report["full_tokens"]))
        for number, report in sorted(reports.items())
        if report.get("total_tokens")
    ]


def render_prompt_plot(words: Words, sizes: Sequence[tuple[int, int, int]]) -> str:
    """Returns the plot as HTML: per turn a bar of the tokens sent, in front of a paler bar of the full history."""
    top = max(max(sent, full) for _, sent, full in sizes)
    bars = "".join(
        f'<i data-turn="{number}" title="{number}: {sent:,} / {full:,}"><u style="height:{100 * full / top:.1f}%"></u>'
        f'<b style="height:{100 * sent / top:.1f}%"></b></i>'
        for number, sent, full in sizes
    )
    label = words("context.plot.said", sent=sizes[-1][1], full=sizes[-1][2], number=sizes[-1][0])
    key = f'<p class="gieok-key"><b></b>{words("context.sent")} <u></u>{words("context.full")}</p>'
    return f'<div class="gieok-plot" role="img" aria-label="{escape(label, quote=True)}">{bars}</div>{key}'


def _draw_next(view: View, session: Session, prefix: str) -> None:
    """Draws what the next prompt will hold; the prompt is built only when the user opens the box."""
    words, number = view.words, session.turn_count + 1
    label = words("context.next.open", number=number)
    with st.expander(label, key=f"{prefix}next-{session.id}-{number}", on_change="rerun") as box:
        if not box.open:
            return
        if view.job is not None or view.status.state != "ready":
            st.caption(words("context.next.later"))
            return
        try:
            coming = preview_next_prompt(view.agent, session.id)
        except GieokError as error:
            draw_error(words, error)
            return
        draw_prompt(words, coming.report.plain())
        _render_prompt_items(view, coming.report.plain())
        _draw_left_out(view, coming.report.plain())
        if coming.making:
            st.caption(words("context.next.making", turns=", ".join(coming.making)))
        st.caption(words("context.next.more"))
