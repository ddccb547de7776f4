"""The people of a story and the things of the player, which the user can correct by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from component.page.catalogue import Words
from component.page.view import store_page_error
from component.widget.markdown import escape_markdown
from component.world.correction import (
    draw_pages,
    place_of,
    set_field_default,
    slice_list_page,
    store_correction,
)
from component.world.tab.naming import draw_further_names, draw_name_questions
from component.world.view import WorldView
from errors import GieokError
from store.world.record import DEAD, HELD, LOST, UNKNOWN_TIME, Changes, Character, PlayerItem, StoryTime
from store.world.worlds import NAME_CHARS, clean_name
from text.clean import clean_text, collapse_spaces
from text.fold import fold_text
from world.block.count import MOST_COUNT
from world.block.time import read_story_time
from world.block.value import MOST_HP
from world.naming.merge import merge_names
from world.story.live import render_held_item

EDITED = "world-person-edited"
"""Session-state key of the name of the character whose fields are open."""
EDITED_ITEM = "world-item-edited"
"""As much of the thing whose number is open."""
ALIVE = "alive"


def draw_people(shown: WorldView, prefix: str = "") -> None:
    """Draws the tab: the characters, those at the player's place first, then the things."""
    words = shown.view.words
    if shown.node is None:
        st.caption(words("world.beginning"))
    draw_name_questions(shown, "person", prefix)
    everybody = list_story_people(shown)
    query = ""
    if len(everybody) > 8:
        label, key = words("world.people.search"), f"{prefix}world-people-query"
        query = st.text_input(label, key=key, placeholder=label, label_visibility="collapsed", icon=":material/search:")
    terms = fold_text(query or "").split()
    matches = [one for one in everybody if all(term in fold_text(f"{one.name} {one.location}") for term in terms)]
    if not matches:
        st.caption(words("world.none.found"))
    key = f"{prefix}world-people-page-{shown.world.id}-{query}"
    rows, pages = slice_list_page(matches, key)
    with st.container(key=f"{prefix}world-people", gap="small"):
        for at, one in enumerate(rows):
            _draw_person(shown, one, f"{prefix}world-person-{at}", prefix)
    draw_pages(pages, key)
    _render_player_items(shown, prefix)


def list_story_people(shown: WorldView) -> list[Character]:
    """Returns all characters: the player, then those who are here, then the others, the dead last; by name."""
    state = shown.state
    here = state.me.location
    known = {**state.characters, state.player: state.me}
    order = lambda one: (one.name != state.player, one.dead, not here or one.location != here, one.name)  # noqa: E731
    return sorted(known.values(), key=order)


def describe_character(words: Words, one: Character) -> str:
    """Returns the place, hit points and status of a character, as far as they are known."""
    parts = [one.location or words("world.people.nowhere")]
    parts += [words("world.people.along")] if one.companion and not one.dead else []
    parts += [f"HP {one.hp}"] if one.hp is not None else []
    parts += [format_character_status(words, one.status)] if one.status != ALIVE else []
    return " · ".join(parts)


def format_character_status(words: Words, code: str) -> str:
    """Returns a status in words: two are codes, others are the story's own words."""
    return words(f"world.people.{code}") if code in (ALIVE, DEAD) else code


def _draw_person(shown: WorldView, one: Character, key: str, prefix: str) -> None:
    words, state = shown.view.words, shown.state
    here = bool(state.me.location) and one.location == state.me.location
    icon = "person_off" if one.dead else "person" if one.name == state.player else "group" if here else "location_away"
    name = f"~~{escape_markdown(one.name)}~~" if one.dead else f"**{escape_markdown(one.name)}**"
    badge = f" :small[:primary[{escape_markdown(words('world.people.you'))}]]" if one.name == state.player else ""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=key):
        text = (
            f":gray[:material/{icon}:] {name}{badge}  \n:small[:gray["
            f"{escape_markdown(describe_character(words, one))}]]"
        )
        st.markdown(text, width="stretch")
        label, about = words("world.people.correct"), escape_markdown(words("world.people.correct.help", name=one.name))
        st.button(
            label, key=f"{key}-edit", icon=":material/edit:", type="tertiary", help=about,
            on_click=_toggle_person_fields, args=(one.name,),
        )  # fmt: skip
    draw_further_names(shown, "person", one.name, key)
    if st.session_state.get(EDITED) == one.name:
        _render_person_fields(shown, one, prefix)


