"""The models that a hosted server lists. The page asks once per address, and again when the user wants it."""

from __future__ import annotations

import streamlit as st

import settings
from component.page.view import View
from component.settings.attempt import BEAT
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from component.widget.wait import redraw_when
from component.work.side_call import SideCall, begin_side_call
from model.choice import kept, resolve
from model.choice.choice import Choice

LISTED = "models-listed"


def draw_listing(view: View, choice: Choice, look: bool) -> None:
    """Asks the server for its models and draws the state of this call.

    Asks when the user wants it (``look``), and by itself where a key is known already. ``choice``: address and key as
    entered.
    """
    base, words = settings.load_current_settings(), view.words
    known: tuple[str, SideCall] | None = st.session_state.get(LISTED)
    problem = choice.problem(base)
    if problem and look:
        st.warning(escape_markdown(words(f"models.problem.{problem}")), icon=":material/warning:")
    elif not problem and (look or (known is None and _has_known_key(choice))):
        known = st.session_state[LISTED] = (choice.url, begin_side_call(lambda _: _fetch_model_names(choice)))
    if known is None or known[0] != choice.url:
        st.caption(words("models.list.about"))
        return
    _render_listing_call(view, known[1])


def list_arrived_models(choice: Choice) -> tuple[str, ...]:
    """Returns the names of the models that have arrived for this address."""
    known: tuple[str, SideCall] | None = st.session_state.get(LISTED)
    return known[1].result or () if known is not None and known[0] == choice.url else ()


def _render_listing_call(view: View, side_call: SideCall) -> None:
    words, done = view.words, side_call.done

    def look() -> bool:
        if not side_call.done:
            st.caption(f":shimmer[{words('models.list.asking')}]")
        elif side_call.error is not None:
            draw_error(words, side_call.error)
        else:
            st.caption(words("models.list.found", count=len(side_call.result)))
        return side_call.done and not done

    redraw_when(look, None if done else BEAT)


def _fetch_model_names(choice: Choice) -> tuple[str, ...]:
    base = settings.load_current_settings()
    return resolve.listed_models(kept.with_key(base, choice).apply_to_settings(base))


def _has_known_key(choice: Choice) -> bool:
    """Returns whether a key for this address is known already."""
    return choice.kept_key or choice.apply_to_settings(settings.load_current_settings()).openai_api_key is not None
