"""A turn of a story: the player's message, the answer, and the row of actions under it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.chat.turn import USER
from component.page.frame import MARK
from component.page.view import trying
from component.widget.copy_button import copy_button
from component.widget.markdown import fixed, plain
from component.widget.markdown import shown as harmless
from component.world.edit import draw_editor, edit, editing
from component.world.playing import play
from component.world.receipt import facts, hindrance
from component.world.version import draw_versions
from component.world.view import WorldView, show_world
from store.world.record import Node


def draw_turn(shown: WorldView, node: Node, *, last: bool) -> None:
    """Draws a turn. ``last``: the story goes on after it, so it can be answered anew and its message changed."""
    name = f"w{node.id}"
    if editing(node) and last:
        draw_editor(shown, node)
    elif node.question.strip():
        with st.container(key=f"question-{name}"), st.chat_message("user", avatar=USER):
            st.text(harmless(node.question))
    with st.container(key=f"answer-{name}"), st.chat_message("assistant", avatar=MARK):
        st.markdown(fixed(node.answer))
        if last:
            _draw_refusals(shown, node)
        _draw_actions(shown, node, last)


def _draw_refusals(shown: WorldView, node: Node) -> None:
    """Draws which fields of the answer's state block were not taken, and what made the request dearer."""
    words = shown.view.words
    if note := hindrance(words, node):
        st.caption(f":material/info: {plain(note)}")
    if node.refusals:
        with st.expander(words("world.play.refused", count=len(node.refusals)), icon=":material/rule:"):
            st.markdown("\n".join(f"- {plain(refusal)}" for refusal in node.refusals))


def _draw_actions(shown: WorldView, node: Node, last: bool) -> None:
    words, name = shown.view.words, f"w{node.id}"
    busy = shown.call is not None or (last and editing(node))
    with st.container(key=f"actions-{name}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.caption(plain(facts(words, node, whole=last)), width="content")
        draw_versions(shown, node, disabled=busy)
        copy_button(words, node.answer, f"copy-{name}")
        if not last:
            label, go = words("world.rewind"), partial(show_world, shown.world.id, node.id)
            _draw_action(f"rewind-{name}", "undo", label, go, busy)
        elif node.question.strip():
            again = partial(trying, partial(_again, shown, node))
            _draw_action(f"again-{name}", "refresh", words("turn.again"), again, busy)
            _draw_action(f"edit-{name}", "edit", words("world.edit"), partial(edit, node), busy)


def _draw_action(key: str, icon: str, label: str, do: partial[None], disabled: bool) -> None:
    icon = f":material/{icon}:"
    st.button("", key=key, icon=icon, type="tertiary", help=label, on_click=do, disabled=disabled)


def _again(shown: WorldView, node: Node) -> None:
    """Plays the same message again; the answer that is there stays as another version."""
    play(shown, before(shown, node), node.question, typed=False)


def before(shown: WorldView, node: Node) -> Node | None:
    """Returns the turn before a turn, None for the first."""
    return shown.engine.store.worlds.node(node.parent) if node.parent else None
