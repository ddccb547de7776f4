"""The window that summarises the turns without a summary at once: what it takes, what it saves and the text, before
anything changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from component.page import window
from component.page.view import View, show_session, store_page_error
from component.panel.revision import render_turns
from component.panel.summary_history import describe_turns
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from component.widget.marked import render_marked_facts
from component.widget.wait import redraw_when_done
from component.work import resource
from component.work.side_call import SideCall
from errors import GieokError
from graph.summary.by_hand import HINT_CHARS, SummaryDraft, find_raw_chunks

NAME = "summarise"
MADE, OUTDATED = "summarise-made", "summarise-outdated"
"""Session-state keys: what the panel says once, of the turns that were summarised and the tokens saved; and whether the
turns of a draft have changed meanwhile."""
Written = tuple[str, list[SummaryDraft]]
"""What a side call writes: the wish that it was given, and the drafts."""


def ask_summarise(session_id: str = "") -> None:
    """Opens the window; of another conversation than the open one with ``session_id``."""
    if session_id:
        show_session(session_id)
    window.open_page_window(NAME)


def draw_summarise_entry(view: View, prefix: str = "") -> None:
    """Draws the button that opens the window, and once what came of it."""
    words, made = view.words, st.session_state.pop(MADE, None)
    if made is not None:
        turns, tokens = made
        st.success(words("summarise.made", turns=turns, tokens=tokens), icon=":material/check:")
    is_ready = view.session is not None and view.session.turn_count > 0 and view.job is None
    label, icon = words("summarise.open"), ":material/compress:"
    st.button(label, key=f"{prefix}summarise", icon=icon, on_click=ask_summarise, disabled=not is_ready)


def draw_summarise(view: View, about: object = None) -> None:
    """Draws the window; closing it stops a summary that is being written."""
    session = view.session_id
    if session is None:
        window.close_page_window()
        return
    leave = partial(resource.side_calls().dismiss, _draft_key(session))
    window.render_page_window(
        view.words("summarise.title"), lambda: _draw_drafting(view, session), width="large", leave=leave
    )


def _draft_key(session: str) -> tuple[str, str]:
    """Returns the key of the side call that writes the drafts."""
    return (NAME, session)


def _draw_drafting(view: View, session: str) -> None:
    words, side_call = view.words, resource.side_calls().of(_draft_key(session))
    running = side_call is not None and not side_call.done
    chunks = find_raw_chunks(view.agent, view.store.session(session))
    if not chunks:
        st.caption(words("summarise.none"))
        return
    st.caption(words("summarise.about"))
    if st.session_state.pop(OUTDATED, False):
        st.warning(words("summarise.outdated"), icon=":material/info:")
    turns = view.store.turns_between(session, chunks[0][0], chunks[-1][-1])
    numbers = describe_turns(words, chunks[0][0], chunks[-1][-1])
    st.markdown(
        f"**{escape_markdown(numbers)}** :gray["
        f"{escape_markdown(words('summarise.now', tokens=sum(t.tokens for t in turns)))}]"
    )
    hint = f"summarise-hint-{session}"
    st.text_input(words("summarise.hint"), key=hint, placeholder=words("summarise.hint.example"), max_chars=HINT_CHARS)
    written: Written | None = side_call.result if side_call is not None and side_call.done else None
    with st.container(horizontal=True, gap="small", key="summarise-ways"):
        if written is not None:
            use = partial(_use_summary_drafts, view, session, written)
            st.button(
                words("summarise.use"), key="summarise-use", type="primary", icon=":material/check:", on_click=use
            )
        name, kind = ("again", "secondary") if written else ("write", "primary")
        idle = view.status.state == "ready" and not running
        start = partial(_start_draft, view, session, hint)
        st.button(words(f"summarise.{name}"), key="summarise-write", type=kind, on_click=start, disabled=not idle)  # type: ignore[arg-type]
        if running:
            stop, icon = partial(resource.side_calls().dismiss, _draft_key(session)), ":material/stop_circle:"
            st.button(words("chat.stop"), key="summarise-stop", icon=icon, on_click=stop)
    if side_call is not None and running:
        st.markdown(f":shimmer[{words('summarise.writing')}]")
        redraw_when_done(side_call)
    elif side_call is not None and side_call.error is not None:
        draw_error(words, side_call.error)
    elif written is not None:
        _draw_drafts(view, written[1])


def _draw_drafts(view: View, drafts: Sequence[SummaryDraft]) -> None:
    """Draws every summary beside its turns, and what all of them save in each prompt."""
    words = view.words
    before, after = sum(draft.tokens_before for draft in drafts), sum(draft.tokens_after for draft in drafts)
    name = "summarise.saves" if after < before else "summarise.costs"
    st.markdown(words(name, before=before, after=after, saved=before - after))
    for draft in drafts:
        left, right = st.columns(2, gap="medium")
        kept, lost = draft.made.kept, draft.made.lost
        head = describe_turns(words, draft.numbers[0], draft.numbers[-1])
        with left:
            st.caption(
                f"{words('summarise.before')} · {head} · {words('summarise.tokens', tokens=draft.tokens_before)}"
            )
            st.html(f'<div class="gieok-marked">{render_turns(words, draft.turns, kept, lost)}</div>')
        with right:
            st.caption(f"{words('summarise.after')} · {words('summarise.tokens', tokens=draft.tokens_after)}")
            st.html(f'<div class="gieok-marked">{render_marked_facts(draft.made.record["summary"], kept)}</div>')
            if lost:
                st.markdown(
                    f":orange[:material/warning: {escape_markdown(words('summary.lost', facts=', '.join(lost)))}]"
                )


def _start_draft(view: View, session: str, hint: str) -> None:
    """Starts the side call with the wish that stands in the field now: it may arrive together with the press."""
    agent, wish = view.agent, str(st.session_state.get(hint) or "")

    def work(side_call: SideCall) -> Written:
        return wish, agent.draft_summaries(session, wish, stop=side_call.stop)

    resource.side_calls().start(_draft_key(session), work)


def _use_summary_drafts(view: View, session: str, written: Written) -> None:
    """Puts the drafts into the context and closes the window; says so where their turns have changed meanwhile."""
    hint, drafts = written
    try:
        is_used = resource.find_page_agent().use_drafts(session, drafts, hint)
    except GieokError as error:
        store_page_error(error)
        window.close_page_window()
        return
    resource.side_calls().dismiss(_draft_key(session))
    if not is_used:
        st.session_state[OUTDATED] = True
        return
    saved = max(0, sum(draft.tokens_before - draft.tokens_after for draft in drafts))
    st.session_state[MADE] = describe_turns(view.words, drafts[0].numbers[0], drafts[-1].numbers[-1]), saved
    window.close_page_window()
