"""What the model was given: one answer's prompt in full, all turns against full history, and the next prompt."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from component.catalogue import Words
from component.markdown import plain
from component.prompt_bar import draw_prompt
from component.view import View
from graph.turns import CHUNK, next_due
from store import Turn

MOST = 60


def draw_context(view: View, prefix: str = "") -> None:
    """The tab."""
    words = view.words
    turns = view.store.turns(view.session_id, limit=MOST) if view.session_id else []
    turns = [turn for turn in turns if turn.report and turn.report.get("total_tokens")]
    if not turns:
        st.caption(words("prompt.none"))
        return
    numbers = [turn.number for turn in reversed(turns)]
    chosen = st.selectbox(
        words("context.turn"),
        numbers,
        format_func=lambda number: words("context.number", number=number),
        key=f"{prefix}context-turn-{view.session_id}-{numbers[0]}",
    )
    turn = next(each for each in turns if each.number == chosen)
    draw_prompt(words, turn.report)
    _draw_items(words, turn.report or {})
    _draw_left_out(words, turn.report or {})
    _draw_cost(view, turn)
    st.markdown(f"## {words('context.plot')}", anchors=False)
    st.html(plot(words, turns))
    st.markdown(f"## {words('context.next')}", anchors=False)
    _draw_next(view)


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
    price = usage.get("usd")
    facts.append(words("context.cost", usd=price) if price is not None else words("context.free"))
    st.caption(plain(" · ".join(facts)))


def plot(words: Words, turns: Sequence[Turn]) -> str:
    """Per turn a bar of what was sent, before a paler one of the full history."""
    sizes = [
        (turn.number, int(turn.report["total_tokens"]), int(turn.report["full_tokens"]))
        for turn in turns
        if turn.report
    ]
    top = max(max(sent, full) for _, sent, full in sizes)
    bars = "".join(
        f'<i title="{number}: {sent:,} / {full:,}"><u style="height:{100 * full / top:.1f}%"></u>'
        f'<b style="height:{100 * sent / top:.1f}%"></b></i>'
        for number, sent, full in sizes
    )
    said = words("context.plot.said", sent=sizes[-1][1], full=sizes[-1][2], number=sizes[-1][0])
    ends = f"<span>{sizes[0][0]}</span><span>{sizes[-1][0]}</span>"
    key = f'<p class="gieok-key"><b></b>{words("context.sent")} <u></u>{words("context.full")}</p>'
    figure = f'<div class="gieok-plot" role="img" aria-label="{escape(said, quote=True)}">{bars}</div>'
    return f'{figure}<div class="gieok-ends">{ends}</div>{key}'


def _draw_next(view: View) -> None:
    """What the next prompt will hold, from the ledger and the transcript."""
    words, session = view.words, view.session
    if session is None:
        return
    count = session.turn_count
    kept = [each for each in view.store.ledger.on_path(session.id, count) if each.status == "active"]
    ahead = [each for each in view.store.ledger.summaries(session.id, limit=2) if each.status == "ready"]
    due = next_due(count) == count + 1
    first_raw = (kept[-1].turns[-1] if kept else 0) + 1
    chunks = [f"{each.turns[0]}-{each.turns[-1]}" for each in kept]
    if due or ahead:
        chunks.append(f"{first_raw}-{first_raw + CHUNK - 1}")
        first_raw += CHUNK
    summaries = ", ".join(chunks) or words("context.nothing")
    raw = (
        f"{first_raw}-{count}"
        if count > first_raw
        else (str(count) if count == first_raw else words("context.nothing"))
    )
    st.caption(plain(words("context.next.text", summaries=summaries, raw=raw, turn=count + 1)))
