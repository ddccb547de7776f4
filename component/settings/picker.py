"""Choosing the model of this installation: hosted, on a local server, or embedded."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st
from pydantic import SecretStr

import settings
from component.page.view import View
from component.settings.attempt import TRIED, USE, draw_use, find_taken_attempt, render_model_attempt
from component.settings.listing import draw_listing, list_arrived_models
from component.settings.model_status import draw_profile, draw_status
from component.settings.offer import draw_offers
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown
from component.work import resource
from component.work.user import is_admin, may_choose_model
from errors import hide_address_secrets
from model.choice import kept, resolve
from model.choice.choice import KINDS, OPENAI, Choice, Kind

TAKEN = "models-key-taken"
"""In session state: the last attempt whose key was taken, and how many were."""


def draw_picker(view: View) -> None:
    """Draws the tab: the model in use, the three kinds, and the fields of the selected kind."""
    words, in_use = view.words, resource.in_use()
    view = replace(view, readiness=in_use.readiness, status=in_use.readiness.status)  # not that of the open chat
    with st.container(border=True, gap="xsmall", key="models-now"):
        st.caption(words("models.now"))
        if view.status.is_settled:
            draw_status(words, st.empty(), view.status)
            if view.status.models is not None:
                draw_profile(words, view.status.models)
        else:
            st.markdown(words(f"model.{view.status.state}"))
        if in_use.stored_choices.choice is not None:
            st.caption(words("models.chosen"))
            if is_admin() and st.button(words("models.back"), key="models-back", icon=":material/undo:"):
                with render_raised_error(words):
                    in_use.reset()
                    st.session_state.pop(TRIED, None)
                    st.rerun()
    if not may_choose_model():
        st.caption(words("models.fixed" if is_admin() else "login.model"))
        return
    kind = st.segmented_control(
        words("models.kind"),
        KINDS,
        default=_find_model_kind(view),
        format_func=lambda name: words(f"models.pick.{name}"),
        key="models-kind",
        required=True,
        width="stretch",
    )
    {"hosted": _draw_hosted, "local": _draw_local, "embedded": draw_offers}[kind](view)


def _find_model_kind(view: View) -> Kind:
    """Returns the kind of the model in use; before a model is known, the kind that the settings ask for."""
    choice, models = resource.in_use().stored_choices.choice, view.status.models
    now = choice.kind if choice else models.kind if models else settings.load_current_settings().provider
    return now if now in KINDS else "embedded"


# --- hosted -------------------------------------------------------------------------------------


def _draw_hosted(view: View) -> None:
    """Draws a form, so that a button gets all typed text: outside a form, Streamlit's key field holds its text back."""
    words, base = view.words, settings.load_current_settings()
    before, configured = resource.in_use().stored_choices.last("hosted"), base.openai_base_url or ""
    printable = hide_address_secrets(
        configured
    )  # an address that holds secrets stays out of the page; the empty field stands for it
    field = _key_field()
    with st.form("models-hosted", border=False):
        url = st.text_input(
            words("models.url"),
            before.url or (configured if configured == printable else ""),
            placeholder=printable or OPENAI,
            key="models-url",
        ).strip()
        key = st.text_input(
            words("models.key"), type="password", key=field, placeholder=_standing_in(view, before)
        ).strip()
        st.caption(f":material/lock: {escape_markdown(_describe_key_place(view))}")
        typed = Choice("hosted", url, SecretStr(key), kept_key=not key and before.kept_key and before.url == url)
        look = st.form_submit_button(words("models.list"), key="models-list", icon=":material/list:")
        draw_listing(view, typed, look)
        left, right = st.columns(2)
        with left:
            chat = _draw_name(view, "chat", typed, before.chat_model or base.chat_model or "", words("models.default"))
        with right:
            openai = (url or configured or OPENAI).rstrip("/") == OPENAI
            same = resolve.OPENAI_UTILITY if openai else words("models.same")
            utility = _draw_name(view, "utility", typed, before.utility_model, same)
        use = st.form_submit_button(words("models.use"), key="models-use", type="primary", icon=USE)
    choice = Choice("hosted", url, typed.key, chat, utility, typed.kept_key)
    render_model_attempt(view, choice, use)
    if before.kept_key:
        _draw_forget(view)


