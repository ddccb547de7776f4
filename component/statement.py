"""The sentences of the memory: pinned ones first, each with its pin, and the whole text in the user's own words."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.catalogue import Words
from component.markdown import shown
from component.owner import Owner, attempt, draw_said, warn
from component.version import versions_button
from component.view import View
from memory import MemoryView
from text import sentence


def draw_statements(view: View, mine: Owner, seen: MemoryView, prefix: str) -> None:
    """The pinned facts and the text, or the text as a draft."""
    draw_said(view.words, "statement")
    began = st.session_state.get(_editing(prefix, mine))
    if began is not None:
        _draw_editor(view, mine, seen, began, prefix)
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
    """One statement with the button that pins it or takes the pin off (``name``)."""
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
    """A fact to pin, the text to edit, the newest version to take back."""
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
                words("memory.undo", number=seen.version),
                key=f"{prefix}memory-undo",
                icon=":material/undo:",
                on_click=_undo,
                args=(mine,),
            )
            versions_button(view, prefix)


def _pin_fact(mine: Owner, key: str) -> None:
    """What was typed is kept unless it was taken."""
    fact = str(st.session_state.get(key) or "").strip()
    done = partial(mine.memory.pin, mine.tenant, mine.session, fact, user=mine.user)
    if fact and attempt("statement", done):
        st.session_state[key] = ""


def _edit(mine: Owner, seen: MemoryView, prefix: str) -> None:
    st.session_state[_editing(prefix, mine)] = seen.version
    st.session_state[_draft(prefix, mine)] = shown("\n".join(sentence.split(seen.whole)))


def _undo(mine: Owner) -> None:
    back = partial(mine.memory.undo, mine.tenant, mine.session, user=mine.user)
    attempt("statement", back, "memory.undone")


def _editing(prefix: str, mine: Owner) -> str:
    """In session state, while the text is being changed: the version that the change began from."""
    return f"{prefix}memory-editing-{mine.session}"


def _draft(prefix: str, mine: Owner) -> str:
    return f"{prefix}memory-draft-{mine.session}"


def _draw_editor(view: View, mine: Owner, seen: MemoryView, began: int, prefix: str) -> None:
    """The text as a draft. When a fold or another page has changed the memory meanwhile, that is said before saving."""
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
    """Saves the draft; not yet, when the memory has become another one than the page showed."""
    now = mine.look()
    if not now.away and now.version != drawn:
        return
    text = str(st.session_state.get(_draft(prefix, mine)) or "")
    done = partial(mine.memory.edit, mine.tenant, mine.session, text, user=mine.user)
    if attempt("statement", done, "memory.saved"):
        _leave(mine, prefix)


def _leave(mine: Owner, prefix: str) -> None:
    st.session_state.pop(_editing(prefix, mine), None)
