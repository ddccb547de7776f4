"""The page before the first message: what this is, what will happen on this machine, and questions to begin with."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import settings
from component import choice
from component.catalogue import Words
from component.failure import retry_button
from component.markdown import plain
from component.model_status import MEGABYTE, again, draw_status, privacy
from component.options import ask_options
from component.page import mark_address
from component.view import View
from model import default, weights
from settings import Settings

SAMPLES = ("sample.1", "sample.2", "sample.3")


def draw_invitation(view: View) -> list[DeltaGenerator]:
    """Draws it; returns where the model's state is shown while it is made ready on this machine."""
    words = view.words
    places: list[DeltaGenerator] = []
    with st.container(key="invitation", horizontal_alignment="center", gap="small"):
        st.html(f'<div class="gieok-hero"><img alt="" width="56" height="56" src="{mark_address()}"></div>')
        st.markdown(f"## {words('empty.title')}", anchors=False, text_alignment="center")
        if _comes_here(view):
            places = _draw_coming(view)
        else:
            st.markdown(words("empty.text"), text_alignment="center")
        _draw_samples(view)
        if not places:
            st.caption(privacy(words, view.status), text_alignment="center")
    return places


def _comes_here(view: View) -> bool:
    """Whether a model is being made ready on this machine, or could not be: without a key, nothing else answers."""
    mine, base = choice.chosen(), settings.current()
    keyless = mine.choice.kind == "embedded" if mine else not (base.openai_api_key or base.openai_base_url)
    return keyless and base.provider in ("auto", "embedded") and view.status.state != "ready"


def _draw_coming(view: View) -> list[DeltaGenerator]:
    """Three lines, then how far it is, and the ways out of it."""
    words, status = view.words, view.status
    with st.container(key="first-run", border=True, gap="xsmall"):
        lines = zip(("download", "computer", "lock"), _lines(words, _asked()), strict=True)
        for icon, line in lines:
            st.markdown(f":material/{icon}:&ensp;{line}")
        place = st.container(key="first-run-state").empty()
        draw_status(words, place, status)
        with st.container(horizontal=True, key=f"first-run-actions-{status.state}"):
            if status.state == "fetching":
                stop, icon = words("models.cancel"), ":material/close:"
                st.button(stop, key="first-run-cancel", type="tertiary", icon=icon, on_click=view.readiness.cancel)
            elif status.state == "failed":
                retry_button(again(words, status), "first-run-retry", view.readiness.start)
            if settings.current().model_choice:
                other, icon = words("first.other"), ":material/tune:"
                st.button(other, key="first-run-other", type="tertiary", icon=icon, on_click=ask_options)
    return [place]


def _asked() -> Settings:
    """The settings of this page's model."""
    mine, base = choice.chosen(), settings.current()
    return mine.choice.applied(base) if mine else base


def _lines(words: Words, base: Settings) -> list[str]:
    """What will happen: one file comes once, it runs here, nothing leaves."""
    if base.embedded_path is not None:
        first = words("first.own", name=plain(base.embedded_path.name))
    else:
        coming = default.expected(base)
        key = "first.loads" if weights.ready(base) else "first.fetches" if coming else "first.fetches.some"
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
