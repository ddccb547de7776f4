"""The window that answers one question with two variants of the summaries, side by side. It shows the cost first and
stores no answer."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from component.page import window
from component.page.view import View
from component.panel.prompt_bar import draw_prompt
from component.panel.summary_history import round_to_percent
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown, fix_markdown
from component.widget.wait import redraw_when
from component.work import resource
from component.work.side_call import SideCall
from errors import GieokError
from graph.context import compare
from graph.context.compare import Answered, Variant
from graph.turn.agent import Agent

NAME = "comparison"
RUNNING = "comparison-running"
"""Session-state key: holds the keys of both sides' calls once the user has asked for the answers."""
BEAT = 0.4
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
Key = tuple[str, str, str, int | None, Variant]


def draw_comparison(view: View, about: object = None) -> None:
    """Draws the window; closing the window stops the answers that run in it. ``about``: the rate of the second side;
    None for the full history."""
    session, rate = view.session_id, about if isinstance(about, float) else None
    if session is None:
        window.close_page_window()
        return
    window.render_page_window(
        view.words("compare.title"),
        lambda: _render_comparison(view, session, rate),
        width="large",
        leave=_dismiss_comparison,
    )


def draw_entry(view: View, prefix: str = "") -> None:
    """Draws what a comparison is, and the button that opens the window."""
    st.caption(view.words("compare.about"))
    usable = view.session is not None and view.session.turn_count > 0 and view.status.state == "ready"
    label = view.words("compare.open")
    st.button(
        label,
        key=f"{prefix}compare",
        icon=":material/compare:",
        on_click=window.open_page_window,
        args=(NAME,),
        disabled=not usable,
    )


def _render_comparison(view: View, session: str, rate: float | None) -> None:
    words = view.words
    text, turn = _render_compared_question(view, session)
    sides = [_choose_variant(view, column, index, rate) for index, column in enumerate(st.columns(2, gap="medium"))]
    if not text.strip():
        return
    try:
        st.caption(escape_markdown(_describe_comparison_cost(view, session, text, turn, sides)))
    except GieokError as error:
        draw_error(words, error)
        return
    keys = [("compare", session, text, turn, side) for side in sides]
    if st.session_state.get(RUNNING) not in (None, keys):  # the question or a side has changed
        _dismiss_comparison()
    works = {
        key: _build_variant_work(view.agent, session, text, turn, side) for key, side in zip(keys, sides, strict=True)
    }
    side_calls = [resource.side_calls().of(key) for key in keys if key in st.session_state.get(RUNNING, ())]
    with st.container(horizontal=True, key="compare-ways"):
        icon, busy = (
            ":material/compare:",
            any(not side_call.done for side_call in side_calls if side_call),
        )
        # no callback: a question that is being typed arrives together with the press
        go = st.button(words("compare.go"), key="compare-go", type="primary", icon=icon, disabled=busy)
        if busy:
            st.button(words("chat.stop"), key="compare-stop", icon=":material/stop_circle:", on_click=_stop_comparison)
    if go and not busy:
        _start_comparison(keys, works)
        st.rerun()
    if any(side_calls):
        _follow_comparison(view, side_calls, busy)


def _render_compared_question(view: View, session: str) -> tuple[str, int | None]:
    """Draws the fields for turn and question, and returns question and turn. The turn is None for a question of the
    user's own, which is asked after the last turn."""
    words, key, count = view.words, f"compare-turn-{session}", view.session.turn_count if view.session else 0
    if st.session_state.get(key, 0) > count:  # the user switched to a shorter version of the conversation
        del st.session_state[key]
    turn = int(st.number_input(words("compare.turn"), 1, count, count, key=key, width=190))
    row = view.store.turn(session, turn)
    original = row.question if row else ""
    text = st.text_area(words("compare.question"), original, key=f"compare-text-{session}-{turn}", height=80)
    same = text.strip() == original.strip()
    st.caption(words("compare.then", turn=turn) if same else words("compare.last"))
    return text, turn if same else None


