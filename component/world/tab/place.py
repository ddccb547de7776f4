"""The places of a story as a map, and the same as text."""

from __future__ import annotations

import streamlit as st

from component.widget.markdown import escape_markdown
from component.world.correction import draw_pages, slice_list_page
from component.world.tab.graph import place_map
from component.world.tab.naming import draw_further_names, draw_name_questions
from component.world.tab.picture import draw_picture
from component.world.view import WorldView
from store.world.record import Location


def draw_places(shown: WorldView, prefix: str = "") -> None:
    """Draws the tab: the map, below it every place with its description, status and ways."""
    words, state = shown.view.words, shown.state
    here = state.me.location
    if not state.locations and not here:
        st.caption(words("world.places.none"))
        return
    draw_name_questions(shown, "place", prefix)
    draw_picture(shown, place_map, words("world.places.alt", count=len(state.locations), place=here or "–"))
    places = {here: Location(here), **state.locations} if here else state.locations
    ordered = sorted(places.values(), key=lambda one: (one.name != here, one.name))
    key = f"{prefix}world-places-page-{shown.world.id}"
    rows, pages = slice_list_page(ordered, key)
    with st.container(key=f"{prefix}world-places", gap="small"):
        for at, one in enumerate(rows):
            st.markdown(_format_place(shown, one, one.name == here))
            draw_further_names(shown, "place", one.name, f"{prefix}world-place-{at}")
    draw_pages(pages, key)


def _format_place(shown: WorldView, one: Location, here: bool) -> str:
    words = shown.view.words
    people = sorted(c.name for c in shown.state.characters.values() if c.location == one.name and not c.dead)
    mark = f" :small[:primary[{escape_markdown(words('world.places.here'))}]]" if here else ""
    lines = [f"**{escape_markdown(one.name)}**{mark}"]
    lines += [escape_markdown(one.description)] if one.description else []
    facts = [one.status] if one.status else []
    facts += [words("world.places.ways", places=", ".join(one.adjacent))] if one.adjacent else []
    facts += [words("world.places.people", names=", ".join(people))] if people else []
    lines += [f":small[:gray[{escape_markdown(' · '.join(facts))}]]"] if facts else []
    return "  \n".join(lines)