def _toggle_person_fields(name: str) -> None:
    if st.session_state.pop(EDITED, None) != name:
        st.session_state[EDITED] = name


def _render_person_fields(shown: WorldView, one: Character, prefix: str) -> None:
    words, typed = shown.view.words, f"{prefix}world-typed-{place_of(shown)}-{one.name}"
    places = sorted({*shown.state.locations, one.location} - {""})
    statuses = list(dict.fromkeys((ALIVE, DEAD, one.status)))
    for field, value in (
        ("place", one.location or None),
        ("hp", one.hp),
        ("status", one.status),
        ("along", one.companion),
    ):
        set_field_default(f"{typed}-{field}", value)
    with st.container(border=True, key=f"{prefix}world-person-fields"):
        st.selectbox(
            words("world.people.place"), places, index=None, key=f"{typed}-place", accept_new_options=True,
            placeholder=words("world.people.nowhere"), persist_state="page",
        )  # fmt: skip
        st.number_input(words("world.people.hp"), 0, MOST_HP, None, step=1, key=f"{typed}-hp", persist_state="page")
        st.selectbox(
            words("world.people.status"), statuses, key=f"{typed}-status",
            format_func=partial(format_character_status, words),
            accept_new_options=True, persist_state="page",
        )  # fmt: skip
        if one.name == shown.state.player:
            set_field_default(f"{typed}-time", shown.state.time.line)
            st.text_input(words("world.people.time"), key=f"{typed}-time", max_chars=NAME_CHARS, persist_state="page")
        elif not one.dead:
            st.checkbox(words("world.people.along.field"), key=f"{typed}-along", persist_state="page")
        others = [other.name for other in list_story_people(shown) if other.name != one.name]
        if one.name != shown.state.player and others:
            st.selectbox(
                words("world.people.same"), others, index=None, key=f"{typed}-same", placeholder="–",
                persist_state="page",
            )  # fmt: skip
        save = partial(_save_person, shown, one, typed)
        with st.container(horizontal=True):
            st.button(words("world.save"), key=f"{prefix}world-person-save", type="primary", on_click=save)
            st.button(
                words("world.cancel"), key=f"{prefix}world-person-cancel", on_click=_close_person_fields, args=(typed,)
            )


def _save_person(shown: WorldView, one: Character, typed: str) -> None:
    place, code = (st.session_state.get(f"{typed}-{field}") for field in ("place", "status"))
    hp = st.session_state.get(f"{typed}-hp")
    try:
        place = clean_name(place, "place") if place else ""
        code = clean_name(code, "status") if code else ALIVE
    except GieokError as error:
        store_page_error(error)
        return
    said = {shown.view.words(f"world.people.{word}"): word for word in (ALIVE, DEAD)}
    if same := st.session_state.get(f"{typed}-same"):
        if store_correction(shown, merge_names(shown.state, "person", one.name, str(same))):
            _close_person_fields(typed)
        return
    along = bool(st.session_state.get(f"{typed}-along")) and one.name != shown.state.player
    if along and not one.companion:
        place = shown.state.me.location
    code = said.get(code, code)
    along = along and place == shown.state.me.location and code != DEAD
    hp = None if hp is None else int(hp)
    new = replace(one, location=place, hp=hp, status=code, companion=along, sightings=0)
    changes = Changes(characters=(new,))
    if one.name == shown.state.player:
        changes = replace(changes, times=(_read_typed_time(str(st.session_state.get(f"{typed}-time") or "")),))
    if store_correction(shown, changes):
        _close_person_fields(typed)


def _read_typed_time(text: str) -> StoryTime:
    """Returns the time that was typed; an empty field says that nobody knows it."""
    plain = collapse_spaces(clean_text(text))
    return read_story_time(plain) if plain else UNKNOWN_TIME


def _close_person_fields(typed: str) -> None:
    """Closes the fields and forgets what was typed."""
    st.session_state.pop(EDITED, None)
    for field in ("place", "hp", "status", "along", "same", "time"):
        st.session_state.pop(f"{typed}-{field}", None)


