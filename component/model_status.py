"""The state of the model: which one answers and from where, how far its download is, or why there is none."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.catalogue import Words
from component.failure import retry_button
from component.markdown import plain
from component.readiness import Readiness, Status
from errors import WeightsCancelled
from model.modelset import ModelSet
from model.weights import Progress

MEGABYTE = 1_000_000


def draw_model(words: Words, readiness: Readiness, status: Status) -> DeltaGenerator:
    """Draws the state; the returned place is redrawn with ``draw_status`` while the model is being fetched."""
    place = st.empty()
    draw_status(words, place, status)
    if status.state == "failed":
        retry_button(again(words, status), "model-retry", readiness.start)
    return place


def draw_status(words: Words, place: DeltaGenerator, status: Status) -> None:
    """The state as it is now; without widgets, so that it can be drawn again in the same run."""
    with place.container(gap="xsmall"):
        if status.state == "ready" and status.models is not None:
            st.markdown(f":green[:material/check_circle:] **{plain(status.models.name)}**")
            st.caption(plain(" · ".join(filter(None, _facts(words, status.models)))))
        elif status.state == "failed" and status.error is not None:
            said, hint = words.error(status.error.code, status.error.text(), status.error.values)
            paused = isinstance(status.error, WeightsCancelled)
            st.markdown(f":material/pause_circle: {plain(said)}" if paused else f":red[:material/error: {plain(said)}]")
            st.caption(plain(hint))
        elif status.state == "fetching" and status.fetched is not None:
            _draw_fetched(words, status.fetched)
        else:
            st.markdown(f":shimmer[{words('model.' + status.state)}]")
            st.caption(words("model.wait"))


def _facts(words: Words, models: ModelSet) -> tuple[str, str, str]:
    return words(f"model.kind.{models.kind}"), _host(models), words(f"profile.{models.profile.name}")


def draw_profile(words: Words, models: ModelSet) -> None:
    """What each role is trusted with, and why."""
    writes = words(f"profile.side.{models.side.summaries}", name=models.side_name)
    for does, why in ((words(f"profile.{models.profile.name}.about"), models.why), (writes, models.side_why)):
        st.caption(plain(words("profile.line", does=does, why=words(f"profile.why.{why}"))))


def again(words: Words, status: Status) -> str:
    """What trying again means after this failure."""
    return words("models.continue" if isinstance(status.error, WeightsCancelled) else "model.retry")


def _draw_fetched(words: Words, fetched: Progress) -> None:
    share = min(1.0, fetched.done / fetched.total) if fetched.total else 0.0
    key = {"verify": "model.verifying", "wait": "model.elsewhere"}.get(fetched.source, "model.fetched")
    st.progress(share, text=words(key, percent=int(100 * share)))
    facts = words("model.amount", done=fetched.done / MEGABYTE, total=fetched.total / MEGABYTE)
    if fetched.speed:
        facts += " · " + words("model.speed", speed=fetched.speed / MEGABYTE)
    if fetched.left is not None:
        facts += " · " + duration(words, fetched.left)
    st.caption(plain(facts))


def privacy(words: Words, status: Status) -> str:
    """Where a conversation goes, as far as it is known which model answers."""
    models = status.models
    if models is None:
        return words("empty.privacy")
    host = _host(models)
    return words("empty.privacy.sent", host=plain(host)) if host else words("empty.privacy.here")


def _host(models: ModelSet) -> str:
    """The server that gets the messages; empty when they stay in this machine."""
    host = urlsplit(models.url).hostname or ""
    return "" if host in ("127.0.0.1", "localhost", "::1") else host


def duration(words: Words, seconds: float) -> str:
    """Time left, rounded so that it is readable."""
    if seconds < 60:
        return words("time.seconds", seconds=max(1, round(seconds)))
    return words("time.minutes", minutes=round(seconds / 60))
