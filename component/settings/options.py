"""The settings window: everything that can be set, in sections with one search over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from component.page import window
from component.page.catalogue import LANGUAGES, Words
from component.page.theme import draw_theme
from component.page.view import LANGUAGE, View, choose_page_language, run_page_action
from component.settings.budget import (
    CONTEXT,
    MEMORY,
    draw_budgets,
    draw_first_rate,
    draw_fixed,
    draw_toggle,
    forget_wrong,
)
from component.settings.memory_place import draw_memory_place
from component.settings.own_answer import draw_answer_options, draw_story_memory, reset_answer_options
from component.settings.own_setting import keep_own, read_own
from component.settings.picker import draw_picker
from component.settings.servers import draw_servers
from component.widget.tabs import draw_tabs

NAME = "options"
NAMES = {"ko": "한국어", "en": "English"}
QUERY = "options-search"


@dataclass(frozen=True, slots=True)
class Setting:
    """A part of the window. ``texts``: the keys of the words that the search finds it by, beside its section's."""

    section: str
    texts: tuple[str, ...]
    draw: Callable[[View], None]


def _name_budgets(*names: str) -> tuple[str, ...]:
    parts = ("turns" if name == "past" else name for name in names)
    return tuple(f"budget.help.{name}" for name in names) + tuple(f"part.{name}" for name in parts)


def _place_memory(name: str, *texts: str) -> Setting:
    return Setting("memory", (name, *texts), lambda view: draw_memory_place(view, name))


SETTINGS = (
    Setting("models", ("models.key", "models.chat", "models.utility", "models.pick.local"), draw_picker),
    Setting("chat", ("own.prompt", "own.temperature", "own.tokens", "own.presets"), draw_answer_options),
    Setting("chat", ("own.remembers", "own.remembers.help"), draw_story_memory),
    Setting("look", ("language.label",), lambda view: _draw_own_language(view)),
    Setting("look", ("theme.label", "theme.dark", "theme.light"), lambda view: draw_theme(view.words)),
    Setting("context", ("budget.rate", "rate.help"), lambda view: draw_first_rate(view.words)),
    Setting("context", _name_budgets(*CONTEXT), lambda view: draw_budgets(view.words, CONTEXT)),
    Setting("memory", ("switch.memory_tool_only",), lambda view: draw_toggle(view.words, "memory_tool_only")),
    Setting("memory", _name_budgets(*MEMORY), lambda view: draw_budgets(view.words, MEMORY)),
    _place_memory("memory.carry", "memory.carry.about"),
    _place_memory("proposal.first", "proposal.first.about"),
    _place_memory("memory.takeout", "memory.export", "memory.import"),
    _place_memory("memory.erase", "memory.erase.one", "memory.erase.all"),
    Setting("retrieval", ("switch.retrieval_first",), lambda view: draw_toggle(view.words, "retrieval_first")),
    Setting("retrieval", _name_budgets("retrieval"), lambda view: draw_budgets(view.words, ("retrieval",))),
    Setting("servers", ("servers.add", "servers.about"), draw_servers),
    Setting("fixed", ("budget.answer", "budget.context", "budget.switches", "budget.folder"), draw_fixed),
)
SECTIONS = tuple(dict.fromkeys(setting.section for setting in SETTINGS))


def ask_options(section: str = "") -> None:
    """Opens the window, at ``section`` or where it was open last."""
    st.session_state.pop(QUERY, None)
    reset_answer_options()
    forget_wrong()
    if section:
        st.session_state["options-open"] = section
        for name in LANGUAGES:
            st.session_state.pop(f"options-{name}", None)
    window.open_page_window(NAME)


def draw_options(view: View, about: object = None) -> None:
    """Draws the window."""
    window.render_page_window(view.words("options.title"), lambda: _render_options(view), width="large")


def _render_options(view: View) -> None:
    words = view.words
    label = words("options.search")
    query = st.text_input(label, key=QUERY, placeholder=label, icon=":material/search:", label_visibility="collapsed")
    if query.strip():
        _draw_found_settings(view, query)
        return
    for section, tab in zip(SECTIONS, draw_tabs(words, "options", "options.tab", SECTIONS), strict=True):
        if tab.open:
            with tab, st.container(key=f"options-section-{section}"):
                st.caption(words(f"options.about.{section}"))
                for setting in SETTINGS:
                    if setting.section == section:
                        setting.draw(view)


def _draw_found_settings(view: View, query: str) -> None:
    """Draws the settings that the query finds, each under the name of its section."""
    words, before = view.words, ""
    found = [setting for setting in SETTINGS if _fits_setting(words, setting, query)]
    for setting in found:
        if setting.section != before:
            st.markdown(f"**{words(f'options.tab.{setting.section}')}**")
        before = setting.section
        setting.draw(view)
    if not found:
        st.caption(words("options.none"))


def _fits_setting(words: Words, setting: Setting, query: str) -> bool:
    """Returns whether every word of the query stands in what is written about a setting."""
    keys = (f"options.tab.{setting.section}", f"options.about.{setting.section}", *setting.texts)
    text = " ".join(words.raw(key) for key in keys).casefold()
    return all(word in text for word in query.casefold().split())


def draw_language(words: Words, key: str, **form: Any) -> None:
    """Draws the switch of a page without a user: the chosen language then stands in the page's address."""
    st.session_state[key] = words.language
    st.segmented_control(
        words("language.label"),
        LANGUAGES,
        format_func=NAMES.__getitem__,
        key=key,
        required=True,
        on_change=partial(_set_language, key),
        **form,
    )


def _set_language(key: str) -> None:
    st.query_params[LANGUAGE] = st.session_state[key]


def _draw_own_language(view: View) -> None:
    """Draws the switch of the user's language, which is kept."""
    words, key = view.words, "options-language"
    asked = st.query_params.get(
        LANGUAGE
    )  # wins over what is kept, as in ``component.page.catalogue.choose_interface_language``
    st.session_state[key] = asked if asked in LANGUAGES else read_own("language")
    st.segmented_control(
        words("language.label"),
        ("auto", *LANGUAGES),
        format_func=lambda name: NAMES.get(name) or words("language.auto"),
        key=key,
        required=True,
        on_change=_keep_language,
        args=(key,),
    )
    if choose_page_language() != words.language:
        st.rerun()


def _keep_language(key: str) -> None:
    st.query_params.pop(LANGUAGE, None)
    run_page_action(partial(keep_own, "language", st.session_state[key]))
