"""The palette: every action of the page in one list that is searched and used with the keyboard alone.

Ctrl/⌘+K opens it anywhere, «/» in an empty message input. The list is drawn by the browser (``palette.js``); what is
chosen runs here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from component.answer.action import fork_turn
from component.answer.turn_editor import TurnPart, open_turn_editor
from component.chat.jump import jump_to_turn
from component.chat.side_question import NAME as SIDE
from component.chat.side_question import ask_side_question, can_ask_aside
from component.page import window
from component.page.help import ask_help
from component.page.view import View, begin_chat, begin_private, run_page_action, show_documents, to_newest
from component.panel.comparison import NAME as COMPARISON
from component.settings.model_switch import ask_switch
from component.settings.options import SECTIONS, ask_options
from component.sidebar.bring_in import ask_import
from component.sidebar.delete import ask_delete
from component.sidebar.export import EXPORT
from component.sidebar.trash import NAME as TRASH
from component.usage.usage_window import ask_usage
from component.world.view import show_worlds
from store import TurnRow
from store.search.turn_index import FINISHED

KEY = "palette-component"
SEARCH = "search"
"""The action that the browser does by itself: it goes to the search of conversations."""
TURN = "turn-"
SECTION = "section-"

_component = st.components.v2.component(
    "gieok_palette", js=Path(__file__).with_suffix(".js").read_text("utf-8"), isolate_styles=False
)


@dataclass(frozen=True, slots=True)
class PaletteAction:
    """An action of the palette. ``text``: the key of its label; ``is_offered``: whether it can be used now."""

    text: str
    icon: str
    run: Callable[[View], object]
    is_offered: Callable[[View], bool] = lambda view: True


def _has_turns(view: View) -> bool:
    return view.session is not None and view.session.turn_count > 0


def _is_idle(view: View) -> bool:
    return _has_turns(view) and view.job is None


def _is_idle_chat(view: View) -> bool:
    return _is_idle(view) and view.session is not None and not view.session.world


def _is_kept(view: View) -> bool:
    return _has_turns(view) and not view.is_private


def _edit_last(view: View, part: TurnPart) -> None:
    turn = _find_last_turn(view)
    if part == "question" or turn.status in FINISHED:
        to_newest(turn.session_id)
        open_turn_editor(turn, part)


def _find_last_turn(view: View) -> TurnRow:
    """Returns the last turn of the open conversation, which has one."""
    (turn,) = view.store.turns(str(view.session_id), limit=1)
    return turn


def _stop_answer(view: View) -> None:
    if view.job is not None:
        view.job.stop.set()


ACTIONS: dict[str, PaletteAction] = {
    "new": PaletteAction("session.create", "edit_square", lambda view: begin_chat()),
    "private": PaletteAction("private.create", "visibility_off", lambda view: begin_private()),
    "model": PaletteAction("chat_model.title", "neurology", lambda view: ask_switch()),
    "stop": PaletteAction("chat.stop", "stop_circle", _stop_answer, lambda view: view.job is not None),
    "again": PaletteAction("turn.again", "refresh", lambda view: view.again(_find_last_turn(view)), _is_idle),
    "edit": PaletteAction("turn.edit", "edit", lambda view: _edit_last(view, "question"), _is_idle),
    "reword": PaletteAction("turn.reword", "edit_note", lambda view: _edit_last(view, "answer"), _is_idle),
    "fork": PaletteAction(
        "turn.fork",
        "fork_right",
        lambda view: fork_turn(_find_last_turn(view)),
        lambda view: _is_idle(view) and _is_kept(view),
    ),
    SIDE: PaletteAction("side.open", "chat_bubble", lambda view: ask_side_question(view, ""), can_ask_aside),
    "compare": PaletteAction(
        "compare.open", "compare", lambda view: window.open_page_window(COMPARISON), _is_idle_chat
    ),
    "export": PaletteAction(
        "session.export", "download", lambda view: window.open_page_window(EXPORT, (view.session_id,)), _is_kept
    ),
    "delete": PaletteAction(
        "session.delete", "delete", lambda view: ask_delete([str(view.session_id)], view), _is_kept
    ),
    "documents": PaletteAction("documents.title", "folder_open", lambda view: show_documents()),
    "worlds": PaletteAction("world.title", "public", lambda view: show_worlds()),
    "options": PaletteAction("options.open", "settings", lambda view: ask_options()),
    "usage": PaletteAction("usage.open", "monitoring", lambda view: ask_usage()),
    "import": PaletteAction("session.import.open", "upload", lambda view: ask_import()),
    "trash": PaletteAction("trash.open", "delete_sweep", lambda view: window.open_page_window(TRASH)),
    "help": PaletteAction("help.open", "help", lambda view: ask_help()),
}


def draw_palette(view: View) -> None:
    """Draws the component; nothing of it is seen until a key opens it."""
    words = view.words
    items = [{"id": SEARCH, "label": words("help.key.search"), "icon": "search"}]
    items += [
        {"id": name, "label": words(action.text), "icon": action.icon}
        for name, action in ACTIONS.items()
        if action.is_offered(view)
    ]
    of_settings = words("options.open")
    items += [
        {"id": SECTION + name, "label": f"{of_settings}: {words(f'options.tab.{name}')}", "icon": "settings"}
        for name in SECTIONS
    ]
    data = {
        "items": items,
        "turns": view.session.turn_count if view.session else 0,
        "words": {
            "title": words("palette.title"),
            "ask": words("palette.ask"),
            "turn": words("palette.turn", number="{number}"),
            "find": words("palette.find", query="{query}"),
            "write": words("palette.write", text="{text}"),
            "side": words("side.write", text="{text}"),
        },
    }
    with st.container(key="palette"):
        _component(key=KEY, data=data, on_chosen_change=partial(_run_chosen, view))


def _run_chosen(view: View) -> None:
    """Runs what was chosen: an action, a section of the settings, or the way to a turn."""
    chosen: Any = dict(st.session_state.get(KEY) or {}).get("chosen")
    name = str((chosen or {}).get("id") or "")
    if name.startswith(TURN) and view.session is not None:
        number = int(name.removeprefix(TURN))
        if 1 <= number <= view.session.turn_count:
            jump_to_turn(view.session.id, number, view.session.turn_count)
    elif name == SIDE:  # with the question that was typed behind «/btw», if there is one
        ask_side_question(view, str(chosen.get("text") or ""))
    elif name.removeprefix(SECTION) in SECTIONS:
        ask_options(name.removeprefix(SECTION))
    elif (action := ACTIONS.get(name)) is not None and action.is_offered(view):
        run_page_action(partial(action.run, view))
