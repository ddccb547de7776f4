"""The page before the first message: what Gieok is, what will happen on this machine, and sample questions."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import settings
from component.page.catalogue import Words
from component.page.frame import mark_address
from component.page.view import APART_NEW, View, begin_chat, begin_private
from component.settings.model_status import MEGABYTE, describe_message_privacy, draw_status, format_retry_label
from component.settings.options import ask_options
from component.widget.failure import retry_button
from component.widget.markdown import escape_markdown
from component.work import resource
from component.work.user import is_admin, may_choose_model
from model.choice import default
from model.embedded import weights
from settings import Settings

SAMPLES = ("sample.1", "sample.2", "sample.3")


def draw_invitation(view: View) -> list[DeltaGenerator]:
    """Draws the invitation; returns the places that show how a model on this machine is being made ready."""
    words = view.words
    places: list[DeltaGenerator] = []
    with st.container(key="invitation", horizontal_alignment="center", gap="small"):
        st.html(f'<div class="gieok-hero"><img alt="" width="56" height="56" src="{mark_address()}"></div>')
        title = words("private.title" if view.is_private else "empty.title")
        st.markdown(f"## {title}", anchors=False, text_alignment="center")
        if _comes_here(view):
            places = _draw_coming(view)
        elif not view.is_private:
            st.markdown(words("empty.text"), text_alignment="center")
        if view.is_private:
            st.markdown(words("private.about"), text_alignment="center")
        _draw_samples(view)
        _draw_carrying(view)
        if not places:
            st.caption(describe_message_privacy(words, view.status, view.is_private), text_alignment="center")
    return places


def _draw_carrying(view: View) -> None:
    """Draws the switch that keeps this chat apart from the memory of others, and the button for a private chat."""
    words = view.words
    if view.is_private:
        st.button(
            words("private.leave"), key="private-leave", type="tertiary", icon=":material/close:", on_click=begin_chat
        )
        return
    with st.container(
        key="carrying", horizontal=True, horizontal_alignment="center", vertical_alignment="center", gap="small"
    ):
        if _is_memory_carried():
            on = not st.session_state.get(APART_NEW, False)
            label, about = words("carry.on" if on else "carry.off"), words("carry.about")
            st.toggle(
                label,
                on,
                key=f"carry-new-{on}",
                help=about,
                width="content",
                on_change=_set_new_chat_carrying,
                args=(not on,),
            )
        icon = ":material/visibility_off:"
        st.button(words("private.create"), key="private-begin", type="tertiary", icon=icon, on_click=begin_private)


def _is_memory_carried() -> bool:
    """Returns whether memory carries over between this user's chats."""
    agent = resource.find_user_agent()
    if agent.memory is None or not agent.settings.user_memory:
        return False
    return agent.memory.reader.carries(agent.tenant, agent.user)


def _set_new_chat_carrying(on: bool) -> None:
    st.session_state[APART_NEW] = not on


def _comes_here(view: View) -> bool:
    """Returns whether a model on this machine is to answer and is not ready, because it still loads or has failed.

    Without an API key or a server's address, no other model can answer. For users at other machines that is no news.
    """
    if not is_admin():
        return False
    choice, base = resource.in_use().stored_choices.choice, settings.load_current_settings()
    if choice is not None:
        return choice.kind == "embedded" and view.status.state != "ready"
    keyless = not (base.openai_api_key or base.openai_base_url)
    return keyless and base.provider in ("auto", "embedded") and view.status.state != "ready"


def _draw_coming(view: View) -> list[DeltaGenerator]:
    """Draws three lines on what happens, the progress, and the buttons to cancel, retry or choose another model."""
    words, status = view.words, view.status
    with st.container(key="first-run", border=True, gap="xsmall"):
        lines = zip(
            ("download", "computer", "lock"), _list_first_run_lines(words, _load_chosen_settings()), strict=True
        )
        for icon, line in lines:
            st.markdown(f":material/{icon}:&ensp;{line}")
        place = st.container(key="first-run-state").empty()
        draw_status(words, place, status)
        with st.container(horizontal=True, key=f"first-run-actions-{status.state}"):
            if status.state == "fetching":
                stop, icon = words("models.cancel"), ":material/close:"
                st.button(stop, key="first-run-cancel", type="tertiary", icon=icon, on_click=view.readiness.cancel)
            elif status.state == "failed":
                retry_button(format_retry_label(words, status), "first-run-retry", view.readiness.start)
            if may_choose_model():
                other, icon = words("first.other"), ":material/tune:"
                st.button(other, key="first-run-other", type="tertiary", icon=icon, on_click=ask_options)
    return [place]


def _load_chosen_settings() -> Settings:
    """Returns the settings with the chosen model applied, if one was chosen."""
    choice, base = resource.in_use().stored_choices.choice, settings.load_current_settings()
    return choice.apply_to_settings(base) if choice else base


def _list_first_run_lines(words: Words, base: Settings) -> list[str]:
    """Returns three lines: one model file is fetched or loaded, the model runs on this machine, no data leaves it."""
    if base.embedded_path is not None:
        first = words("first.own", name=escape_markdown(base.embedded_path.name))
    else:
        coming = default.predict_weights(base)
        key = "first.loads" if weights.has_ready_weights(base) else "first.fetches" if coming else "first.fetches.some"
        first = words(key, size=coming.size / MEGABYTE / 1000 if coming else 0)
    return [first, words("first.runs"), words("first.stays")]


def _draw_samples(view: View) -> None:
    words = view.words
    with st.container(key="samples", gap="small"):
        for name in SAMPLES:
            st.button(
                words(name),
                key=name.replace(".", "-"),
                width="stretch",
                icon=f":material/{words(name + '.icon')}:",
                on_click=partial(view.send, words(name)),
            )
