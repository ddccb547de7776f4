"""The profile: lasting facts of the user and pins, from all conversations, each with its day and where it was said."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.chat.jump import jump_to_turn
from component.memory.memory_change import Owner, draw_said, run_reported_action, show_pinned
from component.page.view import View
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from errors import SessionUnknown
from memory import MemoryView, ProfileLine

TITLE_CHARS = 24


def draw_user_profile(view: View, mine: Owner, seen: MemoryView, prefix: str) -> None:
    """Draws every fact with its buttons, and the field for a fact to pin."""
    words = view.words
    draw_said(words, "profile")
    lines = (*seen.covered_profile, *seen.profile, *seen.cut_profile)
    if not lines:
        st.caption(words("memory.profile.none"))
    for line in lines:
        _draw_fact(view, mine, line, prefix, cut=line in seen.cut_profile)
    if seen.cut_profile:
        st.caption(words("memory.profile.cut", count=len(seen.cut_profile)))
    if mine.session:
        _draw_pin_field(view, mine, prefix)


def _draw_fact(view: View, mine: Owner, line: ProfileLine, prefix: str, *, cut: bool) -> None:
    words, row = view.words, line.row
    state, name = "cut" if cut else "pinned" if row.pinned else "said", f"{prefix}{row.id}"
    with st.container(key=f"statement-{state}-{name}", horizontal=True, wrap=False, gap="small"):
        st.text(sanitize_text(line.describe(words.language)), width="stretch")
        _draw_source(view, line, name)
        if mine.session:
            change = mine.memory.writer.unpin if row.pinned else mine.memory.writer.pin
            kind, icon = "unpin" if row.pinned else "pin", ":material/keep:"
            action = partial(change, mine.tenant, mine.session, row.label, user=mine.user)
            pin = partial(_apply_change, action, kind)
            label = words(f"memory.{kind}")
            st.button("", key=f"memory-{kind}-{name}", icon=icon, type="tertiary", help=label, on_click=pin)
            forget, icon = partial(_forget_fact, view, mine, row.label), ":material/close:"
            label = words("memory.profile.forget")
            st.button("", key=f"profile-forget-{name}", icon=icon, type="tertiary", help=label, on_click=forget)


def _draw_source(view: View, line: ProfileLine, name: str) -> None:
    """Draws where a fact was said, as a button that opens the turn there; its day alone when that turn is gone."""
    words, row = view.words, line.row
    try:
        session = view.store.session(row.session) if row.session and row.turn else None
    except SessionUnknown:
        session = None
    if session is None or row.turn > session.turn_count:
        st.caption(line.day, width="content")
        return
    here = row.session == view.session_id
    label = words("memory.turn", turn=row.turn) if here else f"{shorten_text(session.title, TITLE_CHARS)} · {line.day}"
    place = words("past.elsewhere", title=session.title, number=row.turn, day=line.day)
    go = (row.session, row.turn, session.turn_count)
    st.button(
        escape_markdown(label),
        key=f"profile-open-{name}",
        type="tertiary",
        help=escape_markdown(place),
        on_click=jump_to_turn,
        args=go,
    )


def _apply_change(action: partial[None], kind: str) -> None:
    """Pins or unpins, and says so; a pin is brought into view."""
    if run_reported_action("profile", action, f"memory.{kind}ned") and kind == "pin":
        show_pinned()


def _forget_fact(view: View, mine: Owner, text: str) -> None:
    turn = view.session.turn_count if view.session else 0
    forget = partial(mine.memory.eraser.forget_lines, mine.tenant, mine.session, [text], turn=turn, user=mine.user)
    run_reported_action("profile", forget)


def _draw_pin_field(view: View, mine: Owner, prefix: str) -> None:
    words, key = view.words, f"{prefix}memory-fact-{mine.session}"
    with (
        st.form(f"{prefix}memory-fact-form", border=False),
        st.container(horizontal=True, vertical_alignment="bottom", gap="small", wrap=False),
    ):
        st.text_input(words("memory.fact"), key=key, placeholder=words("memory.fact.example"), persist_state="page")
        st.form_submit_button(words("memory.pin.add"), on_click=_pin_fact, args=(mine, key))


def _pin_fact(mine: Owner, key: str) -> None:
    """Pins the entered fact and empties the field; the field keeps its text if memory refuses the fact."""
    fact = str(st.session_state.get(key) or "").strip()
    pin = partial(mine.memory.writer.pin, mine.tenant, mine.session, fact, user=mine.user)
    if fact and run_reported_action("profile", pin, "memory.pinned"):
        st.session_state[key] = ""
        show_pinned()
