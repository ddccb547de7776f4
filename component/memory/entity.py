"""The entities as a table: key, value and source turn, with buttons that change, delete and add an entity."""

from __future__ import annotations

from functools import partial
from html import escape

import streamlit as st

from component.memory.memory_change import Owner, draw_said, run_reported_action
from component.page.catalogue import Words
from component.page.view import View
from component.widget.markdown import escape_markdown, sanitize_text
from component.widget.overflow import MenuItem, draw_overflow
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
            if st.session_state.get(_build_entity_change_key(prefix, mine)) == entity.key:
                _render_entity_form(view, mine, entity, prefix)
            else:
                _render_entity_row(
                    words, mine, entity, f"{prefix}{len(entities) - place}", entity in seen.cut_entities, prefix
                )
    if entities:
        st.caption(words("memory.entities.count", count=len(entities), most=MOST_ENTITIES))
    if seen.cut_entities:
        st.caption(words("memory.entities.cut", count=len(seen.cut_entities)))
    if mine.session:
        _draw_add(view, mine, prefix)


def _render_entity_row(words: Words, mine: Owner, each: Entity, row: str, cut: bool, prefix: str) -> None:
    with st.container(key=f"entity-{row}", horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall"):
        turn = words("memory.turn", turn=each.turn) if each.turn else words("memory.turn.hand")
        value = each.describe_value(words.language)
        cells = (
            f"<dt>{escape(sanitize_text(each.key))}</dt><dd>{escape(sanitize_text(value))}</dd><dd>{escape(turn)}</dd>"
        )
        st.html(f'<dl class="gieok-entity{" cut" if cut else ""}">{cells}</dl>', width="stretch")
        if mine.session:
            choices = {
                "edit": MenuItem(
                    words("memory.entity.edit"), "edit", partial(_begin_entity_change, mine, each, prefix)
                ),
                "delete": MenuItem(words("memory.entity.delete"), "delete", partial(_delete_entity, mine, each)),
            }
            draw_overflow(f"entity-menu-{row}", choices)


def _build_entity_change_key(prefix: str, mine: Owner) -> str:
    """Returns the session-state key that holds the key of the entity being changed."""
    return f"{prefix}entity-changing-{mine.session}"


def _begin_entity_change(mine: Owner, each: Entity, prefix: str) -> None:
    st.session_state[_build_entity_change_key(prefix, mine)] = each.key
    st.session_state[_build_entity_value_key(prefix, mine)] = sanitize_text(each.value)


def _delete_entity(mine: Owner, each: Entity) -> None:
    run_reported_action(
        "entity", partial(mine.memory.writer.remove_entity, mine.tenant, mine.session, each.key, user=mine.user)
    )


def _build_entity_value_key(prefix: str, mine: Owner) -> str:
    return f"{prefix}entity-value-{mine.session}"


def _render_entity_form(view: View, mine: Owner, each: Entity, prefix: str) -> None:
    """Draws the form for a new value under the same key."""
    words = view.words
    with st.form(f"{prefix}entity-form-{mine.session}", border=False):
        st.text_input(escape_markdown(each.key), key=_build_entity_value_key(prefix, mine), persist_state="page")
        with st.container(horizontal=True, gap="small"):
            turn = view.session.turn_count if view.session else 0
            keep = (mine, each.key, turn, prefix)
            st.form_submit_button(words("revision.save"), type="primary", on_click=_save_entity_value, args=keep)
            st.form_submit_button(words("chat.withdraw"), on_click=_close_entity_form, args=(mine, prefix))


def _save_entity_value(mine: Owner, key: str, turn: int, prefix: str) -> None:
    value = str(st.session_state.get(_build_entity_value_key(prefix, mine)) or "").strip()
    if value and _put_entity(mine, key, value, turn):
        _close_entity_form(mine, prefix)


def _put_entity(mine: Owner, key: str, value: str, turn: int) -> bool:
    """Sets the value; returns False on an error."""
    put = partial(mine.memory.writer.put_entity, mine.tenant, mine.session, key, value, turn=turn, user=mine.user)
    return run_reported_action("entity", put)


def _close_entity_form(mine: Owner, prefix: str) -> None:
    st.session_state.pop(_build_entity_change_key(prefix, mine), None)


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
        st.form_submit_button(words("memory.entity.add"), on_click=_add_typed_entity, args=(mine, turn, names))


def _add_typed_entity(mine: Owner, turn: int, names: tuple[str, str]) -> None:
    """Adds the entered entity and empties the fields; the fields keep their text if memory refuses the entity."""
    key, value = (str(st.session_state.get(name) or "").strip() for name in names)
    if key and value and _put_entity(mine, key, value, turn):
        for name in names:
            st.session_state[name] = ""
