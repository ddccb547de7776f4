"""Names that may be one: the questions about them, and the further names of somebody or of a place."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.widget.markdown import escape_markdown
from component.world.correction import store_correction
from component.world.view import WorldView
from store.world.record import AliasKind, Changes
from world.naming.merge import find_unclear, keep_names_apart, merge_names, split_names
from world.naming.resolve import PLAYER
from world.naming.spelling import reduce_name


def draw_name_questions(shown: WorldView, kind: AliasKind, prefix: str = "") -> None:
    """Draws every pair of names that may be one, with a click for each answer."""
    words, state = shown.view.words, shown.state
    for at, (short, long) in enumerate(find_unclear(state, kind)):
        key = f"{prefix}world-name-{kind}-{at}"
        kept, lost = (short, long) if short == state.player else (long, short)
        with st.container(border=True, key=key):
            st.markdown(escape_markdown(words(f"world.name.ask.{kind}", one=short, other=long)))
            with st.container(horizontal=True, gap="small"):
                _draw_name_choice(
                    shown, words("world.name.one"), f"{key}-one", "merge", merge_names(state, kind, lost, kept)
                )
                _draw_name_choice(
                    shown, words("world.name.two"), f"{key}-two", "call_split", keep_names_apart(kind, short, long)
                )


def draw_further_names(shown: WorldView, kind: AliasKind, name: str, key: str) -> None:
    """Draws the further names of somebody or of a place, each with a button that splits it off."""
    words = shown.view.words
    named = shown.state.further_names(kind).get(name, ())
    for at, further in enumerate(one for one in named if reduce_name(one) not in PLAYER):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{key}-name-{at}"):
            st.caption(escape_markdown(words("world.name.also", name=further)), width="content")
            about = escape_markdown(words("world.name.split.help", name=further, other=name))
            st.button(
                words("world.name.split"), key=f"{key}-split-{at}", icon=":material/call_split:", type="tertiary",
                help=about, on_click=partial(_store_answer, shown, split_names(shown.state, kind, further)),
            )  # fmt: skip


def _draw_name_choice(shown: WorldView, label: str, key: str, icon: str, changes: Changes) -> None:
    st.button(label, key=key, icon=f":material/{icon}:", on_click=_store_answer, args=(shown, changes))


def _store_answer(shown: WorldView, changes: Changes) -> None:
    store_correction(shown, changes)
