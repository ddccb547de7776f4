"""The window of everything that is known about the user, of all conversations: search, change, forget, since when, from
where, how often used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from component.chat.jump import jump_to_turn
from component.memory.memory_change import Owner, draw_said, find_memory_owner, run_reported_action
from component.page import window
from component.page.view import View
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from component.work import resource
from errors import SessionUnknown
from graph.context.use import count_texts, count_uses
from memory.row.profile import day_of
from memory.state import MemoryLine
from memory.view.known import KnownMemory
from store import Session
from text.fold import fold_text

NAME = "known"
PAGE, TITLE_CHARS = 30, 28
CHANGING, LIMIT, TEXTS = "known-changing", "known-limit", "known-texts"
"""Session-state keys: the line that is being changed, how many lines are shown, and the texts that prompts held."""


@dataclass(frozen=True, slots=True)
class KnownRow:
    """A line of the window. ``text``: as it is shown; ``session``: its conversation, None where that is gone."""

    line: MemoryLine
    text: str
    session: Session | None


def ask_known(query: str = "") -> None:
    """Opens the window with its first lines; ``query``: what it searches for at first."""
    st.session_state[LIMIT] = PAGE
    for key in (CHANGING, TEXTS, "known-query"):
        st.session_state.pop(key, None)
    if query:
        st.session_state["known-query"] = query
    window.open_page_window(NAME)


def draw_known_entry(view: View, prefix: str = "") -> None:
    """Draws the button that opens the window."""
    icon = ":material/manage_search:"
    st.button(view.words("known.open"), key=f"{prefix}known", icon=icon, on_click=ask_known)


def draw_known(view: View, about: object = None) -> None:
    """Draws the window."""
    mine = find_memory_owner(view)
    if mine is None:
        window.close_page_window()
        return
    window.render_page_window(view.words("known.title"), lambda: _draw_known_lines(view, mine), width="large")


def _draw_known_lines(view: View, mine: Owner) -> None:
    words, known = view.words, mine.memory.reader.read_known(mine.tenant, mine.user)
    st.caption(words("known.about"))
    draw_said(words, NAME)
    _draw_forgotten(view, mine, known)
    query = st.text_input(words("known.search"), key="known-query", icon=":material/search:", on_change=_begin_again)
    rows = list_rows(view, known, query or "")
    if not rows:
        st.caption(words("known.nothing" if query else "known.none"))
        return
    most = int(st.session_state.get(LIMIT, PAGE))
    shown_rows = rows[:most]
    if TEXTS not in st.session_state:  # reads many prompts, so once for each opening
        st.session_state[TEXTS] = count_texts(resource.find_page_agent())
    uses = count_uses(st.session_state[TEXTS], [row.line for row in shown_rows])
    st.caption(words("known.count", count=len(rows)))
    for row in shown_rows:
        _draw_known_row(view, mine, row, uses[row.line.id])
    if len(rows) > most:
        st.button(
            words("known.more", count=len(rows) - most), key="known-more", type="tertiary", on_click=_show_more_lines
        )


def _begin_again() -> None:
    st.session_state[LIMIT] = PAGE


def _show_more_lines() -> None:
    st.session_state[LIMIT] = int(st.session_state.get(LIMIT, PAGE)) + PAGE


def list_rows(view: View, known: KnownMemory, query: str) -> list[KnownRow]:
    """Returns the lines that hold all words of the query, facts and pins first, then the newest conversation's."""
    texts = [(line.row, line.describe(view.words.language)) for line in known.profile]
    texts += [(line, line.label) for line in known.lines]
    sessions = {name: _find_session(view, name) for name in {line.session for line, _ in texts}}
    rows = [KnownRow(line, text, sessions[line.session]) for line, text in texts]
    sought = fold_text(query).split()
    return [row for row in rows if all(word in fold_text(_join_searched(row)) for word in sought)]


def _join_searched(row: KnownRow) -> str:
    return f"{row.text} {row.session.title if row.session else ''}"


def _find_session(view: View, name: str) -> Session | None:
    try:
        return resource.find_user_agent().store.session(name) if name else None
    except SessionUnknown:
        return None


