"""The row under an answer: copy the text, answer again, edit a part of the turn, fork the conversation, rate it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from component.answer.turn_editor import count_later_turns, is_editing_turn, open_turn_editor
from component.chat.jump import jump_to_turn
from component.page.view import View, run_page_action, show_session, try_page_action
from component.panel.summarise import ask_summarise
from component.widget.copy_button import copy_button
from component.widget.markdown import escape_markdown
from component.widget.overflow import MenuItem, draw_overflow
from component.work import resource
from component.world.view import look_back
from store import TurnRow
from store.search.turn_index import FINISHED
from store.tree import Alternatives

NOTING = "noting"
REMOVED = "removed-turn"
_THUMBS = ("down", "up")


@dataclass(frozen=True, slots=True)
class RemovedTurn:
    """The turn that was last taken out on this page: its place, and the path of the conversation without it."""

    session: str
    number: int
    branch: int
    path: tuple[tuple[int, int], ...]


def draw_actions(view: View, turn: TurnRow, facts: str, versions: Alternatives | None) -> None:
    """Draws the row under an answer: ``facts`` (time, tokens), the switch between versions, and the action buttons."""
    words, number = view.words, turn.number
    busy = view.job is not None or is_editing_turn(turn)
    with st.container(key=f"actions-{number}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        if facts:
            st.caption(facts, width="content")
        if versions and (number or _is_switched(view, versions)):
            _render_turn_versions(view, versions, busy)
        if turn.answer:
            copy_button(words, turn.answer, f"copy-{turn.session_id}-{turn.branch}-{number}")
        later = count_later_turns(view, turn)
        # a greeting is nobody's answer, and a failure at the end has a button of its own to try again
        if number and (later or turn.status != "failed"):
            st.button(
                "",
                key=f"again-{number}",
                icon=":material/refresh:",
                type="tertiary",
                help=words("turn.again.leaves", count=later) if later else words("turn.again"),
                on_click=partial(view.again, turn),
                disabled=busy,
            )
        if turn.answer:
            _draw_thumbs(turn)
        draw_overflow(f"more-{number}", _list_more_actions(view, turn, later), disabled=busy)
    _draw_note(view, turn)


def _list_more_actions(view: View, turn: TurnRow, later: int) -> dict[str, MenuItem]:
    """Returns the actions behind the button «more», by name, as far as this turn has them. ``later``: the turns after
    it."""
    words, number = view.words, turn.number
    choices = {"edit": MenuItem(words("turn.edit"), "edit", partial(open_turn_editor, turn))} if number else {}
    if number and turn.answer and turn.status in FINISHED:
        reword = partial(open_turn_editor, turn, "answer")
        choices["reword"] = MenuItem(words("turn.reword"), "edit_note", reword)
    if view.is_story and turn.status in FINISHED:
        label = words("world.look", turn=number) if number else words("world.look.begin")
        choices["look"] = MenuItem(label, "history", partial(_look_back, turn))
    elif turn.status in FINISHED:
        label = words("turn.unpin") if turn.pinned else words("turn.pin", tokens=turn.tokens)
        icon, pin = "keep_off" if turn.pinned else "keep", partial(pin_turn, turn, not turn.pinned)
        choices["pin"] = MenuItem(label, icon, pin)
        if view.session is not None and number == view.session.turn_count:
            choices["summarise"] = MenuItem(words("summarise.up_to"), "compress", ask_summarise)
    if number and not view.is_private:
        choices["fork"] = MenuItem(words("turn.fork"), "fork_right", partial(fork_turn, turn))
    if number > 1:
        label = words("turn.take_back.later", count=later) if later else words("turn.take_back")
        choices["take_back"] = MenuItem(label, "undo", partial(take_back_turn, turn))
    if number and later:
        choices["remove"] = MenuItem(words("turn.remove"), "delete", partial(remove_chat_turn, turn, number + later))
    return choices


def _render_turn_versions(view: View, versions: Alternatives, busy: bool) -> None:
    words, number, place = view.words, versions.number, versions.current
    with st.container(
        key=f"versions-{number}", horizontal=True, vertical_alignment="center", gap=None, width="content"
    ):
        for step, icon, name in ((-1, "chevron_left", "earlier"), (1, "chevron_right", "later")):
            target = place + step
            inside = 0 <= target < len(versions.branches)
            st.button(
                "",
                key=f"{name}-{number}",
                icon=f":material/{icon}:",
                type="tertiary",
                help=words(f"turn.{name}"),
                on_click=_switch_turn_version,
                args=(view.session_id, number, versions.branches[target] if inside else 0),
                disabled=busy or not inside,
            )
            if step < 0:
                st.caption(f"{place + 1}/{len(versions.branches)}", width="content")


def _switch_turn_version(session: str, number: int, branch: int) -> None:
    run_page_action(partial(resource.find_page_agent().switch, session, number, branch))


def _is_switched(view: View, versions: Alternatives) -> bool:
    """Returns whether a story may begin with another greeting: it has not gone on, or has gone on after that one, too.
    With a greeting alone it would leave the list."""
    session = view.session
    if session is None or not session.turn_count:
        return True
    return view.store.tree.find_continuation(session.id, versions.number) is not None


def _look_back(turn: TurnRow) -> None:
    """Shows what was so in a story after a turn."""
    node = resource.find_user_engine().store.worlds.last_before(turn.session_id, turn.number + 1)
    look_back(turn.session_id, node.id if node is not None else 0)


def pin_turn(turn: TurnRow, pinned: bool) -> None:
    """Keeps a turn word for word in every prompt, or no longer."""
    resource.find_page_agent().pin_turn(turn.session_id, turn.number, pinned)


def take_back_turn(turn: TurnRow) -> None:
    """Takes a turn back, with those that came after it."""
    run_page_action(partial(resource.find_page_agent().take_back, turn.session_id, turn.number, turn.branch))


def remove_chat_turn(turn: TurnRow, count: int) -> None:
    """Takes one turn out and keeps the later ones; the page shows the place where it stood, with the way back.
    ``count``: how many turns the conversation has."""
    agent, session_id, number = resource.find_page_agent(), turn.session_id, turn.number
    branch = agent.remove_turn(session_id, number, turn.branch)
    jump_to_turn(session_id, min(number, count - 1), count - 1)
    path = tuple(agent.store.session(session_id).path)
    st.session_state[REMOVED] = RemovedTurn(session_id, number, branch, path)


def draw_removed(view: View, number: int) -> None:
    """Draws before turn ``number`` that another one was taken out there, with the button that brings it back: until the
    conversation goes another way."""
    removed: RemovedTurn | None = st.session_state.get(REMOVED)
    session = view.session
    if session is None or removed is None or (removed.session, removed.path) != (session.id, tuple(session.path)):
        return
    if min(removed.number, session.turn_count) != number:
        return
    words = view.words
    with st.container(key="removed", horizontal=True, vertical_alignment="center", gap="small"):
        text = escape_markdown(words("turn.removed", number=removed.number))
        st.caption(f":material/delete: {text}", width="content")
        back = partial(_bring_back_turn, removed, session.turn_count + 1)
        icon = ":material/undo:"
        st.button(words("session.undo"), key="removed-back", icon=icon, on_click=back, disabled=view.job is not None)


def _bring_back_turn(removed: RemovedTurn, count: int) -> None:
    if try_page_action(partial(resource.find_page_agent().switch, removed.session, removed.number, removed.branch)):
        jump_to_turn(removed.session, removed.number, count)


def fork_turn(turn: TurnRow) -> None:
    """Opens a new conversation with the turns up to this one."""
    show_session(resource.find_page_agent().fork(turn.session_id, turn.number))


def _draw_thumbs(turn: TurnRow) -> None:
    thumb = (turn.feedback or {}).get("thumb")
    key = f"thumb-{turn.session_id}-{turn.branch}-{turn.number}"
    default = _THUMBS.index(thumb) if thumb in _THUMBS else None
    st.feedback("thumbs", key=key, default=default, on_change=_store_thumb, args=(turn, key))


def _store_thumb(turn: TurnRow, key: str) -> None:
    """Stores the thumb and asks for a note; a thumb that is taken back takes its note with it."""
    value = st.session_state.get(key)
    _save_turn_feedback(turn, {} if value is None else {**(turn.feedback or {}), "thumb": _THUMBS[value]})
    st.session_state[NOTING] = None if value is None else (turn.session_id, turn.branch, turn.number)


def _draw_note(view: View, turn: TurnRow) -> None:
    """Draws the note to a thumb: an input right after the user gives the thumb, the stored text later."""
    note = str((turn.feedback or {}).get("note") or "")
    if st.session_state.get(NOTING) == (turn.session_id, turn.branch, turn.number):
        key, label = f"note-{turn.session_id}-{turn.branch}-{turn.number}", view.words("turn.note")
        st.text_input(
            label,
            note,
            key=key,
            placeholder=label,
            label_visibility="collapsed",
            max_chars=500,
            on_change=_store_feedback_note,
            args=(turn, key),
        )
    elif note:
        st.caption(f":material/sticky_note_2: {escape_markdown(note)}")


def _store_feedback_note(turn: TurnRow, key: str) -> None:
    _save_turn_feedback(turn, {**(turn.feedback or {}), "note": str(st.session_state[key]).strip()})
    st.session_state[NOTING] = None


def _save_turn_feedback(turn: TurnRow, feedback: dict[str, Any]) -> None:
    thumb, note = feedback.get("thumb"), str(feedback.get("note") or "")
    run_page_action(partial(resource.find_page_agent().store.set_feedback, turn.session_id, turn.number, thumb, note))
