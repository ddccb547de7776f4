"""The slider of the compression rate, and what a move of it leaves as it is: the summaries of another rate."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page import window
from component.page.catalogue import Words
from component.page.view import RATE_NEW, View, run_page_action
from component.panel.comparison import NAME as COMPARISON
from component.panel.summary_history import round_to_percent
from component.widget.markdown import escape_markdown
from component.work import resource
from graph.summary import rewrite
from store import Session

_MARKS = (("0.1", "short"), ("0.3", "balanced"), ("0.5", "detailed"))


def draw_rate(view: View) -> None:
    """Draws the slider (specification 8.2), and what stays."""
    words = view.words
    key = f"rate-{view.session_id}" if view.session_id else RATE_NEW
    if moved := st.session_state.get(key, view.rate) != view.rate:  # changed in another tab
        st.session_state[key] = view.rate
    st.slider(
        words("rate.label"),
        min_value=0.1,
        max_value=0.5,
        value=None if moved else view.rate,
        step=0.05,
        help=words("rate.help"),
        key=key,
        on_change=_set_rate,
        args=(view, key),
    )
    marks = "".join(f"<span>{rate}<br>{words('rate.' + name)}</span>" for rate, name in _MARKS)
    st.html(f'<div class="gieok-marks" aria-hidden="true">{marks}</div>')
    if view.session is not None:
        _draw_others(view, view.session)


def _set_rate(view: View, key: str) -> None:
    if view.session_id is not None:
        run_page_action(partial(view.store.set_rate, view.session_id, float(st.session_state[key])))


def _draw_others(view: View, session: Session) -> None:
    """Draws how many summaries are of another rate, and the ways to change that; nothing where there are none."""
    rates = view.store.ledger.count_rates(session.id)
    others = {rate: count for rate, count in rates.items() if abs(rate - session.compression_rate) > rewrite.SAME_RATE}
    if not others:
        return
    words, count = view.words, sum(others.values())
    is_running = rewrite.is_running(resource.find_page_agent(), session.id, rewrite.REMAKE)
    with st.container(key="rate-others", gap="xsmall"):
        if is_running:
            st.caption(words("rate.remaking", count=count))
        else:
            st.caption(escape_markdown(describe_others(words, others)))
        with st.container(horizontal=True, gap="small"):
            if is_running:
                stop = partial(run_page_action, partial(rewrite.stop_remake, resource.find_page_agent(), session.id))
                st.button(words("rewrite.stop"), key="rate-stop", type="tertiary", on_click=stop)
            else:
                _draw_remake_button(view, session)
            compare = partial(_ask_comparison, view, session.id)
            is_ready = view.status.state == "ready"
            st.button(
                words("compare.open"), key="rate-compare", type="tertiary", on_click=compare, disabled=not is_ready
            )


def _ask_comparison(view: View, session_id: str) -> None:
    """Opens the comparison with the rate of now: the slider may have moved on since the button was drawn."""
    run_page_action(lambda: window.open_page_window(COMPARISON, view.store.session(session_id).compression_rate))


def describe_others(words: Words, others: dict[float, int]) -> str:
    """Returns from when a moved rate counts, and which summaries it leaves. ``others``: how many of each other rate."""
    (rate, count), *more = others.items()
    if more:
        return words("rate.stay.many", count=sum(others.values()))
    return words("rate.stay.one" if count == 1 else "rate.stay", count=count, percent=round_to_percent(rate))


def _draw_remake_button(view: View, session: Session) -> None:
    """Draws the button that makes them anew, with what that takes."""
    offer = rewrite.make_rate_offer(view.agent, session) if view.status.models is not None else None
    price = ""
    if offer is not None and offer.tokens:
        cost = view.words("rewrite.tokens", tokens=offer.tokens) if offer.usd is None else f"${offer.usd:.2f}"
        price = view.words("rate.remake.about", count=offer.count, price=cost)
    start = partial(run_page_action, partial(rewrite.start_remake, view.agent, session.id))
    st.button(
        view.words("rate.remake"), key="rate-remake", type="tertiary", on_click=start, disabled=offer is None,
        help=price or None,
    )  # fmt: skip
