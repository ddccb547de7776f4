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

from component.answer.action import fork_turn, pin_turn, remove_chat_turn, take_back_turn
from component.answer.turn_editor import TurnPart, open_turn_editor
from component.chat.jump import jump_to_turn
from component.chat.side_question import NAME as SIDE
from component.chat.side_question import ask_side_question, can_ask_aside
from component.chat.turn import can_go_on
from component.memory.known import ask_known
from component.memory.memory_change import find_memory_owner
from component.page import window
from component.page.help import PANEL, ask_help
from component.page.point import PagePlace, point_at
from component.page.view import View, begin_chat, begin_private, run_page_action, show_documents, to_newest
from component.panel.comparison import NAME as COMPARISON
from component.panel.panel import TABS
from component.panel.summarise import ask_summarise
from component.settings.model_switch import ask_switch
from component.settings.options import SECTIONS, ask_options
from component.sidebar.bring_in import ask_import
from component.sidebar.delete import ask_delete
from component.sidebar.export import EXPORT
from component.sidebar.session_window import ask_move, ask_rename
from component.sidebar.trash import NAME as TRASH
from component.usage.usage_window import ask_usage
from component.work import resource
from component.world.panel import TABS as WORLD_TABS
from component.world.view import show_worlds
from store import TurnRow
from store.search.turn_index import FINISHED

KEY = "palette-component"
SEARCH = "search"
"""The action that the browser does by itself: it goes to the search of conversations."""
COPY = "copy"
"""The action that copies the last answer: the browser presses the button under the answer, where that is shown."""
TURN = "turn-"
REMOVE = "remove-"
SECTION = "section-"
TAB = "tab-"

_component = st.components.v2.component(
    "gieok_palette", js=Path(__file__).with_suffix(".js").read_text("utf-8"), isolate_styles=False
)


@dataclass(frozen=True, slots=True)
class PaletteAction:
    """An action of the palette. ``text``: the key of its label; ``is_offered``: whether it can be used now; ``fits``:
    whether it can be used on the last turn, None when it has nothing to do with one; ``also``: further words that find
    it, in both languages."""

    text: str
    icon: str
    run: Callable[[View], object]
    is_offered: Callable[[View], bool] = lambda view: True
    fits: Callable[[View, TurnRow], bool] | None = None
    also: str = ""


def _has_turns(view: View) -> bool:
    return view.session is not None and view.session.turn_count > 0


def _is_idle(view: View) -> bool:
    return _has_turns(view) and view.job is None


def _is_idle_chat(view: View) -> bool:
    return _is_idle(view) and view.session is not None and not view.session.world


def _is_kept(view: View) -> bool:
    return _has_turns(view) and not view.is_private


def _is_pinned_chat(view: View) -> bool:
    return _is_kept(view) and view.session is not None and view.session.pinned


def _pin_chat(view: View, pinned: bool) -> None:
    resource.find_user_agent().store.pin_session(str(view.session_id), pinned)


def _can_remove(view: View) -> bool:
    """Returns whether a single turn can be taken out, with others left."""
    return _is_idle(view) and view.session is not None and view.session.turn_count > 1


def _has_memory(view: View) -> bool:
    return find_memory_owner(view) is not None


def _show_panel_place(place: PagePlace) -> None:
    """Points at a place of the panel, which stands beside the conversation only."""
    show_documents(False)
    point_at(place)


