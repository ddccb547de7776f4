"""The window that chooses the model of one conversation: which models can answer here, what each costs and can."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlsplit

import streamlit as st

import settings
from component.page import window
from component.page.catalogue import Words
from component.page.view import View, run_page_action
from component.settings.attempt import BEAT
from component.settings.model_status import draw_profile, draw_status, find_host, name_model_place
from component.settings.options import ask_options
from component.widget.markdown import escape_markdown
from component.widget.wait import redraw_when
from component.work import resource
from component.work.side_call import SideCall, begin_side_call
from component.work.user import is_admin, may_choose_model
from errors import hide_address_secrets
from model.choice.model_offer import ModelOffer, list_offers, read_offer
from model.embedded.catalogue import show_name
from model.modelset import ModelSet

NAME = "model"
ASKED = "switch-asked"
"""In session state: the call that lists the models, as of when the window was opened."""
SEARCH = "switch-search"
FEW = 8
"""So many models need no search."""
MOST = 40


def ask_switch() -> None:
    """Opens the window and asks every address for its models."""
    stored = resource.in_use().stored_choices
    st.session_state[ASKED] = begin_side_call(lambda _: list_offers(settings.load_current_settings(), stored))
    st.session_state.pop(SEARCH, None)
    window.open_page_window(NAME)


def draw_switch(view: View, about: object = None) -> None:
    """Draws the window."""
    window.render_page_window(view.words("chat_model.title"), lambda: _draw_switch_window(view), width="medium")


def _draw_switch_window(view: View) -> None:
    words = view.words
    with st.container(border=True, gap="xsmall", key="switch-now"):
        draw_status(words, st.empty(), view.status)
        if view.status.models is not None:
            draw_profile(words, view.status.models)
    if not may_choose_model():
        st.caption(words("models.fixed" if is_admin() else "login.model"))
        return
    side_call: SideCall | None = st.session_state.get(ASKED)
    if side_call is None:  # the window was open when the page was loaded anew
        ask_switch()
        st.rerun()
    done = side_call.done
    if done:
        _draw_model_choice(view, side_call.result or ())
    else:
        st.caption(f":shimmer[{words('models.list.asking')}]")
    redraw_when(lambda: side_call.done and not done, None if done else BEAT)
    st.button(
        words("chat_model.more"), key="switch-more", type="tertiary", icon=":material/settings:", on_click=ask_options
    )


def _draw_model_choice(view: View, offers: tuple[ModelOffer, ...]) -> None:
    """Draws the models as one list; the first entry is the model that every other conversation has, and stands for
    that one alone."""
    words, shared = view.words, resource.in_use().ready_models
    found = {_offer_key(offer): offer for offer in offers if shared is None or not _is_shared(offer, shared)}
    own = read_offer(view.model) if view.model is not None else None
    if own is not None:  # also while its server does not answer
        found.setdefault(_offer_key(own), own)
    query = ""
    if len(found) > FEW:
        query = st.text_input(words("chat_model.search"), key=SEARCH, placeholder=words("chat_model.search.about"))
    matching = [key for key, offer in found.items() if _fits_offer(offer, query)]
    current = _offer_key(own) if own is not None else ""
    options = list(dict.fromkeys(["", *([current] if current else []), *matching[:MOST]]))
    key = f"switch-choice-{view.session_id or 'new'}"
    st.session_state[key] = current
    with st.container(key="switch-list"):
        st.radio(
            words("chat_model.choose"),
            options,
            format_func=lambda option: escape_markdown(found[option].title) if option else words("chat_model.shared"),
            captions=[
                _describe_offer(words, found[option]) if option else _describe_shared(words) for option in options
            ],
            key=key,
            on_change=_choose_model,
            args=(view, found, key),
        )
    if len(matching) > MOST:
        st.caption(words("chat_model.rest", count=len(matching) - MOST))
    st.caption(words("chat_model.about"))


def _choose_model(view: View, found: dict[str, ModelOffer], key: str) -> None:
    option = st.session_state[key]
    run_page_action(partial(view.set_model, found[option].plain() if option else None))


def _describe_offer(words: Words, offer: ModelOffer) -> str:
    """Returns where a model runs, what it costs, what it takes and what it can do, as far as that is known."""
    facts = [name_model_place(words, offer.kind, offer.url)]
    if offer.url:
        facts.append(urlsplit(hide_address_secrets(offer.url)).netloc)
    prompt, answer = offer.prompt_usd or 0.0, offer.answer_usd or 0.0
    if offer.pricing != "unknown" or find_host(offer.url):  # a server here may be a way to one that costs money, or not
        facts.append(words(f"chat_model.price.{offer.pricing}", prompt=f"{prompt:.2f}", answer=f"{answer:.2f}"))
    if offer.context is not None:
        facts.append(words("chat_model.context", tokens=offer.context))
    if offer.memory is not None:
        facts.append(words("models.file.memory", size=offer.memory / 1e9))
    facts += [
        words(f"chat_model.{name}.{'yes' if able else 'no'}")
        for name, able in (("images", offer.takes_images), ("tools", offer.takes_tools), ("thinking", offer.thinks))
        if able is not None and (able or name != "thinking")
    ]
    return escape_markdown(" · ".join(facts))


def _describe_shared(words: Words) -> str:
    models = resource.in_use().ready_models
    return escape_markdown(
        words("chat_model.shared.about", name=show_name(models.name)) if models else words("model.looking")
    )


def _is_shared(offer: ModelOffer, shared: ModelSet) -> bool:
    """Returns whether an offer is the model that every other conversation has."""
    return (offer.kind, offer.url.rstrip("/"), offer.name) == (shared.kind, shared.url.rstrip("/"), shared.name)


def _offer_key(offer: ModelOffer) -> str:
    return "|".join((offer.kind, offer.url, offer.name))


def _fits_offer(offer: ModelOffer, query: str) -> bool:
    return all(word in f"{offer.title} {offer.name} {offer.url}".casefold() for word in query.casefold().split())