def _key_field() -> str:
    """Returns the name of the key field. After a key was taken the field is another one, and empty: the browser sends
    nothing of the old one again, and a key that is typed after it stays."""
    before, count = st.session_state.get(TAKEN, (None, 0))
    attempt = find_taken_attempt("hosted")
    if attempt is not None and attempt is not before:
        count += 1
        st.session_state[TAKEN] = attempt, count
    return f"models-key-{count}"


def _draw_name(view: View, role: str, typed: Choice, before: str, nothing: str) -> str:
    """Draws the field for the name of a model, and returns the name: a model that the server lists, or any typed name.
    An empty field means ``nothing``.

    The field's first value is not given as its default: Streamlit lets the user empty only a field without a default.
    """
    entered = st.session_state.setdefault(f"models-{role}", before or None) or ""
    options = list(dict.fromkeys(name for name in (before, entered, *list_arrived_models(typed)) if name))
    name = st.selectbox(
        view.words(f"models.{role}"),
        options,
        None,
        placeholder=nothing,
        accept_new_options=True,
        help=view.words("models.utility.help") if role == "utility" else view.words("models.chat.help"),
        key=f"models-{role}",
    )
    return (name or "").strip()


def _standing_in(view: View, before: Choice) -> str:
    """Returns the placeholder of the key field, which says whose key is used while the field is empty."""
    if before.kept_key:
        return view.words("models.key.kept")
    shared = Choice("hosted").apply_to_settings(settings.load_current_settings()).openai_api_key is not None
    return view.words("models.key.shared") if shared else "sk-…"


def _describe_key_place(view: View) -> str:
    """Returns where the key is kept, or would be kept."""
    base, place = settings.load_current_settings(), resource.in_use().stored_choices.place
    storage = place or kept.choose_key_place(base)
    state = "kept" if place else "next"
    return view.words(f"models.key.{state}.{storage}", place=kept.name_key_place(base, storage))


def _draw_forget(view: View) -> None:
    if st.button(view.words("models.key.forget"), key="models-key-forget", icon=":material/key_off:"):
        with render_raised_error(view.words):
            resource.in_use().forget_key()
            st.session_state.pop(TRIED, None)
            st.rerun()


# --- local --------------------------------------------------------------------------------------


def _draw_local(view: View) -> None:
    """Draws the servers that answer with their models, and a field for another address."""
    words, base, before = view.words, settings.load_current_settings(), resource.in_use().stored_choices.last("local")
    url = st.text_input(
        words("models.local.url"), before.url, placeholder=words("models.local.any"), key="models-local-url"
    ).strip()
    choice = Choice("local", url)
    if choice.problem(base):
        draw_use(view, choice)
        return
    servers = resolve.list_local_servers(choice.apply_to_settings(base))
    for address, offered in servers:
        mark = ":green[:material/check_circle:]" if offered else ":gray[:material/do_not_disturb_on:]"
        message = words("models.local.has", count=len(offered)) if offered else words("models.local.silent")
        st.markdown(f"{mark} `{hide_address_secrets(address)}` :gray[{escape_markdown(message)}]")
    answering = {address: offered for address, offered in servers if offered}
    if not answering:
        st.caption(words("models.local.about"))
        if url:  # the test shows why no server answered
            draw_use(view, choice)
        else:
            st.button(words("model.retry"), key="models-look", icon=":material/refresh:")
        return
    address = next(iter(answering))
    if len(answering) > 1:
        places = list(answering)
        first = places.index(before.url) if before.url in answering else 0
        address = st.selectbox(
            words("models.local.server"), places, first, format_func=hide_address_secrets, key="models-local-server"
        )
    names = list(answering[address])
    selected = names.index(before.chat_model) if before.url == address and before.chat_model in names else 0
    name = st.selectbox(
        words("models.chat"),
        names,
        selected,
        accept_new_options=True,
        help=words("models.chat.help"),
        key=f"models-local-model-{address}",
    )
    draw_use(view, Choice("local", address, chat_model=(name or "").strip()))
