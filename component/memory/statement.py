"""The sentences of the memory: pinned sentences first, a pin button for every sentence, and the editor of the text."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.memory.memory_change import Owner, attempt, draw_said, warn
from component.memory.version import versions_button
from component.page.catalogue import Words
from component.page.view import View
from component.widget.markdown import shown
from memory import MemoryView
from text import sentence


def draw_statements(view: View, mine: Owner, seen: MemoryView, prefix: str) -> None:
    """Draws the pinned facts and the text, or the editor while the user edits the text."""
    draw_said(view.words, "statement")
    base_version = st.session_state.get(_editing(prefix, mine))
    if base_version is not None:
        _draw_editor(view, mine, seen, base_version, prefix)
        return
    changeable = bool(mine.session)
    for index, pin in enumerate(seen.pins):
        _draw_row(view.words, mine, pin, "unpin", f"{prefix}{index}", changeable)
    lines = [line for line in sentence.split(seen.whole) if line not in seen.pins]
    for index, line in enumerate(lines):
        row = f"{prefix}{seen.version}-{index}"
        _draw_row(view.words, mine, line, "pin", row, changeable, cut=line in seen.cut)
    if seen.cut:
        st.caption(view.words("memory.cut", count=len(seen.cut)))
    if changeable:
        _draw_ways(view, mine, seen, prefix)


def _draw_row(words: Words, mine: Owner, line: str, name: str, row: str, changeable: bool, cut: bool = False) -> None:
    """Draws one statement with the button that pins or unpins it (``name``)."""
    state = "cut" if cut else "pinned" if name == "unpin" else "said"
    with st.container(key=f"statement-{state}-{row}", horizontal=True, wrap=False, gap="small"):
        st.text(shown(line), width="stretch")
        if changeable:
            st.button(
                "",
                key=f"memory-{name}-{row}",
                icon=":material/keep:",
                type="tertiary",
                help=words(f"memory.{name}"),
                on_click=_set_pin,
                args=(mine, line, name == "pin"),
            )


def _set_pin(mine: Owner, line: str, on: bool) -> None:
    change = mine.memory.pin if on else mine.memory.unpin
    attempt("statement", lambda: change(mine.tenant, mine.session, line, user=mine.user))


def _draw_ways(view: View, mine: Owner, seen: MemoryView, prefix: str) -> None:
    """Draws the field for a fact to pin, and the buttons that edit the text, undo the newest version and list all
    versions."""
    words, key = view.words, f"{prefix}memory-fact-{mine.session}"
    with (
        st.form(f"{prefix}memory-fact-form", border=False),
        st.container(horizontal=True, vertical_alignment="bottom", gap="small", wrap=False),
    ):
        st.text_input(words("memory.fact"), key=key, placeholder=words("memory.fact.example"), persist_state="page")
        st.form_submit_button(words("memory.pin.add"), on_click=_pin_fact, args=(mine, key))
    with st.container(horizontal=True, gap="small"):
        st.button(
            words("memory.edit"),
            key=f"{prefix}memory-edit",
            icon=":material/edit:",
            on_click=_edit,
            args=(mine, seen, prefix),
        )
        if seen.version:
            st.button(
                words("memory.undo"),
                key=f"{prefix}memory-undo",
                icon=":material/undo:",
                on_click=_undo,
                args=(mine,),
            )
            versions_button(view, prefix)


def _pin_fact(mine: Owner, key: str) -> None:
    """Pins the entered fact and empties the field; the field keeps its text if memory refuses the fact."""
    fact = str(st.session_state.get(key) or "").strip()
    pin = partial(mine.memory.pin, mine.tenant, mine.session, fact, user=mine.user)
    if fact and attempt("statement", pin):
        st.session_state[key] = ""


def _edit(mine: Owner, seen: MemoryView, prefix: str) -> None:
    st.session_state[_editing(prefix, mine)] = seen.version
    st.session_state[_draft(prefix, mine)] = shown("\n".join(sentence.split(seen.whole)))


def _undo(mine: Owner) -> None:
    undo = partial(mine.memory.undo, mine.tenant, mine.session, user=mine.user)
    attempt("statement", undo, "memory.undone")


def _editing(prefix: str, mine: Owner) -> str:
    """Returns the session-state key that holds the version from which the user began to edit the text."""
    return f"{prefix}memory-editing-{mine.session}"


def _draft(prefix: str, mine: Owner) -> str:
    return f"{prefix}memory-draft-{mine.session}"


def _draw_editor(view: View, mine: Owner, seen: MemoryView, began: int, prefix: str) -> None:
    """Draws the text in an editor. Warns before saving when a fold or another page has changed the memory meanwhile."""
    words, key = view.words, _draft(prefix, mine)
    if seen.version != began:
        warn(words("memory.moved", old=began, new=seen.version), words("memory.moved.hint"))
        with st.expander(words("memory.moved.now", number=seen.version)):
            st.text(shown(seen.whole), width="stretch")
    st.text_area(words("memory.edit"), key=key, height=260, on_change="ignore", persist_state="page")
    st.caption(words("memory.edit.about"))
    with st.container(horizontal=True, gap="small"):
        save = (mine, seen.version, prefix)
        st.button(words("revision.save"), key=f"{prefix}memory-save", type="primary", on_click=_save, args=save)
        leave = (mine, prefix)
        st.button(words("chat.withdraw"), key=f"{prefix}memory-leave", on_click=_leave, args=leave)


def _save(mine: Owner, drawn: int, prefix: str) -> None:
    """Saves the draft. If the memory has changed since the page was drawn, saves nothing: the next run warns first."""
    now = mine.look()
    if not now.away and now.version != drawn:
        return
    text = str(st.session_state.get(_draft(prefix, mine)) or "")
    edit = partial(mine.memory.edit, mine.tenant, mine.session, text, user=mine.user)
    if attempt("statement", edit, "memory.saved"):
        _leave(mine, prefix)


def _leave(mine: Owner, prefix: str) -> None:
    st.session_state.pop(_editing(prefix, mine), None)
