"""The Markdown files of a world: the state as text, the story so far, and the user's own files."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from zlib import crc32

import streamlit as st

from component.page.view import try_page_action
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from component.widget.moment import format_reader_moment
from component.world.correction import place_of, set_field_default
from component.world.view import WorldView
from errors import BadWorldFile
from model.call.token import estimate_tokens
from world.file.file import LIVE, PREFIX, STORY, WRITTEN, Files
from world.prompt.budget import Budgets
from world.story.live import live_state

NEW = "new"


def draw_files(shown: WorldView, prefix: str = "") -> None:
    """Draws the tab: damaged files with their errors, the field that chooses a file, and that file."""
    words, files = shown.view.words, shown.engine.files
    known = files.all(shown.world.id, shown.node.session if shown.node is not None else "")
    for problem in known.problems:
        draw_error(words, problem)
    own = [name for name in files.names(shown.world.id) if name != PREFIX]
    names = (LIVE, PREFIX, STORY, *own, NEW)
    key = f"{prefix}world-file-{shown.world.id}"
    if st.session_state.get(key) not in names:
        st.session_state.pop(key, None)
    name = st.selectbox(
        words("world.file.choose"), names, key=key,
        format_func=lambda one: words("world.file.new") if one == NEW else one,
    )  # fmt: skip
    if name == LIVE:
        _draw_live(shown, known)
    elif name == STORY:
        _draw_story(shown)
    elif name == NEW:
        _draw_new(shown, key, prefix)
    else:
        _draw_own(shown, known, name, prefix)


def _draw_live(shown: WorldView, known: Files) -> None:
    """Draws live_state.md as it is after the turn that is shown; the file on the disk is of the newest turn."""
    words, live = shown.view.words, known.live
    same = live is not None and shown.node is not None and live.node == shown.node.id
    st.code(live_state(shown.state, shown.world.language), language=None, wrap_lines=True)
    if same and live is not None:
        st.caption(escape_markdown(words("world.file.live", turn=live.turn, updated=_format_iso_time(live.updated_at))))
    else:
        st.caption(escape_markdown(words("world.file.live.other")))
    _draw_budget(shown, live_state(shown.state, shown.world.language), _read_world_budgets(shown).state)


def _format_iso_time(updated_at: str) -> str:
    """Returns a time of ISO 8601 by the reader's clock; other text as it is."""
    try:
        return format_reader_moment(datetime.fromisoformat(updated_at).timestamp())
    except (ValueError, OverflowError):
        return updated_at


def _draw_story(shown: WorldView) -> None:
    words = shown.view.words
    st.caption(words("world.file.story"))
    text = shown.engine.render_story(shown.node) if shown.node is not None else ""
    if not text:
        st.caption(words("world.file.story.none"))
        return
    st.code(text, language=None, wrap_lines=True, height=400)
    _draw_budget(shown, text, _read_world_budgets(shown).files)


def _draw_own(shown: WorldView, known: Files, name: str, prefix: str) -> None:
    """Draws the text of a file with the buttons that store and remove it."""
    words, files, world = shown.view.words, shown.engine.files, shown.world.id
    there, text = name in files.names(world), ""
    if there:
        try:
            text = files.text(world, name)
        except BadWorldFile as problem:  # its box stands above
            st.caption(escape_markdown(words("world.file.unread", name=problem.values["name"])))
    if name == PREFIX:
        st.caption(words("world.file.prefix"))
    typed = f"{prefix}world-typed-file-{world}-{name}-{crc32(text.encode())}"  # a file that changed gets a new field
    set_field_default(typed, text)
    st.text_area(words("world.file.text", name=name), key=typed, height=300, on_change="ignore", persist_state="page")
    usual = _read_world_budgets(shown).prefix if name == PREFIX else _read_world_budgets(shown).files
    file = next((one for one in (known.prefix, *known.further) if one is not None and one.name == name), None)
    if file is not None:
        _draw_budget(shown, file.body, file.choose_budget(usual))
    with st.container(horizontal=True):
        save = partial(_save_world_file, shown, name, typed)
        st.button(words("world.save"), key=f"{prefix}world-file-save", type="primary", on_click=save)
        if there:
            remove = partial(_remove_world_file, shown, name, typed)
            st.button(
                words("world.file.remove"), key=f"{prefix}world-file-remove", icon=":material/delete:", on_click=remove
            )


def _draw_new(shown: WorldView, chosen: str, prefix: str) -> None:
    words, typed = shown.view.words, f"{prefix}world-typed-file-{place_of(shown)}-new"
    st.text_input(
        words("world.file.name"), key=f"{typed}-name", placeholder="npc.md", help=words("world.file.help"),
        persist_state="page",
    )  # fmt: skip
    st.text_area(words("world.file.text", name="…"), key=typed, height=200, on_change="ignore", persist_state="page")
    create = partial(_create_world_file, shown, typed, chosen)
    st.button(words("world.file.create"), key=f"{prefix}world-file-create", type="primary", on_click=create)


def _create_world_file(shown: WorldView, typed: str, chosen: str) -> None:
    name = (st.session_state.get(f"{typed}-name") or "").strip()
    name = name if name.endswith(".md") else f"{name}.md"
    if name in (*WRITTEN, *shown.engine.files.names(shown.world.id)):
        try_page_action(partial(_raise_file_error, name, "there is such a file already", "taken"))
    elif _write_world_file(shown, name, typed):
        st.session_state.pop(f"{typed}-name", None)
        st.session_state.pop(typed, None)
        st.session_state[chosen] = name


def _raise_file_error(name: str, reason: str, code: str) -> None:
    raise BadWorldFile(name=name, reason=reason, reason_code=code)


def _save_world_file(shown: WorldView, name: str, typed: str) -> None:
    _write_world_file(shown, name, typed)


def _write_world_file(shown: WorldView, name: str, typed: str) -> bool:
    """Stores what was typed; returns whether that was possible. The page shows why it was not."""

    def write() -> None:
        try:
            shown.engine.store.worlds.world(shown.world.id)  # a world that was deleted meanwhile gets no folder again
            shown.engine.files.write(shown.world.id, name, str(st.session_state.get(typed) or ""))
        except OSError:
            _raise_file_error(name, "it cannot be written", "unwritten")

    return try_page_action(write)


def _remove_world_file(shown: WorldView, name: str, typed: str) -> None:
    def remove() -> None:
        try:
            shown.engine.files.remove(shown.world.id, name)
        except OSError:
            _raise_file_error(name, "it cannot be removed", "unwritten")

    if try_page_action(remove):
        st.session_state.pop(typed, None)


def _read_world_budgets(shown: WorldView) -> Budgets:
    return Budgets.of(shown.engine.settings)


def _draw_budget(shown: WorldView, text: str, budget: int) -> None:
    words, tokens = shown.view.words, estimate_tokens(text)
    said = escape_markdown(words("world.file.budget", tokens=tokens, budget=budget))
    st.caption(said if tokens <= budget else f":orange[{said} {escape_markdown(words('world.file.over'))}]")
