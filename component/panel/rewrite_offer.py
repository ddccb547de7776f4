"""The offer to have the model write the summaries that code extracted from a long past: now, later or never."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.catalogue import Words
from component.page.view import View, run_page_action
from component.widget.markdown import escape_markdown
from graph.summary import rewrite
from graph.summary.rewrite import RewriteOffer
from store import Session

LATER = "rewrite-later"
"""Session state key of the conversation whose offer waits until it is opened again."""
RESUMED = "rewrite-resumed"
"""Session state key of the conversation whose writing this page took up again."""


def draw_rewrite_offer(view: View, prefix: str = "") -> None:
    """Draws the offer, or what is being written; nothing where there is nothing to write."""
    session = view.session
    if session is None or view.status.models is None or session.rewriting == "never":
        return
    if st.session_state.get(LATER, session.id) != session.id:
        del st.session_state[LATER]
    found = rewrite.make_offer(view.agent, session)
    if found is None or LATER in st.session_state:
        return
    with st.container(border=True, gap="xsmall", key=f"{prefix}rewrite"):
        if session.rewriting == "now":
            _draw_running(view, session, found, prefix)
        else:
            _draw_choice(view, session, found, prefix)


def describe_offer(words: Words, found: RewriteOffer) -> str:
    """Returns what the model would write, and what that takes."""
    return words("rewrite.offer", count=found.count, price=describe_price(words, found))


def describe_price(words: Words, found: RewriteOffer) -> str:
    """Returns the price of the calls, or their tokens where the price is not known."""
    return words("rewrite.tokens", tokens=found.tokens) if found.usd is None else f"${found.usd:.2f}"


def _draw_choice(view: View, session: Session, found: RewriteOffer, prefix: str) -> None:
    words, agent = view.words, view.agent
    st.caption(escape_markdown(describe_offer(words, found)))
    choices = {
        "now": partial(run_page_action, partial(rewrite.start_rewrite, agent, session.id)),
        "later": partial(_put_off, session.id),
        "never": partial(run_page_action, partial(rewrite.stop_rewrite, agent, session.id, forever=True)),
    }
    with st.container(horizontal=True, gap="small", key=f"{prefix}rewrite-choice"):
        for name, action in choices.items():
            st.button(words(f"rewrite.{name}"), key=f"{prefix}rewrite-{name}", type="tertiary", on_click=action)


def _draw_running(view: View, session: Session, found: RewriteOffer, prefix: str) -> None:
    """Draws what is left and the button that ends it. Takes up work that a restart cut off, once a page: a server that
    is away ends it, too."""
    words, agent = view.words, view.agent
    running = rewrite.is_running(agent, session.id)
    if not running and st.session_state.get(RESUMED) != session.id:
        st.session_state[RESUMED] = session.id
        rewrite.start_rewrite(agent, session.id)
        running = True
    st.caption(words("rewrite.running" if running else "rewrite.paused", count=found.count))
    with st.container(horizontal=True, gap="small", key=f"{prefix}rewrite-choice"):
        if not running:
            resume = partial(run_page_action, partial(rewrite.start_rewrite, agent, session.id))
            st.button(words("rewrite.resume"), key=f"{prefix}rewrite-resume", type="tertiary", on_click=resume)
        end = partial(run_page_action, partial(rewrite.stop_rewrite, agent, session.id))
        st.button(words("rewrite.stop"), key=f"{prefix}rewrite-stop", type="tertiary", on_click=end)


def _put_off(session_id: str) -> None:
    st.session_state[LATER] = session_id