def _start_comparison(keys: list[Key], works: dict[Key, Callable[[SideCall], Answered | None]]) -> None:
    _dismiss_comparison()
    st.session_state[RUNNING] = keys
    for key, work in works.items():
        resource.side_calls().start(key, work)


def _stop_comparison() -> None:
    """Stops both sides; their text so far stays."""
    for key in st.session_state.get(RUNNING, ()):
        side_call = resource.side_calls().of(key)
        if side_call is not None:
            side_call.stop.set()


def _dismiss_comparison() -> None:
    """Stops both sides and forgets them."""
    for key in st.session_state.pop(RUNNING, ()):
        resource.side_calls().dismiss(key)


def _choose_variant(view: View, column: object, index: int, rate: float | None) -> Variant:
    """Draws the field of one side and returns what it stands for. It begins with the summaries of now; the other side
    with those of ``rate``, or without one with the full history."""
    rates = sorted({*RATES, *([rate] if rate else [])})
    choices = (Variant(), Variant(full=True), *(Variant(rate=each) for each in rates))
    second = choices.index(Variant(rate=rate)) if rate else 1
    with column:  # type: ignore[attr-defined]
        chosen = st.selectbox(
            view.words("compare.side", side="AB"[index]),
            range(len(choices)),
            index=second if index else 0,
            format_func=lambda number: _format_variant_name(view, choices[number]),
            key=f"compare-side-{index}" if rate is None else f"compare-side-{index}-{rate:g}",
        )
    return choices[chosen]


def _format_variant_name(view: View, variant: Variant) -> str:
    if variant.full:
        return view.words("compare.full")
    if variant.rate is None:
        return view.words("compare.now")
    return view.words("compare.rate", percent=round_to_percent(variant.rate))


def _describe_comparison_cost(view: View, session: str, text: str, turn: int | None, sides: list[Variant]) -> str:
    """Returns the estimated cost of both sides together, in words."""
    costs = [compare.estimate_variant_cost(view.agent, session, text, side, turn) for side in sides]
    tokens = sum(cost.prompt_tokens + cost.summary_tokens for cost in costs)
    calls = len(sides) + sum(cost.summary_calls for cost in costs)
    prices = [cost.usd for cost in costs]
    estimate = view.words("compare.cost", tokens=tokens, calls=calls)
    return estimate if None in prices else f"{estimate} · ${sum(price or 0 for price in prices):.4f}"


def _build_variant_work(
    agent: Agent, session: str, text: str, turn: int | None, side: Variant
) -> Callable[[SideCall], Answered | None]:
    def work(side_call: SideCall) -> Answered | None:
        for piece in compare.stream_variant_answer(agent, session, text, side, side_call.stop, turn):
            if isinstance(piece, Answered):
                side_call.text = piece.text
                return piece
            side_call.text += piece
        return None

    return work


def _follow_comparison(view: View, side_calls: list[SideCall | None], running: bool) -> None:
    """Draws both answers while they grow, then what each was given. The window's own widgets work meanwhile.

    ``running``: what the buttons of this run were drawn by. If both answers have ended since, the window is drawn anew.
    """

    def look() -> bool:
        for column, side_call in zip(st.columns(2, gap="medium"), side_calls, strict=True):
            if side_call is not None:
                with column:
                    _draw_side(view, side_call)
        return running and all(call is None or call.done for call in side_calls)

    redraw_when(look, BEAT if running else None)


def _draw_side(view: View, side_call: SideCall) -> None:
    if side_call.error is not None:
        draw_error(view.words, side_call.error)
        return
    if side_call.done and not side_call.text:
        st.caption(view.words("compare.stopped"))
        return
    st.markdown(fix_markdown(side_call.text) if side_call.text else f":shimmer[{view.words('live.thinking')}]")
    if side_call.result is not None:
        draw_prompt(view.words, side_call.result.report.plain())
