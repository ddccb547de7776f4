"""All memory of the user: carrying it over to new conversations, exporting, importing and erasing it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import streamlit as st

from component.memory.memory_change import Owner, draw_said, run_reported_action
from component.memory.proposal import draw_asks_first
from component.page.view import View
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from component.work import resource
from errors import BadImport, FileTooLarge, GieokError
from store.export.portable import LIMIT, dump_json

FILE = "gieok-memory.json"


def draw_takeout(view: View, mine: Owner, prefix: str) -> None:
    """Draws the part of the memory tab below the memory of this conversation."""
    words = view.words
    st.markdown(f"## {words('memory.mine')}", anchors=False)
    draw_said(words, "takeout")
    _draw_switch(view, mine, prefix)
    draw_asks_first(view, mine, prefix)
    with st.expander(words("memory.takeout"), icon=":material/import_export:", key=f"{prefix}takeout"):
        _render_memory_export(view, mine, prefix)
        _render_memory_import(view, mine, prefix)
    with st.expander(words("memory.erase"), icon=":material/delete:", key=f"{prefix}erase"):
        if mine.session:
            one = partial(mine.memory.eraser.erase_session, mine.tenant, mine.session, goes_on=True, user=mine.user)
            _draw_erase(view, mine, prefix, "one", one)
        _draw_erase(view, mine, prefix, "all", partial(mine.memory.eraser.erase_user, mine.tenant, mine.user))


def _draw_switch(view: View, mine: Owner, prefix: str) -> None:
    """Draws the switch whether conversations share what lasts and find what was said in each other. The user decides,
    unless the settings switch this off (``user_memory``)."""
    words = view.words
    if not resource.find_user_agent().settings.user_memory:
        st.caption(words("memory.carry.never"))
        return
    on = mine.memory.reader.carries(mine.tenant, mine.user)
    key = f"{prefix}memory-carry-{on}"
    st.toggle(
        words("memory.carry"),
        on,
        key=key,
        help=words("memory.carry.about"),
        on_change=_toggle_memory_carrying,
        args=(mine, on),
    )


def _toggle_memory_carrying(mine: Owner, before: bool) -> None:
    run_reported_action("takeout", lambda: mine.memory.writer.set_carries(mine.tenant, not before, mine.user))


def _render_memory_export(view: View, mine: Owner, prefix: str) -> None:
    """Draws the export button; the file is built only when the user clicks the button."""
    words = view.words
    st.download_button(
        words("memory.export"),
        lambda: dump_json(mine.memory.export_user(mine.tenant, mine.user)),
        FILE,
        "application/json",
        key=f"{prefix}memory-export",
        icon=":material/download:",
        on_click="ignore",
    )


def _render_memory_import(view: View, mine: Owner, prefix: str) -> None:
    words = view.words
    upload = st.file_uploader(words("memory.import.file"), type=["json"], key=f"{prefix}memory-import-file")
    st.caption(words("memory.import.about"))
    if upload is None:
        return
    if st.button(words("memory.import"), key=f"{prefix}memory-import", icon=":material/upload:"):
        try:
            count = mine.memory.import_user(mine.tenant, _parse_memory_file(upload.getvalue()), mine.user)
        except GieokError as error:
            draw_error(words, error)
        else:
            st.success(words("memory.imported", count=count), icon=":material/check:")


def _parse_memory_file(data: bytes) -> dict[str, object]:
    if len(data) > LIMIT:
        raise FileTooLarge(size=len(data), limit=LIMIT)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadImport(reason=f"it is not JSON ({error})", reason_code="json", detail=str(error)) from error
    if not isinstance(content, dict):
        raise BadImport(reason="it holds no object", reason_code="no_object")
    return content


def _draw_erase(view: View, mine: Owner, prefix: str, what: str, erase: Callable[[], object]) -> None:
    """Draws the button that erases memory: the first click asks for confirmation, the second click erases."""
    words, asked_key = view.words, f"{prefix}memory-erasing-{what}-{mine.session}"
    if not st.session_state.get(asked_key):
        label = words(f"memory.erase.{what}")
        st.button(
            label,
            key=f"{prefix}memory-erase-{what}",
            on_click=_set_erase_question,
            args=(asked_key, True),
            width="stretch",
        )
        return
    st.warning(escape_markdown(words(f"memory.erase.{what}.about")), icon=":material/warning:")
    with st.container(horizontal=True, gap="small"):
        label = words("memory.erase.go")
        go = (asked_key, what, erase)
        st.button(label, key=f"{prefix}memory-erase-{what}-go", type="primary", on_click=_erase_memory, args=go)
        st.button(
            words("chat.withdraw"),
            key=f"{prefix}memory-erase-{what}-not",
            on_click=_set_erase_question,
            args=(asked_key, False),
        )


def _set_erase_question(asked: str, on: bool) -> None:
    st.session_state[asked] = on


def _erase_memory(asked: str, what: str, erase: Callable[[], object]) -> None:
    st.session_state[asked] = False
    run_reported_action("takeout", erase, f"memory.erased.{what}")
