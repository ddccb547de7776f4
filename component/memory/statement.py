"""The sentences of a conversation's memory: where each comes from, a pin button for every one, and the editor of the
text."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.memory.memory_change import Owner, draw_said, render_notice, run_reported_action, show_pinned
from component.memory.version import versions_button
from component.page.catalogue import Words
from component.page.view import View
from component.widget.markdown import sanitize_text
from memory import MemoryView
from memory.line import strip_line_turns
from memory.state import MemoryLine
from text import sentence


def draw_statements(view: View, mine: Owner, seen: MemoryView, prefix: str) -> None:
    """Draws the text, or the editor while the user edits the text."""
    draw_said(view.words, "statement")
    base_version = st.session_state.get(_build_memory_editing_key(prefix, mine))
    if base_version is not None:
        _draw_editor(view, mine, seen, base_version, prefix)
        return
    changeable = bool(mine.session)
    sources = {row.text: row for row in seen.rows}
    for index, line in enumerate(seen.whole.splitlines()):
        row = f"{prefix}{seen.version}-{index}"
        _render_statement_row(view.words, mine, line, sources.get(line), row, changeable, cut=line in seen.cut)
    if seen.cut:
        st.caption(view.words("memory.cut", count=len(seen.cut)))
    if changeable:
        _render_statement_ways(view, mine, seen, prefix)


def _render_statement_row(
    words: Words, mine: Owner, line: str, source: MemoryLine | None, row: str, changeable: bool, cut: bool = False
) -> None:
    """Draws one statement, where it comes from, and the button that pins it. A statement in the user's own words says
    its turn itself (``source`` is None)."""
    with st.container(key=f"statement-{'cut' if cut else 'said'}-{row}", horizontal=True, wrap=False, gap="small"):
        st.text(sanitize_text(line), width="stretch")
        if source is not None and source.turn:
            who = "" if source.origin == "user" else f" · {words(f'memory.from.{source.origin}')}"
            st.caption(f"{words('memory.turn', turn=source.turn)}{who}", width="content")
        if changeable:
            st.button(
                "",
                key=f"memory-pin-{row}",
                icon=":material/keep:",
                type="tertiary",
                help=words("memory.pin"),
                on_click=_pin_line,
                args=(mine, line),
            )


def _pin_line(mine: Owner, line: str) -> None:
    pin = partial(mine.memory.writer.pin, mine.tenant, mine.session, strip_line_turns(line), user=mine.user)
    if run_reported_action("profile", pin, "memory.pinned"):
        show_pinned()


def _render_statement_ways(view: View, mine: Owner, seen: MemoryView, prefix: str) -> None:
    """Draws the buttons that edit the text, undo the newest version and list all versions."""
    words = view.words
    with st.container(horizontal=True, gap="small"):
        st.button(
            words("memory.edit"),
            key=f"{prefix}memory-edit",
            icon=":material/edit:",
            on_click=_open_memory_editor,
            args=(mine, seen, prefix),
        )
        if seen.version:
            st.button(
                words("memory.undo"),
                key=f"{prefix}memory-undo",
                icon=":material/undo:",
                on_click=_undo_memory_version,
                args=(mine,),
            )
            versions_button(view, prefix)


def _open_memory_editor(mine: Owner, seen: MemoryView, prefix: str) -> None:
    st.session_state[_build_memory_editing_key(prefix, mine)] = (seen.version, seen.version_id)
    st.session_state[_build_memory_draft_key(prefix, mine)] = sanitize_text(
        "\n".join(sentence.split_sentences(seen.whole))
    )


def _undo_memory_version(mine: Owner) -> None:
    undo = partial(mine.memory.writer.undo, mine.tenant, mine.session, user=mine.user)
    run_reported_action("statement", undo, "memory.undone")


def _build_memory_editing_key(prefix: str, mine: Owner) -> str:
    """Returns the session-state key that holds the version from which the user began to edit the text."""
    return f"{prefix}memory-editing-{mine.session}"


def _build_memory_draft_key(prefix: str, mine: Owner) -> str:
    return f"{prefix}memory-draft-{mine.session}"


def _draw_editor(view: View, mine: Owner, seen: MemoryView, began: tuple[int, int], prefix: str) -> None:
    """Draws the text in an editor. Warns before saving when a fold or another page has changed the memory meanwhile."""
    words, key = view.words, _build_memory_draft_key(prefix, mine)
    if seen.version_id != began[1]:
        render_notice(words("memory.moved", old=began[0], new=seen.version), words("memory.moved.hint"))
        with st.expander(words("memory.moved.now", number=seen.version)):
            st.text(sanitize_text(seen.whole), width="stretch")
    st.text_area(words("memory.edit"), key=key, height=260, on_change="ignore", persist_state="page")
    st.caption(words("memory.edit.about"))
    with st.container(horizontal=True, gap="small"):
        save = (mine, seen.version_id, prefix)
        st.button(
            words("revision.save"), key=f"{prefix}memory-save", type="primary", on_click=_save_memory_draft, args=save
        )
        leave = (mine, prefix)
        st.button(words("chat.withdraw"), key=f"{prefix}memory-leave", on_click=_close_memory_editor, args=leave)


def _save_memory_draft(mine: Owner, drawn: int, prefix: str) -> None:
    """Saves the draft. If the memory has changed since the page was drawn, saves nothing: the next run warns first."""
    now = mine.look()
    if now.version_id != drawn:
        return
    text = str(st.session_state.get(_build_memory_draft_key(prefix, mine)) or "")
    edit = partial(mine.memory.writer.edit, mine.tenant, mine.session, text, user=mine.user)
    if run_reported_action("statement", edit, "memory.saved"):
        _close_memory_editor(mine, prefix)


def _close_memory_editor(mine: Owner, prefix: str) -> None:
    st.session_state.pop(_build_memory_editing_key(prefix, mine), None)