def _draw_known_row(view: View, mine: Owner, row: KnownRow, used: int) -> None:
    words, line = view.words, row.line
    state = "pinned" if line.pinned else "said"
    with st.container(key=f"statement-{state}-known-{line.id}", gap="xsmall"):
        if st.session_state.get(CHANGING) == line.id:
            _draw_known_form(view, mine, line)
            return
        with st.container(horizontal=True, wrap=False, gap="small"):
            st.text(sanitize_text(row.text), width="stretch")
            icon, label = ":material/edit:", words("known.change")
            change = partial(_begin_change, line)
            st.button("", key=f"known-change-{line.id}", icon=icon, type="tertiary", help=label, on_click=change)
            icon, label = ":material/close:", words("memory.profile.forget")
            forget = partial(_forget_row, mine, row)
            st.button("", key=f"known-forget-{line.id}", icon=icon, type="tertiary", help=label, on_click=forget)
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key=f"known-facts-{line.id}"):
            st.caption(escape_markdown(" · ".join(describe_row(view, row, used))), width="content")
            _draw_known_place(view, row)


def describe_row(view: View, row: KnownRow, used: int) -> list[str]:
    """Returns what a line is, since when it is known, whose words it is, and how often it stood in a prompt."""
    words, line = view.words, row.line
    kind = "pinned" if line.pinned else "profile" if line.kind == "profile" else "session"
    facts = [words(f"known.kind.{kind}"), words("known.since", day=day_of(line.at))]
    if line.origin != "user":
        facts.append(words(f"memory.from.{line.origin}"))
    facts.append(words("known.used" if used else "known.unused", count=used))
    if not has_place(row):
        facts.append(words("memory.turn.hand" if row.session is not None and not line.turn else "past.gone"))
    return facts


def has_place(row: KnownRow) -> bool:
    """Returns whether the turn that said a line is still there."""
    return row.session is not None and 0 < row.line.turn <= row.session.turn_count


def _draw_known_place(view: View, row: KnownRow) -> None:
    """Draws where a line was said, as a button that opens the turn there."""
    words, line, session = view.words, row.line, row.session
    if session is None or not has_place(row):
        return
    label = escape_markdown(f"{shorten_text(session.title, TITLE_CHARS)} · {words('memory.turn', turn=line.turn)}")
    go = (session.id, line.turn, session.turn_count)
    st.button(
        label, key=f"known-go-{line.id}", type="tertiary", icon=":material/my_location:", on_click=jump_to_turn, args=go
    )


def _begin_change(line: MemoryLine) -> None:
    st.session_state[CHANGING] = line.id


def _draw_known_form(view: View, mine: Owner, line: MemoryLine) -> None:
    words, key = view.words, f"known-text-{line.id}"
    with st.form(f"known-form-{line.id}", border=False):
        st.text_input(escape_markdown(line.key) or words("known.change"), sanitize_text(line.text), key=key)
        with st.container(horizontal=True, gap="small"):
            keep = (mine, line, key)
            st.form_submit_button(words("revision.save"), type="primary", on_click=_reword_known_line, args=keep)
            st.form_submit_button(words("chat.withdraw"), on_click=_end_change)


def _reword_known_line(mine: Owner, line: MemoryLine, key: str) -> None:
    text = str(st.session_state.get(key) or "").strip()
    reword = partial(mine.memory.writer.reword, mine.tenant, line.session, line.id, text, user=mine.user)
    if run_reported_action(NAME, reword, "memory.saved"):
        _end_change()


def _end_change() -> None:
    st.session_state.pop(CHANGING, None)


def _forget_row(mine: Owner, row: KnownRow) -> None:
    turn = row.session.turn_count if row.session is not None else row.line.turn
    texts: Sequence[str] = [row.line.label]
    forget = partial(mine.memory.eraser.forget_lines, mine.tenant, row.line.session, texts, turn=turn, user=mine.user)
    run_reported_action(NAME, forget)


def _bring_back(restore: Callable[[], object]) -> None:
    run_reported_action(NAME, restore, "known.restored")


def _draw_forgotten(view: View, mine: Owner, known: KnownMemory) -> None:
    """Draws what was forgotten last, each with the way back."""
    words = view.words
    if not known.forgotten:
        return
    with st.expander(words("known.forgotten", count=len(known.forgotten)), icon=":material/bookmark_remove:"):
        for gone in known.forgotten:
            with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
                texts = " · ".join(shorten_text(text, 120) for text in gone.texts)
                st.caption(escape_markdown(f"{day_of(gone.at)} · {texts}"), width="stretch")
                restore = partial(
                    mine.memory.writer.restore_forgotten, mine.tenant, gone.session, gone.at, user=mine.user
                )
                back = partial(_bring_back, restore)
                st.button(words("change.undo"), key=f"known-back-{gone.at}", type="tertiary", on_click=back)
