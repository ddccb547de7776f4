"""The quiet lines below an answer: what its turn changed in memory, each with the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from component.memory.memory_change import Owner, find_memory_owner
from component.memory.proposal import NAME as PROPOSAL
from component.memory.version import NAME as VERSIONS
from component.page import window
from component.page.view import View, run_page_action
from component.panel.summary_history import describe_turns
from component.widget.markdown import escape_markdown, shorten_text
from errors import GieokError
from memory.view.known import TurnChange
from store import TurnRow

TEXT_CHARS = 120
_ICONS = {
    "remembered": "bookmark_added",
    "pinned": "keep",
    "forgotten": "bookmark_remove",
    "folded": "neurology",
    "proposed": "rule",
}


def find_changes(view: View, turns: Sequence[TurnRow]) -> Mapping[int, list[TurnChange]]:
    """Returns what each of these turns changed in memory, by its number; nothing where memory is off or cannot be
    read."""
    mine = find_memory_owner(view)
    if mine is None or not mine.session or not turns:
        return {}
    last = turns[-1]
    since = last.started if view.session and view.session.turn_count == last.number else None
    numbers = [turn.number for turn in turns]
    try:
        found = mine.memory.reader.read_turn_changes(mine.tenant, mine.session, numbers, since=since, user=mine.user)
    except GieokError:
        return {}
    by_turn = dict[int, list[TurnChange]]()
    for change in found:
        # what was to be forgotten is not read again below every old answer; the window of everything known has the rest
        if change.kind != "forgotten" or (since is not None and change.turn == last.number):
            by_turn.setdefault(change.turn, []).append(change)
    return by_turn


def draw_changes(view: View, changes: Sequence[TurnChange]) -> None:
    """Draws one line for each change."""
    mine = find_memory_owner(view)
    if mine is None:
        return
    for place, change in enumerate(changes):
        key = f"memory-change-{change.turn}-{place}"
        with st.container(key=key, horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.caption(
                f":material/{_ICONS[change.kind]}: {escape_markdown(_describe_change(view, change))}", width="content"
            )
            _draw_change_ways(view, mine, change, key)


def _describe_change(view: View, change: TurnChange) -> str:
    words = view.words
    if change.kind in ("folded", "proposed"):
        first, last = map(int, change.texts)
        return words(f"change.{change.kind}", turns=describe_turns(words, first, last))
    texts = " · ".join(shorten_text(text, TEXT_CHARS) for text in change.texts)
    return words(f"change.{change.kind}", texts=texts)


def _draw_change_ways(view: View, mine: Owner, change: TurnChange, key: str) -> None:
    words, writer = view.words, mine.memory.writer
    if change.kind in ("folded", "proposed"):
        name = VERSIONS if change.kind == "folded" else PROPOSAL
        st.button(
            words("change.look"), key=f"{key}-look", type="tertiary", on_click=window.open_page_window, args=(name,)
        )
    if change.kind == "proposed":
        return
    ways: dict[str, Callable[[], object]] = {
        "remembered": partial(writer.take_back, mine.tenant, mine.session, change.line, user=mine.user),
        "pinned": partial(writer.take_back, mine.tenant, mine.session, change.line, user=mine.user),
        "forgotten": partial(writer.restore_forgotten, mine.tenant, mine.session, change.at, user=mine.user),
        "folded": partial(writer.undo, mine.tenant, mine.session, user=mine.user),
    }
    label, icon = words("change.undo"), ":material/undo:"
    st.button(
        label, key=f"{key}-undo", icon=icon, type="tertiary", on_click=partial(run_page_action, ways[change.kind])
    )