def _render_player_items(shown: WorldView, prefix: str) -> None:
    """Draws what the player has, what was used last first, what was lost, and the field for a further thing."""
    words = shown.view.words
    st.markdown(f"## {words('world.items')}", anchors=False)
    newest = [*shown.state.items.values()][::-1]
    items = [one for held in (True, False) for one in newest if (one.status == HELD) is held]
    if not items:
        st.caption(words("world.items.none"))
    key = f"{prefix}world-items-page-{shown.world.id}"
    rows, pages = slice_list_page(items, key)
    for at, one in enumerate(rows):
        _draw_item(shown, one, f"{prefix}world-item-{at}")
        if one.status == HELD and st.session_state.get(EDITED_ITEM) == one.name:
            _render_item_count(shown, one, prefix)
    draw_pages(pages, key)
    typed = f"{prefix}world-typed-item-{place_of(shown)}"
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{prefix}world-item-new"):
        st.text_input(words("world.items.new"), key=typed, max_chars=NAME_CHARS, persist_state="page")
        add = partial(_add_player_item, shown, typed)
        st.button(words("world.items.add"), key=f"{prefix}world-item-add", icon=":material/add:", on_click=add)


def _draw_item(shown: WorldView, one: PlayerItem, key: str) -> None:
    words, held = shown.view.words, one.status == HELD
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=key):
        lost = f"~~{escape_markdown(one.name)}~~ :small[:gray[{escape_markdown(words('world.items.lost'))}]]"
        st.markdown(escape_markdown(render_held_item(one)) if held else lost, width="stretch")
        if held:
            about = escape_markdown(words("world.items.correct.help", name=one.name))
            st.button(
                words("world.people.correct"), key=f"{key}-edit", icon=":material/edit:", type="tertiary", help=about,
                on_click=_toggle_item_count, args=(one.name,),
            )  # fmt: skip
        action = "world.items.lose" if held else "world.items.find"
        label, about = words(action), escape_markdown(words(f"{action}.help", name=one.name))
        changes = Changes(items=(replace(one, status=LOST if held else HELD),))
        icon = ":material/remove_circle:" if held else ":material/undo:"
        st.button(
            label,
            key=f"{key}-turn",
            icon=icon,
            type="tertiary",
            help=about,
            on_click=_store_item_change,
            args=(shown, changes),
        )


def _toggle_item_count(name: str) -> None:
    if st.session_state.pop(EDITED_ITEM, None) != name:
        st.session_state[EDITED_ITEM] = name


def _render_item_count(shown: WorldView, one: PlayerItem, prefix: str) -> None:
    """Draws the field for how many there are of a thing."""
    words, typed = shown.view.words, f"{prefix}world-typed-count-{place_of(shown)}-{one.name}"
    set_field_default(typed, one.count)
    with st.container(border=True, key=f"{prefix}world-item-fields"):
        st.number_input(words("world.items.count"), 1, MOST_COUNT, step=1, key=typed, persist_state="page")
        save = partial(_save_item_count, shown, one, typed)
        with st.container(horizontal=True):
            st.button(words("world.save"), key=f"{prefix}world-item-save", type="primary", on_click=save)
            close = partial(_close_item_count, typed)
            st.button(words("world.cancel"), key=f"{prefix}world-item-cancel", on_click=close)


def _save_item_count(shown: WorldView, one: PlayerItem, typed: str) -> None:
    changes = Changes(items=(replace(one, count=int(st.session_state.get(typed) or one.count)),))
    if store_correction(shown, changes):
        _close_item_count(typed)


def _close_item_count(typed: str) -> None:
    """Closes the field and forgets what was typed."""
    st.session_state.pop(EDITED_ITEM, None)
    st.session_state.pop(typed, None)


def _store_item_change(shown: WorldView, changes: Changes) -> None:
    store_correction(shown, changes)


def _add_player_item(shown: WorldView, typed: str) -> None:
    try:
        name = clean_name(st.session_state.get(typed) or "", "item")
    except GieokError as error:
        store_page_error(error)
        return
    if store_correction(shown, Changes(items=(PlayerItem(name),))):
        st.session_state[typed] = ""
