"""The settings of one conversation: system prompt, temperature and longest answer, and presets of these settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import streamlit as st

import settings
from component.page import window
from component.page.catalogue import Words
from component.page.view import View, run_page_action
from component.widget.failure import draw_error, render_raised_error
from component.widget.markdown import escape_markdown
from errors import GieokError
from store.session.options import ANSWER_TOKENS, DEFAULT, NAME_CHARS, PROMPT_CHARS, TEMPERATURES, AnswerOptions

WRONG = "own-wrong"
PRESET = "own-preset"
SEEN = "seen"
FIELDS = ("system_prompt", "temperature", "answer_tokens", SEEN)


def draw_answer_state(view: View) -> None:
    """Draws what is set otherwise than by default, where anything is."""
    words, options = view.words, view.options
    if options != DEFAULT:
        with st.container(key="own-state"):
            st.caption(escape_markdown(" · ".join(_list_option_facts(words, options))))


def draw_story_memory(view: View) -> None:
    """Draws the switch whether a story has a memory and summaries of its own."""
    words, session = view.words, view.session
    key = f"own-remembers-{view.session_id or 'new'}"
    st.session_state[key] = session is not None and session.remembers
    st.toggle(
        words("own.remembers"),
        key=key,
        help=words("own.remembers.help"),
        disabled=not view.is_story,
        on_change=_set_story_memory,
        args=(view, key),
    )


def _set_story_memory(view: View, key: str) -> None:
    if view.session is not None:
        run_page_action(partial(view.store.set_remembers, view.session.id, bool(st.session_state[key])))


def reset_answer_options() -> None:
    """Has the fields show what is set now, whatever was typed when the window was open before."""
    for key in [key for key in map(str, st.session_state) if key.startswith(tuple(f"own-{name}-" for name in FIELDS))]:
        del st.session_state[key]


def _list_option_facts(words: Words, options: AnswerOptions) -> list[str]:
    facts = [words("own.fact.prompt")] if options.system_prompt else []
    facts += [words("own.fact.temperature", value=options.temperature)] if options.temperature is not None else []
    return facts + ([words("own.fact.tokens", tokens=options.answer_tokens)] if options.answer_tokens else [])


def draw_answer_options(view: View) -> None:
    """Draws the form, and the presets."""
    words = view.words
    error = st.session_state.pop(WRONG, None)
    if isinstance(error, GieokError):
        draw_error(words, error)
    with st.form("own-options", border=False):
        entered = _render_option_fields(view)
        with st.container(horizontal=True):
            save = st.form_submit_button(words("own.save"), key="own-save", type="primary", icon=":material/check:")
            st.form_submit_button(
                words("own.reset"),
                key="own-reset",
                icon=":material/undo:",
                on_click=_apply_options,
                args=(view, DEFAULT),
            )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input(words("own.preset.name"), max_chars=NAME_CHARS, key="own-preset-name")
            keep = st.form_submit_button(
                words("own.preset.save"), key="own-preset-save", icon=":material/bookmark_add:"
            )
    with render_raised_error(words):
        if save:
            view.change_options(st.session_state[_build_option_key(view, SEEN)], entered)
            window.close_page_window()
        elif keep:
            saved_name = view.store.presets.save(name, entered)
            st.success(escape_markdown(words("own.preset.saved", name=saved_name)), icon=":material/check:")
    _draw_presets(view)


def _render_option_fields(view: View) -> AnswerOptions:
    """Draws the fields with the stored settings; returns the settings that the fields hold now."""
    words, models = view.words, view.status.models
    stored: AnswerOptions = st.session_state.setdefault(
        _build_option_key(view, SEEN), view.options
    )  # as of when the window was opened
    for name in ("temperature", "answer_tokens"):  # instead of a default: only a field without a default can be emptied
        st.session_state.setdefault(_build_option_key(view, name), getattr(stored, name))
    prompt = st.text_area(
        words("own.prompt"),
        stored.system_prompt,
        height=200,
        max_chars=PROMPT_CHARS,
        placeholder=words("own.prompt.none"),
        help=words("own.prompt.help"),
        key=_build_option_key(view, "system_prompt"),
    )
    if stored.system_prompt and models is not None:
        tokens, size = models.count(stored.system_prompt), models.context_size
        st.caption(words("own.prompt.tokens", tokens=tokens, window=size))
        if tokens > size // 2:
            st.warning(words("own.prompt.large"), icon=":material/warning:")
    left, right = st.columns(2)
    temperature = left.number_input(
        words("own.temperature"),
        *TEMPERATURES,
        None,
        step=0.1,
        placeholder=words("own.default"),
        help=words("own.temperature.help"),
        key=_build_option_key(view, "temperature"),
    )
    longest = right.number_input(
        words("own.tokens"),
        *ANSWER_TOKENS,
        None,
        step=100,
        placeholder=words("own.default"),
        help=words("own.tokens.help", name=settings.find_variable_name("answer_tokens")),
        key=_build_option_key(view, "answer_tokens"),
    )
    return AnswerOptions(prompt or "", temperature, None if longest is None else int(longest))


def _draw_presets(view: View) -> None:
    """Draws the presets, with buttons that use, rename and delete a preset."""
    words, presets = view.words, view.store.presets.all()
    if not presets:
        return
    with st.container(border=True, key="own-presets", gap="small"):
        chosen = st.selectbox(
            words("own.presets"), list(presets), None, placeholder=words("own.preset.choose"), key=PRESET
        )
        if chosen is None:
            return
        options = presets[chosen]
        facts = " · ".join(_list_option_facts(words, options)) or words("own.default")
        st.caption(escape_markdown(facts))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            apply, delete = words("own.preset.apply"), words("own.preset.delete")
            st.button(apply, key="own-preset-apply", icon=":material/check:", on_click=_apply_preset, args=(view,))
            st.button(delete, key="own-preset-delete", icon=":material/delete:", on_click=_delete_preset, args=(view,))
        with st.form("own-preset-rename", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            new_name = st.text_input(
                words("own.preset.new"), chosen, max_chars=NAME_CHARS, key=f"own-preset-new-{chosen}"
            )
            renamed = st.form_submit_button(words("own.preset.rename"), key="own-preset-go", icon=":material/edit:")
        if renamed:
            with render_raised_error(words):
                view.store.presets.rename(chosen, new_name)
                st.rerun()


def _apply_preset(view: View) -> None:
    """Uses the preset that is chosen now: the choice may arrive together with the press."""
    options = view.store.presets.all().get(st.session_state[PRESET])
    if options is not None:
        _apply_options(view, options)


def _delete_preset(view: View) -> None:
    _run_option_change(partial(view.store.presets.delete, st.session_state[PRESET]))


def _apply_options(view: View, options: AnswerOptions) -> None:
    """Uses these options from the next answer on, and puts them into the fields."""

    def work() -> None:
        view.set_options(options)
        st.session_state[_build_option_key(view, SEEN)] = options
        for name, value in asdict(options).items():
            st.session_state[_build_option_key(view, name)] = value

    _run_option_change(work)


def _run_option_change(work: Callable[[], object]) -> None:
    """Runs ``work`` inside a callback; the next run draws an error in the window."""
    try:
        work()
    except GieokError as error:
        st.session_state[WRONG] = error


def _build_option_key(view: View, field: str) -> str:
    return f"own-{field}-{view.session_id or 'new'}"
