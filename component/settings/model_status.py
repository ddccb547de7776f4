"""The state of the model: which model answers and from where, how far its download is, or why there is none."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.page.catalogue import Words
from component.widget.failure import quote_addresses, retry_button
from component.widget.markdown import escape_markdown
from component.widget.moment import format_reader_moment
from component.work.readiness import LastCall, ModelStatus, Readiness
from component.work.user import has_login
from errors import WeightsCancelled
from model.call.connection import is_loopback_host
from model.embedded.catalogue import show_name
from model.embedded.weights import FetchProgress
from model.modelset import Kind, ModelSet

MEGABYTE = 1_000_000


def draw_model(words: Words, readiness: Readiness, status: ModelStatus) -> DeltaGenerator:
    """Draws the state while something is being prepared or wrong. The caller redraws the returned place with
    ``draw_trouble`` as the state changes."""
    place = st.empty()
    draw_trouble(words, place, status)
    if status.state == "failed":
        retry_button(format_retry_label(words, status), "model-retry", readiness.start)
    return place


def draw_trouble(words: Words, place: DeltaGenerator, status: ModelStatus) -> None:
    """Draws the state while something is being prepared or wrong: of a model that answers the header says enough."""
    if status.state != "ready":
        draw_status(words, place, status)
    elif status.is_away and status.last_call is not None:  # why stands at the turn, and in the window of the model
        with place.container():
            when = format_reader_moment(status.last_call.when)
            st.caption(f":red[:material/error: {escape_markdown(words('model.unanswered', when=when))}]")
    else:
        place.empty()


def draw_status(words: Words, place: DeltaGenerator, status: ModelStatus) -> None:
    """Draws the state as it is now; without widgets, so that the same run can draw it again."""
    with place.container(gap="xsmall"):
        if status.state == "ready" and status.models is not None:
            sign = ":red[:material/error:]" if status.is_away else ":green[:material/check_circle:]"
            st.markdown(f"{sign} **{escape_markdown(show_name(status.models.name))}**")
            st.caption(escape_markdown(" · ".join(filter(None, _describe_models(words, status.models)))))
            if status.last_call is not None:
                _draw_last_call(words, status.last_call)
        elif status.state == "failed" and status.error is not None:
            problem, hint = words.error(status.error.code, status.error.text(), status.error.values)
            paused = isinstance(status.error, WeightsCancelled)
            st.markdown(
                f":material/pause_circle: {escape_markdown(problem)}"
                if paused
                else f":red[:material/error: {quote_addresses(problem)}]"
            )
            st.caption(quote_addresses(hint))
        elif status.state == "fetching" and status.fetched is not None:
            _draw_fetched(words, status.fetched)
        else:
            st.markdown(f":shimmer[{words('model.' + status.state)}]")
            st.caption(words("model.wait"))
        if status.is_settled and status.looked:
            st.caption(words("model.looked", when=format_reader_moment(status.looked)))


def _draw_last_call(words: Words, call: LastCall) -> None:
    """Draws when the model answered last, or when and why it did not."""
    if not call.code:
        st.caption(words("model.answered", when=format_reader_moment(call.when)))
        return
    problem, hint = words.error(call.code, call.message, call.values)
    st.markdown(
        f":red[{escape_markdown(words('model.unanswered', when=format_reader_moment(call.when)))}] "
        f"{quote_addresses(problem)}"
    )
    st.caption(quote_addresses(hint))


def _describe_models(words: Words, models: ModelSet) -> tuple[str, str, str]:
    """Returns where the model runs, its host and its profile."""
    place, host = name_model_place(words, models.kind, models.url), find_host(models.url)
    return place, host, words(f"profile.{models.profile.name}")


def name_model_place(words: Words, kind: Kind, url: str) -> str:
    """Returns where a model runs, in words. A server on this machine counts as local, even when the settings call it
    hosted."""
    return words("model.kind.local" if kind == "hosted" and not find_host(url) else f"model.kind.{kind}")


def draw_profile(words: Words, models: ModelSet) -> None:
    """Draws what every role is trusted with, and why."""
    writes = words(f"profile.side.{models.side.summaries}", name=show_name(models.side_name))
    for does, why in ((words(f"profile.{models.profile.name}.about"), models.why), (writes, models.side_why)):
        st.caption(escape_markdown(words("profile.line", does=does, why=words(f"profile.why.{why}"))))
    if models.side.summaries == "model":
        st.caption(escape_markdown(words(f"models.side.{models.utility_why}", name=show_name(models.side_name))))


def format_retry_label(words: Words, status: ModelStatus) -> str:
    """Returns the label of the button that tries again after this failure."""
    return words("models.continue" if isinstance(status.error, WeightsCancelled) else "model.retry")


def _draw_fetched(words: Words, fetched: FetchProgress) -> None:
    share = min(1.0, fetched.done / fetched.total) if fetched.total else 0.0
    key = {"verify": "model.verifying", "wait": "model.elsewhere"}.get(fetched.source, "model.fetched")
    st.progress(share, text=words(key, percent=int(100 * share)))
    facts = words("model.amount", done=fetched.done / MEGABYTE, total=fetched.total / MEGABYTE)
    if fetched.speed:
        facts += " · " + words("model.speed", speed=fetched.speed / MEGABYTE)
    if fetched.left is not None:
        facts += " · " + format_time_left(words, fetched.left)
    st.caption(escape_markdown(facts))


def describe_message_privacy(words: Words, status: ModelStatus, private: bool = False) -> str:
    """Returns where a conversation's messages go, as far as the answering model is known."""
    models, name = status.models, "private.privacy" if private else "empty.privacy"
    where = words("privacy.server" if has_login() else "privacy.computer")
    if models is None:
        return words(name, where=where)
    host = find_host(models.url)
    return (
        words(f"{name}.sent", host=escape_markdown(host), where=where) if host else words(f"{name}.here", where=where)
    )


def find_host(url: str) -> str:
    """Returns the server that gets the messages of a model at this address; empty when they stay on this machine."""
    host = urlsplit(url).hostname or ""
    return "" if is_loopback_host(host) else host


def format_time_left(words: Words, seconds: float) -> str:
    """Returns the time left in words, rounded to be readable."""
    if seconds < 60:
        return words("time.seconds", seconds=max(1, round(seconds)))
    return words("time.minutes", minutes=round(seconds / 60))
