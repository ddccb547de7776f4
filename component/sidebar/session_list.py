"""The list of conversations: folders, search as the user types, a menu on every row, and selection of several rows.

The list is one component of our own (``session_list.js``): with Streamlit's widgets every row would cost a menu, a
button and a container in each run of the page. The browser keeps what only the browser knows: the selected rows and a
name that is being typed. The component's state ``look`` holds the search text, the number of rows shown and the open
folders. This module sends the list's content and handles its events.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypedDict

import streamlit as st

from component.page import window
from component.page.view import View, run_page_action, show_session
from component.panel.summarise import ask_summarise
from component.sidebar.delete import ask_delete
from component.sidebar.export import EXPORT
from component.sidebar.finder import find_session_hits, open_found_turn
from component.sidebar.trash import NAME as TRASH
from component.widget.markdown import sanitize_text
from component.widget.moment import find_reader_zone, format_reader_moment
from component.widget.title import listed_title
from component.widget.undo import keep_undo
from component.work import resource
from errors import FolderUnknown
from store import Folder, Session

KEY = "session-list"
PAGE, MOST = 30, 3000
TITLE_CHARS = 80
WORDS = {
    "search": "search.label",
    "newFolder": "folder.new",
    "folderName": "folder.name",
    "folderMenu": "folder.menu",
    "folderDelete": "folder.delete",
    "folderEmpty": "folder.empty",
    "folders": "folder.list",
    "select": "session.select",
    "selectOne": "session.select.one",
    "selectAll": "session.select.all",
    "selectNone": "session.select.none",
    "selectDone": "session.select.done",
    "selected": "session.selected",
    "menu": "session.menu",
    "pin": "session.pin",
    "unpin": "session.unpin",
    "rename": "session.rename",
    "move": "session.move",
    "moveShort": "session.move.short",
    "out": "session.move.out",
    "details": "session.details",
    "summarise": "session.summarise",
    "export": "session.export",
    "delete": "session.delete",
    "more": "session.more",
    "trash": "trash.open",
}
_LATER = {"name": "{name}", "title": "{title}", "count": "{count}"}
"""Placeholders that the browser fills."""

SCRIPT = Path(__file__).with_suffix(".js").read_text("utf-8")
_component = st.components.v2.component("gieok_session_list", js=SCRIPT, isolate_styles=False)


class ListQuery(TypedDict):
    """The search text, and how many rows are shown: of every open folder, and of the sessions in none (``""``)."""

    query: str
    counts: dict[str, int]


def draw_sessions(view: View) -> None:
    """Draws the list."""
    look = _read_list_query()
    words = {name: view.words(key, **_LATER) for name, key in WORDS.items()}
    data = {"words": words, "look": look, "here": view.session_id}
    data |= _build_search_listing(view, look["query"]) if look["query"] else _build_session_list(view, look["counts"])
    with st.container(key="sessions", gap=None):
        _component(
            key=KEY,
            data=json.dumps(data, ensure_ascii=False).encode(),  # as a dict, every Korean letter would cost six bytes
            on_look_change=lambda: None,
            on_open_change=partial(_open_clicked_session, view),
            on_act_change=partial(_run_list_action, view),
        )


def _read_component_value(name: str) -> Any:
    """Returns a state or an event of the component; None before the first."""
    return dict(st.session_state.get(KEY) or {}).get(name)


def _read_list_query() -> ListQuery:
    state: Mapping[str, Any] = _read_component_value("look") or {}
    counts = {str(folder): min(int(count), MOST) for folder, count in dict(state.get("counts") or {}).items()}
    return ListQuery(query=sanitize_text(str(state.get("query") or "")), counts={"": PAGE} | counts)


# --- what is shown ------------------------------------------------------------------------------


def _build_session_list(view: View, counts: Mapping[str, int]) -> dict[str, Any]:
    """Returns the folders with the rows of the open ones, and the other sessions by age. Every list is one query."""
    sessions, more = _load_session_page(view, "", counts[""])
    groups = [
        {"label": view.words(f"session.age.{part}"), "rows": [_build_session_row(view, session) for session in rows]}
        for part, rows in groupby(sessions, partial(classify_session_age, now=datetime.now(find_reader_zone())))
    ]
    folders = [
        _build_folder_row(view, folder, counts.get(folder.id))
        for folder in resource.find_user_agent().store.folders.all()
    ]
    none = view.words("session.none") if not sessions and not folders else ""
    trash = bool(resource.find_user_agent().store.put_away_sessions(1))
    return {"folders": folders, "groups": groups, "more": more, "none": none, "trash": trash, "hits": None}


def _build_folder_row(view: View, folder: Folder, count: int | None) -> dict[str, Any]:
    here = view.session is not None and view.session.folder == folder.id
    plain = {"id": folder.id, "name": sanitize_text(folder.name), "here": here, "rows": None, "more": False}
    if count is None:
        return plain
    sessions, more = _load_session_page(view, folder.id, count)
    return plain | {"rows": [_build_session_row(view, session) for session in sessions], "more": more}


def _load_session_page(view: View, folder: str, count: int) -> tuple[list[Session], bool]:
    """Returns the first ``count`` sessions of a folder, and whether there are more."""
    sessions = resource.find_user_agent().store.sessions(count + 1, folder=folder)
    return sessions[:count], len(sessions) > count


def _build_session_row(view: View, session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "name": sanitize_text(session.title),
        "title": listed_title(view.words, session.title, TITLE_CHARS),
        "when": format_reader_moment(session.updated),
        "pinned": session.pinned,
        "folder": session.folder,
        "busy": resource.find_user_jobs().of(session.id) is not None,
        "story": bool(session.world),
    }


Age = Literal["pinned", "today", "yesterday", "week", "older"]


def classify_session_age(session: Session, now: datetime) -> Age:
    """Returns the part of the list in which a conversation stands, by the reader's own calendar. ``now``: the moment
    where the reader is."""
    if session.pinned:
        return "pinned"
    days = (now.date() - datetime.fromtimestamp(session.updated, now.tzinfo).date()).days
    return "today" if days <= 0 else "yesterday" if days == 1 else "week" if days < 7 else "older"


def _build_search_listing(view: View, query: str) -> dict[str, Any]:
    return {
        "folders": [],
        "groups": [],
        "more": False,
        "none": "",
        "trash": False,
        "hits": find_session_hits(view, query),
    }


# --- what its events do -------------------------------------------------------------------------


def _open_clicked_session(view: View) -> None:
    target = _read_component_value("open")
    if not target:
        return
    if target.get("number") is None:
        show_session(str(target["id"]))
    else:
        run_page_action(partial(open_found_turn, view, str(target["id"]), int(target["number"]), int(target["branch"])))


def _run_list_action(view: View) -> None:
    event = _read_component_value("act")
    if event:
        run_page_action(partial(_ACTIONS[event["do"]], view, event))


def _pin_sessions(view: View, asked: Mapping[str, Any]) -> None:
    for session_id in asked["ids"]:
        resource.find_user_agent().store.pin_session(session_id, bool(asked["on"]))


def _rename_listed_session(view: View, asked: Mapping[str, Any]) -> None:
    resource.find_user_agent().store.rename_session(asked["ids"][0], str(asked["title"]))


def _open_session_export(view: View, asked: Mapping[str, Any]) -> None:
    window.open_page_window(EXPORT, tuple(asked["ids"]))


def _open_summary(view: View, asked: Mapping[str, Any]) -> None:
    ask_summarise(str(asked["ids"][0]))


def _open_trash(view: View, asked: Mapping[str, Any]) -> None:
    window.open_page_window(TRASH)


def _ask_session_deletion(view: View, asked: Mapping[str, Any]) -> None:
    ask_delete(list(asked["ids"]), view)


def _move_sessions(view: View, asked: Mapping[str, Any]) -> None:
    put_into_folder(view, asked["ids"], str(asked["folder"]))


def put_into_folder(view: View, ids: Iterable[str], folder: str) -> None:
    """Moves the sessions into a folder, or out of all folders if ``folder`` is empty, and offers to undo this."""
    names = {row.id: row.name for row in resource.find_user_agent().store.folders.all()}
    if folder and folder not in names:
        raise FolderUnknown()
    before = resource.find_user_agent().store.folders.move(ids, folder)
    message = (
        view.words("session.moved", name=sanitize_text(names[folder])) if folder else view.words("session.moved.out")
    )
    keep_undo(message, partial(resource.find_user_agent().store.folders.move_back, before))


def _create_folder(view: View, asked: Mapping[str, Any]) -> None:
    folder = resource.find_user_agent().store.folders.create(str(asked["name"]))
    if folder is not None and asked["ids"]:
        put_into_folder(view, asked["ids"], folder.id)


def _rename_folder(view: View, asked: Mapping[str, Any]) -> None:
    resource.find_user_agent().store.folders.rename(str(asked["folder"]), str(asked["name"]))


def _delete_folder(view: View, asked: Mapping[str, Any]) -> None:
    """Deletes the folder; its conversations stay."""
    folder = next((row for row in resource.find_user_agent().store.folders.all() if row.id == asked["folder"]), None)
    if folder is None:
        return
    inside = resource.find_user_agent().store.folders.delete(folder.id)
    message = view.words("folder.deleted", name=sanitize_text(folder.name))
    keep_undo(message, partial(resource.find_user_agent().store.folders.restore, folder, inside))


_ACTIONS = {
    "pin": _pin_sessions,
    "rename": _rename_listed_session,
    "export": _open_session_export,
    "summarise": _open_summary,
    "trash": _open_trash,
    "delete": _ask_session_deletion,
    "move": _move_sessions,
    "create": _create_folder,
    "folder": _rename_folder,
    "unfold": _delete_folder,
}
