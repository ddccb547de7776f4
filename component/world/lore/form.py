"""The fields of one lorebook entry."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from component.page.view import try_page_action
from component.widget.markdown import escape_markdown
from component.world.correction import set_field_default
from component.world.lore.rule_text import summarize_rule
from component.world.view import WorldView
from errors import Empty, TooLong
from store.world.record import LAYERS, LoreEntry
from store.world.worlds import NAME_CHARS, clean_name
from text.clean import clean_text
from world.lore.rule import NO_RULE, is_keyed, rule_of

OPEN = "world-lore-open"
"""Session-state key of the id of the entry whose fields are open."""
NEW = 0
CONTENT_CHARS, MOST_KEYS = 20_000, 50
_FIELDS = ("keyword", "keys", "content", "activation", "layer", "location", "category", "enabled")
ACTIVATIONS = ("layered", "keyed")


def open_form(entry_id: int) -> None:
    """Opens the fields of an entry, or of a new one."""
    st.session_state[OPEN] = entry_id


def close_lore_form() -> None:
    """Closes the fields."""
    st.session_state.pop(OPEN, None)


def draw_form(shown: WorldView, one: LoreEntry, prefix: str = "") -> None:
    """Draws the fields of an entry with the buttons that store or drop them."""
    words, typed = shown.view.words, f"{prefix}world-typed-lore-{shown.world.id}-{one.id}"
    mark = shown.state.lore.get(one.id)
    for name in _FIELDS:
        set_field_default(f"{typed}-{name}", _read_field(one, name))
    with st.container(border=True, key=f"{prefix}world-lore-form"):
        st.text_input(words("world.lore.keyword"), key=f"{typed}-keyword", max_chars=NAME_CHARS, persist_state="page")
        help_keys = words("world.lore.keys.help")
        st.text_input(words("world.lore.keys.label"), key=f"{typed}-keys", help=help_keys, persist_state="page")
        st.text_area(words("world.lore.content"), key=f"{typed}-content", height=140, persist_state="page")
        if mark is not None and mark.content is not None:
            st.caption(escape_markdown(words("world.lore.changed.about")))
        st.selectbox(
            words("world.lore.activation"), ACTIVATIONS, key=f"{typed}-activation", persist_state="page",
            format_func=lambda name: words(f"world.lore.activation.{name}"),
        )  # fmt: skip
        if summary := summarize_rule(words, rule_of(one)) if is_keyed(one) else "":
            st.caption(escape_markdown(summary))
        st.selectbox(
            words("world.lore.layer"), LAYERS, key=f"{typed}-layer", persist_state="page",
            format_func=lambda name: words(f"world.lore.layer.{name}"),
        )  # fmt: skip
        st.text_input(words("world.people.place"), key=f"{typed}-location", max_chars=NAME_CHARS, persist_state="page")
        st.text_input(words("world.lore.category"), key=f"{typed}-category", max_chars=NAME_CHARS, persist_state="page")
        st.checkbox(words("world.lore.enabled"), key=f"{typed}-enabled", persist_state="page")
        with st.container(horizontal=True):
            save = partial(_save_lore_entry, shown, one, typed)
            st.button(words("world.save"), key=f"{prefix}world-lore-save", type="primary", on_click=save)
            st.button(words("world.cancel"), key=f"{prefix}world-lore-cancel", on_click=_drop_lore_form, args=(typed,))


def _read_field(one: LoreEntry, name: str) -> Any:
    """Returns what a field shows of an entry."""
    if name == "keys":
        return ", ".join(one.keys)
    if name == "activation":
        return ACTIVATIONS[is_keyed(one)]
    return getattr(one, name)


def _drop_lore_form(typed: str) -> None:
    close_lore_form()
    for name in _FIELDS:
        st.session_state.pop(f"{typed}-{name}", None)


def _save_lore_entry(shown: WorldView, one: LoreEntry, typed: str) -> None:
    fields = {name: st.session_state.get(f"{typed}-{name}") for name in _FIELDS}
    if try_page_action(lambda: shown.engine.store.worlds.put_lore(shown.world.id, [apply_lore_fields(one, fields)])):
        _drop_lore_form(typed)


def apply_lore_fields(one: LoreEntry, fields: dict[str, Any]) -> LoreEntry:
    """Returns the entry with what was typed. Raises ``Empty``, ``TooLong``."""
    content = clean_text(fields["content"] or "").strip()
    if not content:
        raise Empty(what="content")
    if len(content) > CONTENT_CHARS:
        raise TooLong(what="content", size=len(content), limit=CONTENT_CHARS)
    keys = dict.fromkeys(clean_name(key, "keyword") for key in _split_keys(fields["keys"] or ""))
    location, category = fields["location"] or "", fields["category"] or ""
    return replace(
        one,
        keyword=clean_name(fields["keyword"] or "", "keyword"),
        keys=tuple(keys)[:MOST_KEYS],
        content=content,
        layer=fields["layer"],
        location=clean_name(location, "place") if location.strip() else "",
        category=clean_name(category, "category") if category.strip() else "",
        enabled=bool(fields["enabled"]),
        rule=_choose_lore_rule(one, keyed=fields["activation"] == "keyed"),
    )


def _split_keys(text: str) -> list[str]:
    """Returns the keys of a field, which stand between commas; a comma in a pattern (``/a{1,2}/``) parts nothing."""
    found = re.findall(r"\s*(/(?:\\.|[^/\\])+/[a-z]*(?=\s*(?:,|$))|[^,]+)", text)
    return [key.strip() for key in found if key.strip()]


def _choose_lore_rule(one: LoreEntry, *, keyed: bool) -> dict[str, Any] | None:
    """Returns the rule of an entry that is to be active by a rule, or by its layer."""
    if keyed:
        return one.rule or NO_RULE.plain
    return {} if one.rule else one.rule
