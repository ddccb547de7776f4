"""Choosing the models of this page: hosted, on a local server, or embedded."""

from __future__ import annotations

import streamlit as st
from pydantic import SecretStr

import settings
from component import choice as chosen
from component.attempt import TEST, USE, act, draw_actions, use_models
from component.choice import KINDS, Choice, Kind
from component.markdown import plain
from component.model_status import draw_profile, draw_status
from component.offer import draw_offers
from component.view import View
from model import resolve
from model.resolve import OPENAI

KEY = "models-key"


def draw_picker(view: View) -> None:
    """The tab: what answers now, the three kinds, and for each what it needs."""
    words = view.words
    with st.container(border=True, gap="xsmall", key="models-now"):
        st.caption(words("models.now"))
        if view.status.settled:
            draw_status(words, st.empty(), view.status)
            if view.status.models is not None:
                draw_profile(words, view.status.models)
        else:
            st.markdown(words(f"model.{view.status.state}"))
        if chosen.chosen() is not None:
            st.caption(words("models.mine"))
            if st.button(words("models.back"), key="models-back", icon=":material/undo:"):
                use_models(None)
    if not settings.current().model_choice:
        st.caption(words("models.fixed"))
        return
    kind = st.segmented_control(
        words("models.kind"),
        KINDS,
        default=_kind(view),
        format_func=lambda name: words(f"models.pick.{name}"),
        key="models-kind",
        required=True,
        width="stretch",
    )
    {"hosted": _draw_hosted, "local": _draw_local, "embedded": draw_offers}[kind](view)


def _kind(view: View) -> Kind:
    """The kind that answers now; before that is known, the kind that was asked for."""
    mine, models = chosen.chosen(), view.status.models
    now = mine.choice.kind if mine else models.kind if models else settings.current().provider
    return now if now in KINDS else "embedded"


# --- hosted -------------------------------------------------------------------------------------


def _draw_hosted(view: View) -> None:
    """A form, so that what was typed counts when a button is pressed: Streamlit's key field keeps it back otherwise."""
    words, base, before = view.words, settings.current(), _before("hosted")
    with st.form("models-hosted", border=False):
        url = st.text_input(
            words("models.url"), before.url or base.openai_base_url or "", placeholder=OPENAI, key="models-url"
        ).strip()
        key = st.text_input(
            words("models.key"), type="password", key=KEY, placeholder=_standing_in(view, before)
        ).strip()
        st.caption(f":material/lock: {words('models.key.about')}")
        left, right = st.columns(2)
        known = before.chat_model or base.chat_model or ""
        chat = left.text_input(
            words("models.chat"), known, placeholder=words("models.default"), key="models-chat"
        ).strip()
        utility = right.text_input(
            words("models.utility"),
            before.utility_model,
            placeholder=words("models.same"),
            help=words("models.utility.help"),
            key="models-utility",
        ).strip()
        kept = before.key if before.url == url else SecretStr("")
        choice = Choice("hosted", url, SecretStr(key) if key else kept, chat, utility)
        with st.container(horizontal=True, key="models-actions"):
            test = st.form_submit_button(words("models.test"), key="models-test", icon=TEST)
            use = st.form_submit_button(words("models.use"), key="models-use", type="primary", icon=USE)
    act(view, choice, test, use)


def _standing_in(view: View, before: Choice) -> str:
    """What the empty field says: whose key is used without another."""
    if before.key.get_secret_value():
        return view.words("models.key.kept")
    shared = Choice("hosted").applied(settings.current()).openai_api_key is not None
    return view.words("models.key.shared") if shared else "sk-…"


def _before(kind: Kind) -> Choice:
    """What was chosen of this kind, for the fields to begin with."""
    mine = chosen.chosen()
    return mine.choice if mine and mine.choice.kind == kind else Choice(kind)


# --- local --------------------------------------------------------------------------------------


def _draw_local(view: View) -> None:
    """The servers that answer with their models; or another address."""
    words, base, before = view.words, settings.current(), _before("local")
    url = st.text_input(
        words("models.local.url"), before.url, placeholder=words("models.local.any"), key="models-local-url"
    ).strip()
    asked = Choice("local", url)
    if asked.problem(base):
        draw_actions(view, asked)
        return
    servers = resolve.servers(asked.applied(base))
    offered = [(at, name) for at, names in servers for name in names]
    for at, names in servers:
        mark = ":green[:material/check_circle:]" if names else ":gray[:material/do_not_disturb_on:]"
        said = words("models.local.has", count=len(names)) if names else words("models.local.silent")
        st.markdown(f"{mark} `{at}` :gray[{plain(said)}]")
    if not offered:
        st.caption(words("models.local.about"))
        if url:  # the test tells why nothing came
            draw_actions(view, asked)
        else:
            st.button(words("model.retry"), key="models-look", icon=":material/refresh:")
        return
    places = list(range(len(offered)))
    mine = next((place for place in places if offered[place] == (before.url, before.chat_model)), 0)
    place = st.selectbox(
        words("models.chat"), places, mine, format_func=lambda index: offered[index][1], key="models-local-model"
    )
    draw_actions(view, Choice("local", offered[place][0], chat_model=offered[place][1]))
