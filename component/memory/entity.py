"""The entities as a table: key, value and source turn, with buttons that change, delete and add an entity."""

from __future__ import annotations

from functools import partial
from html import escape

import streamlit as st

from component.memory.memory_change import Owner, attempt, draw_said
from component.page.catalogue import Words
from component.page.view import View
from component.widget.markdown import plain, shown
from component.widget.overflow import Item, draw_overflow
from memory import Entity, MemoryView
from memory.state import MOST_ENTITIES


def draw_entities(view: View, mine: Owner, seen: MemoryView, prefix: str) -> None:
    """Draws the table, newest first: the oldest entities are the first to be dropped."""
    words, entities = view.words, (*seen.cut_entities, *seen.entities)
    draw_said(words, "entity")
    if not entities:
        st.caption(words("memory.entities.none"))
    with st.container(key=f"{prefix}entities", gap=None):
        for place, entity in enumerate(reversed(entities)):
            if st.session_state.get(_changing(prefix, mine)) == entity.key:
                _draw_change(view, mine, entity, prefix)
            else:
                _draw_row(words, mine, entity, f"{prefix}{len(entities) - place}", entity in seen.cut_entities, prefix)
    if entities:
        st.caption(words("memory.entities.count", count=len(entities), most=MOST_ENTITIES))
    if seen.cut_entities:
        st.caption(words("memory.entities.cut", count=len(seen.cut_entities)))
    if mine.session:
        _draw_add(view, mine, prefix)


def _draw_row(words: Words, mine: Owner, each: Entity, row: str, cut: bool, prefix: str) -> None:
    with st.container(key=f"entity-{row}", horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall"):
        turn = words("memory.turn", turn=each.turn) if each.turn else words("memory.turn.hand")
        value = each.describe_value(words.language)
        cells = f"<dt>{escape(shown(each.key))}</dt><dd>{escape(shown(value))}</dd><dd>{escape(turn)}</dd>"
        st.html(f'<dl class="gieok-entity{" cut" if cut else ""}">{cells}</dl>', width="stretch")
        if mine.session:
            choices = {
                "edit": Item(words("memory.entity.edit"), "edit", partial(_change, mine, each, prefix)),
                "delete": Item(words("memory.entity.delete"), "delete", partial(_drop, mine, each)),
            }
            draw_overflow(f"entity-menu-{row}", choices)


def _changing(prefix: str, mine: Owner) -> str:
    """Returns the session-state key that holds the key of the entity being changed."""
    return f"{prefix}entity-changing-{mine.session}"


def _change(mine: Owner, each: Entity, prefix: str) -> None:
    st.session_state[_changing(prefix, mine)] = each.key
    st.session_state[_value(prefix, mine)] = shown(each.value)


def _drop(mine: Owner, each: Entity) -> None:
    attempt("entity", partial(mine.memory.writer.remove_entity, mine.tenant, mine.session, each.key, user=mine.user))


def _value(prefix: str, mine: Owner) -> str:
    return f"{prefix}entity-value-{mine.session}"


def _draw_change(view: View, mine: Owner, each: Entity, prefix: str) -> None:
    """Draws the form for a new value under the same key."""
    words = view.words
    with st.form(f"{prefix}entity-form-{mine.session}", border=False):
        st.text_input(plain(each.key), key=_value(prefix, mine), persist_state="page")
        with st.container(horizontal=True, gap="small"):
            turn = view.session.turn_count if view.session else 0
            keep = (mine, each.key, turn, prefix)
            st.form_submit_button(words("revision.save"), type="primary", on_click=_keep, args=keep)
            st.form_submit_button(words("chat.withdraw"), on_click=_leave, args=(mine, prefix))


def _keep(mine: Owner, key: str, turn: int, prefix: str) -> None:
    value = str(st.session_state.get(_value(prefix, mine)) or "").strip()
    if value and _put_entity(mine, key, value, turn):
        _leave(mine, prefix)


def _put_entity(mine: Owner, key: str, value: str, turn: int) -> bool:
    """Sets the value; returns False on an error."""
    put = partial(mine.memory.writer.put_entity, mine.tenant, mine.session, key, value, turn=turn, user=mine.user)
    return attempt("entity", put)


def _leave(mine: Owner, prefix: str) -> None:
    st.session_state.pop(_changing(prefix, mine), None)


def _draw_add(view: View, mine: Owner, prefix: str) -> None:
    """Draws the form with which the user adds an entity."""
    words = view.words
    names = tuple(f"{prefix}entity-new-{part}-{mine.session}" for part in ("key", "value"))
    with (
        st.expander(words("memory.entity.add"), icon=":material/add:", key=f"{prefix}entity-more"),
        st.form(f"{prefix}entity-new", border=False),
    ):
        st.text_input(words("memory.entity.key"), key=names[0], persist_state="page")
        st.text_input(words("memory.entity.value"), key=names[1], persist_state="page")
        turn = view.session.turn_count if view.session else 0
        st.form_submit_button(words("memory.entity.add"), on_click=_add, args=(mine, turn, names))


def _add(mine: Owner, turn: int, names: tuple[str, str]) -> None:
    """Adds the entered entity and empties the fields; the fields keep their text if memory refuses the entity."""
    key, value = (str(st.session_state.get(name) or "").strip() for name in names)
    if key and value and _put_entity(mine, key, value, turn):
        for name in names:
            st.session_state[name] = ""
