"""Choosing the models of this page: hosted, on a local server, or embedded; trying them; fetching weights."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from pydantic import SecretStr

import settings
from component import choice as chosen
from component import resource, window
from component.choice import KINDS, Choice, Kind
from component.errand import Errand, begin
from component.failure import draw_error
from component.markdown import plain
from component.model_status import MEGABYTE, draw_status
from component.readiness import Readiness
from component.view import View
from model import catalogue, resolve, trial, weights
from model.resolve import OPENAI
from model.stream import Stopped

TRIED = "models-tried"
KEY = "models-key"
BEAT = 0.7
TEST, USE = ":material/network_check:", ":material/check:"


def draw_picker(view: View) -> None:
    """The tab: what answers now, the three kinds, and for each what it needs."""
    words = view.words
    with st.container(border=True, gap="xsmall", key="models-now"):
        st.caption(words("models.now"))
        if view.status.settled:
            draw_status(words, st.empty(), view.status)
        else:
            st.markdown(words(f"model.{view.status.state}"))
        if chosen.chosen() is not None:
            st.caption(words("models.mine"))
            if st.button(words("models.back"), key="models-back", icon=":material/undo:"):
                _use(None)
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
    {"hosted": _draw_hosted, "local": _draw_local, "embedded": _draw_embedded}[kind](view)


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
    _act(view, choice, test, use)


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
        _draw_actions(view, asked)
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
            _draw_actions(view, asked)
        else:
            st.button(words("model.retry"), key="models-look", icon=":material/refresh:")
        return
    places = list(range(len(offered)))
    mine = next((place for place in places if offered[place] == (before.url, before.chat_model)), 0)
    place = st.selectbox(
        words("models.chat"), places, mine, format_func=lambda index: offered[index][1], key="models-local-model"
    )
    _draw_actions(view, Choice("local", offered[place][0], chat_model=offered[place][1]))


# --- embedded -----------------------------------------------------------------------------------


def _draw_embedded(view: View) -> None:
    """The file: what it is, whether it is here, and how far it is."""
    words, base, ready = view.words, settings.current(), _embedded()
    if base.embedded_path is not None:
        st.markdown(f"**{plain(base.embedded_path.name)}**")
    else:
        file = catalogue.find(base.embedded_model)
        here = weights.ready(base)
        said = words("models.file.here" if here else "models.file.away", size=file.size / MEGABYTE)
        st.markdown(f"**{plain(file.name)}** :gray[{plain(f'{file.licence} · {said}')}]")
    st.caption(words("models.embedded.about"))
    under_way = ready.started and not ready.status.settled
    if under_way or (ready.status.error is not None and ready is not view.readiness):
        _draw_fetching(view, ready)
    if not under_way:
        _draw_actions(view, Choice("embedded"), testable=weights.ready(base))


def _embedded() -> Readiness:
    process = resource.readiness()
    return process if process.is_embedded else resource.embedded()


def _draw_fetching(view: View, ready: Readiness) -> None:
    """How far the download is, looked at again every moment; it can be stopped and taken up again."""

    @st.fragment(run_every=BEAT if not ready.status.settled else None)
    def fetching() -> None:
        status = ready.status
        draw_status(view.words, st.empty(), status)
        if status.state == "fetching":
            st.button(
                view.words("models.cancel"), key="models-cancel-fetch", icon=":material/close:", on_click=ready.cancel
            )

    fetching()


# --- trying and using ---------------------------------------------------------------------------


def _draw_actions(view: View, choice: Choice, testable: bool = True) -> None:
    words, wrong = view.words, choice.problem(settings.current()) is not None
    with st.container(horizontal=True, key="models-actions"):
        test = st.button(words("models.test"), key="models-test", icon=TEST, disabled=wrong or not testable)
        use = st.button(words("models.use"), key="models-use", type="primary", icon=USE, disabled=wrong)
    _act(view, choice, test, use)


def _act(view: View, choice: Choice, test: bool, use: bool) -> None:
    """What a button asks for, and below it what came of it."""
    problem = choice.problem(settings.current())
    if problem and (test or use or choice.kind == "local"):
        st.warning(plain(view.words(f"models.problem.{problem}")), icon=":material/warning:")
    elif test:
        st.session_state[TRIED] = (choice, begin(_trying(choice)))
    elif use:
        _use(choice)
    tried = st.session_state.get(TRIED)
    if tried and tried[0] == choice and not problem:
        _draw_tried(view, tried[1])


def _trying(choice: Choice) -> Callable[[Errand], trial.Trial | None]:
    asked = choice.applied(settings.current())

    def work(errand: Errand) -> trial.Trial | None:
        try:
            return trial.run(asked, errand.stop)
        except Stopped:
            return None

    return work


def _draw_tried(view: View, errand: Errand) -> None:
    """What came of it; looked at again every moment while it runs."""
    words = view.words

    @st.fragment(run_every=None if errand.done else BEAT)
    def result() -> None:
        with st.container(key="models-result"):
            if not errand.done:
                st.markdown(f":shimmer[{words('models.testing')}]")
                st.button(words("chat.withdraw"), key="models-test-stop", on_click=errand.stop.set)
            elif errand.error is not None:
                draw_error(words, errand.error)
            elif errand.result is not None:
                found: trial.Trial = errand.result
                said = words("models.works", name=found.name, seconds=found.seconds)
                st.success(plain(said), icon=":material/check_circle:")
            else:
                st.caption(words("models.test.stopped"))

    result()


def _use(choice: Choice | None) -> None:
    """From the next message on; the window closes and the side shows how it goes."""
    chosen.choose(choice)
    st.session_state.pop(TRIED, None)
    window.shut()