def _show_tab(tab: int) -> None:
    _show_panel_place(PagePlace(f'{PANEL} [role="tabpanel"]:not([inert])', tab=tab))


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
    "go_on": PaletteAction(
        "turn.go_on", "play_arrow", lambda view: view.go_on(_find_last_turn(view)), _is_idle, can_go_on
    ),
    COPY: PaletteAction("turn.copy", "content_copy", lambda view: None, _has_turns),
    "pin": PaletteAction(
        "turn.pin",
        "keep",
        lambda view: pin_turn(_find_last_turn(view), True),
        _is_idle_chat,
        lambda view, turn: turn.status in FINISHED and not turn.pinned,
    ),
    "unpin": PaletteAction(
        "turn.unpin",
        "keep_off",
        lambda view: pin_turn(_find_last_turn(view), False),
        _is_idle_chat,
        lambda view, turn: turn.pinned,
    ),
    "take_back": PaletteAction(
        "turn.take_back",
        "undo",
        lambda view: take_back_turn(_find_last_turn(view)),
        _is_idle,
        lambda view, turn: turn.number > 1,
    ),
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
    "summarise": PaletteAction(
        "summarise.open",
        "compress",
        lambda view: ask_summarise(),
        _is_idle_chat,
        also="compact summarise summarize 요약 압축",
    ),
    "known": PaletteAction("known.open", "manage_search", lambda view: ask_known(), _has_memory),
    "rename": PaletteAction("session.rename", "edit", lambda view: ask_rename(), _is_kept),
    "move": PaletteAction("session.move", "drive_file_move", lambda view: ask_move(), _is_kept),
    "pin_chat": PaletteAction(
        "session.pin",
        "keep",
        lambda view: _pin_chat(view, True),
        lambda view: _is_kept(view) and not _is_pinned_chat(view),
    ),
    "unpin_chat": PaletteAction("session.unpin", "keep_off", lambda view: _pin_chat(view, False), _is_pinned_chat),
    "export": PaletteAction(
        "session.export", "download", lambda view: window.open_page_window(EXPORT, (view.session_id,)), _is_kept
    ),
    "delete": PaletteAction(
        "session.delete", "delete", lambda view: ask_delete([str(view.session_id)], view), _is_kept
    ),
    "erase": PaletteAction(
        "palette.erase",
        "delete_history",
        lambda view: _show_panel_place(PagePlace(f'{PANEL} [class*="memory-erase-all"]', tab=TABS.index("memory"))),
        lambda view: _has_memory(view) and not view.is_story,
        also="delete forget memory 기억 삭제",
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
    last = _find_last_turn(view) if _is_idle(view) else None
    tokens = last.tokens if last is not None else 0
    items += [
        {"id": name, "label": words(action.text, tokens=tokens), "icon": action.icon, "also": action.also}
        for name, action in ACTIONS.items()
        if _can_run(view, action, last)
    ]
    panel, title, tabs = (
        ("world.panel", "world.tab", WORLD_TABS) if view.is_story else ("panel.title", "panel.tab", TABS)
    )
    for group, icon, prefix, text, names in (
        ("options.open", "settings", SECTION, "options.tab", SECTIONS),
        (panel, "right_panel_open", TAB, title, tabs),
    ):
        items += [
            {"id": prefix + name, "label": f"{words(group)}: {words(f'{text}.{name}')}", "icon": icon} for name in names
        ]
    data = {
        "items": items,
        "turns": view.session.turn_count if view.session else 0,
        "removable": _can_remove(view),
        "words": {
            "title": words("palette.title"),
            "ask": words("palette.ask"),
            "turn": words("palette.turn", number="{number}"),
            "remove": words("palette.remove", number="{number}"),
            "find": words("palette.find", query="{query}"),
            "write": words("palette.write", text="{text}"),
            "side": words("side.write", text="{text}"),
        },
    }
    with st.container(key="palette"):
        _component(key=KEY, data=data, on_chosen_change=partial(_run_chosen, view))


def _can_run(view: View, action: PaletteAction, last: TurnRow | None) -> bool:
    """Returns whether the action can be used now. ``last``: the last turn of an idle conversation."""
    if not action.is_offered(view):
        return False
    return action.fits is None or (last is not None and action.fits(view, last))


def _run_chosen(view: View) -> None:
    """Runs what was chosen: an action, a section of the settings, or the way to a turn."""
    chosen: Any = dict(st.session_state.get(KEY) or {}).get("chosen")
    name = str((chosen or {}).get("id") or "")
    if name.startswith(TURN) and view.session is not None:
        number = int(name.removeprefix(TURN))
        if 1 <= number <= view.session.turn_count:
            jump_to_turn(view.session.id, number, view.session.turn_count)
    elif name.startswith(REMOVE) and view.session is not None and _can_remove(view):
        turn = view.store.turn(view.session.id, int(name.removeprefix(REMOVE)))
        if turn is not None:
            run_page_action(partial(remove_chat_turn, turn, view.session.turn_count))
    elif name == SIDE:  # with the question that was typed behind «/btw», if there is one
        ask_side_question(view, str(chosen.get("text") or ""))
    elif name.removeprefix(SECTION) in SECTIONS:
        ask_options(name.removeprefix(SECTION))
    elif name.startswith(TAB):
        tabs = [TAB + tab for tab in (WORLD_TABS if view.is_story else TABS)]
        if name in tabs:
            _show_tab(tabs.index(name))
    elif (action := ACTIONS.get(name)) is not None and _can_run(
        view, action, _find_last_turn(view) if _is_idle(view) else None
    ):
        run_page_action(partial(action.run, view))
