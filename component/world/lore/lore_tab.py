"""The lorebook as it stands in the story: what the last prompt got of it and why, with the way to change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from component.page.catalogue import Words
from component.page.view import run_page_action
from component.widget.markdown import escape_markdown, shorten_text
from component.widget.overflow import MenuItem, draw_overflow
from component.world.correction import draw_pages, slice_list_page
from component.world.lore.form import NEW, OPEN, close_lore_form, draw_form, open_form
from component.world.lore.rule_text import summarize_rule
from component.world.lore.trial import draw_trial, tell_reason
from component.world.view import WorldView
from store.world.record import LAYERS, LoreEntry, LoreMark
from text.fold import fold_text
from world.book.format import with_rule
from world.lore.rule import is_keyed, rule_of

ASKED = "world-lore-asked"
"""Session-state key of the id of the entry whose removal is to be confirmed."""
CONTENT_CHARS = 240
_COLOURS = {"A1": "red", "A2": "orange", "A3": "blue", "A4": "violet"}


def draw_lore(shown: WorldView, prefix: str = "") -> None:
    """Draws the tab: the filter, the entries on the open page, and the button for a new one."""
    words = shown.view.words
    st.button(
        words("world.lore.new"), key=f"{prefix}world-lore-new", icon=":material/add:", on_click=open_form, args=(NEW,)
    )
    if st.session_state.get(OPEN) == NEW:
        draw_form(shown, LoreEntry(0, "", ""), prefix)
    entries = [with_rule(one) for one in shown.engine.store.worlds.lore(shown.world.id)]
    if not entries:
        st.caption(words("world.lore.none"))
        return
    draw_trial(shown, prefix)
    query, layer = _render_lore_filter(words, prefix)
    matches = filter_lore_entries(entries, shown.state.lore, query, layer)
    st.caption(_format_lore_counts(words, shown, len(matches), len(entries)))
    told = read_lore_report(shown)
    key = f"{prefix}world-lore-page-{shown.world.id}-{layer}-{query}"
    rows, pages = slice_list_page(sorted(matches, key=lambda one: _rank_lore_entry(one, told)), key)
    with st.container(key=f"{prefix}world-lore", gap="small"):
        for one in rows:
            _render_lore_row(shown, one, told.get(one.id), prefix)
    draw_pages(pages, key)


def read_lore_report(shown: WorldView) -> dict[int, dict[str, Any]]:
    """Returns what the report of the turn that is shown tells of entries, by id."""
    lore = (shown.node.report or {}).get("lore", {}) if shown.node else {}
    left = {int(one["id"]): one for one in lore.get("out", ())}
    for id, turn, *_ in lore.get("standing", {}).get("entries", ()):
        left[int(id)] = {"reason": "stands", "stands": turn}
    return left | {int(one["id"]): {**one, "reason": "in"} for one in lore.get("in", ())}


def filter_lore_entries(
    entries: Sequence[LoreEntry], marks: Mapping[int, LoreMark], query: str, layer: str
) -> list[LoreEntry]:
    """Returns the entries of a layer («all»: of every one) that hold every word of the query, ignoring case."""
    terms = fold_text(query).split()
    found = [one for one in entries if layer in ("all", one.layer)]
    for term in terms:
        found = [one for one in found if term in fold_text(_join_lore_text(one, marks.get(one.id)))]
    return found


def _join_lore_text(one: LoreEntry, mark: LoreMark | None) -> str:
    return " ".join((one.keyword, *one.keys, _read_current_content(one, mark)))


def _rank_lore_entry(one: LoreEntry, told: dict[int, dict[str, Any]]) -> tuple[float, str, int]:
    """Sorts entries as the last prompt did: those that were in it first, then by score."""
    row = told.get(one.id)
    score = float(row.get("score", 0)) + (1000 if row["reason"] in ("in", "stands") else 0) if row else -1000
    return -score, one.layer, one.id


def _render_lore_filter(words: Words, prefix: str) -> tuple[str, str]:
    label = words("world.lore.search")
    query = st.text_input(
        label, key=f"{prefix}world-lore-query", placeholder=label, label_visibility="collapsed",
        icon=":material/search:",
    )  # fmt: skip
    layer = st.segmented_control(
        words("world.lore.layer"), ("all", *LAYERS), default="all", key=f"{prefix}world-lore-layer", required=True,
        format_func=lambda name: words("world.lore.all") if name == "all" else name, label_visibility="collapsed",
    )  # fmt: skip
    return query or "", layer or "all"


def _format_lore_counts(words: Words, shown: WorldView, count: int, whole: int) -> str:
    lore = (shown.node.report or {}).get("lore", {}) if shown.node else {}
    parts = [words("world.lore.count", count=count, all=whole)]
    parts += [words(f"world.lore.why.{name.replace(' ', '_')}", count=n) for name, n in lore.get("counts", {}).items()]
    return escape_markdown(" · ".join(parts))


def _render_lore_row(shown: WorldView, one: LoreEntry, row: dict[str, Any] | None, prefix: str) -> None:
    words, mark = shown.view.words, shown.state.lore.get(one.id)
    name = f"~~{escape_markdown(one.keyword)}~~" if not one.enabled else f"**{escape_markdown(one.keyword)}**"
    badge = (
        f":green-badge[{escape_markdown(words('world.lore.keyed'))}]"
        if is_keyed(one)
        else f":{_COLOURS[one.layer]}-badge[{one.layer}]"
    )
    lines = [f"{badge} {name}"]
    lines.append(escape_markdown(shorten_text(_read_current_content(one, mark), CONTENT_CHARS)))
    lines.append(f":small[:gray[{escape_markdown(_list_lore_facts(words, one, mark, shown.state.turn))}]]")
    lines += [f":small[{escape_markdown(tell_reason(words, row))}]"] if row else []
    key = f"{prefix}world-lore-{one.id}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=key):
        st.markdown("  \n".join(lines), width="stretch")
        _render_lore_menu(shown, one, prefix)
    if st.session_state.get(OPEN) == one.id:
        draw_form(shown, one, prefix)
    if st.session_state.get(ASKED) == one.id:
        _draw_removal(shown, one, prefix)


def _read_current_content(one: LoreEntry, mark: LoreMark | None) -> str:
    return one.content if mark is None or mark.content is None else mark.content


def _list_lore_facts(words: Words, one: LoreEntry, mark: LoreMark | None, turn: int) -> str:
    place = one.location if mark is None or mark.location is None else mark.location
    parts = [one.category] if one.category else []
    parts += [words("world.lore.place", place=place)] if place else []
    parts += [words("world.lore.keys", keys=", ".join(one.keys))] if one.keys else []
    parts += [summarize_rule(words, rule_of(one))] if is_keyed(one) else []
    last = mark.last_mentioned if mark else 0
    parts.append(words("world.lore.mentioned", turn=last, ago=turn - last) if last else words("world.lore.unmentioned"))
    parts += [words("world.lore.changed")] if mark is not None and mark.content is not None else []
    return " · ".join([*filter(None, parts), *([] if one.enabled else [words("world.lore.off")])])


def _render_lore_menu(shown: WorldView, one: LoreEntry, prefix: str) -> None:
    words, worlds = shown.view.words, shown.engine.store.worlds
    name, icon = ("disable", "toggle_off") if one.enabled else ("enable", "toggle_on")
    turned = replace(one, enabled=not one.enabled)
    choices = {
        "edit": MenuItem(words("world.lore.edit"), "edit", partial(open_form, one.id)),
        name: MenuItem(words(f"world.lore.{name}"), icon, partial(worlds.put_lore, shown.world.id, [turned])),
        "remove": MenuItem(words("world.lore.remove"), "delete", partial(_ask_lore_removal, one.id)),
    }
    draw_overflow(f"more-{prefix}world-lore-{one.id}", choices, upright=True)


def _ask_lore_removal(entry_id: int | None) -> None:
    close_lore_form()
    st.session_state[ASKED] = entry_id


def _draw_removal(shown: WorldView, one: LoreEntry, prefix: str) -> None:
    words = shown.view.words
    with st.container(key=f"{prefix}world-lore-removal", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(escape_markdown(words("world.lore.remove.ask", name=one.keyword)), width="stretch")
        remove, yes = partial(_remove_lore_entry, shown, one.id), words("world.lore.remove.yes")
        st.button(yes, key=f"{prefix}world-lore-remove-yes", type="primary", on_click=remove)
        st.button(words("world.cancel"), key=f"{prefix}world-lore-remove-no", on_click=_ask_lore_removal, args=(None,))


def _remove_lore_entry(shown: WorldView, entry_id: int) -> None:
    _ask_lore_removal(None)
    run_page_action(partial(shown.engine.store.worlds.remove_lore, shown.world.id, [entry_id]))
