"""The budgets of the prompt and the features that are switched on. The user can change some budgets for this page; the
other values are only shown, with the names of their settings."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import streamlit as st

import settings
from component.page.catalogue import Words
from component.page.view import View
from component.settings import page_budget
from component.widget.markdown import plain
from errors import BadSetting

CHANGEABLE = ("summaries", "retrieval", "memory", "entities")
SWITCHES = ("ahead", "memory", "memory_tool_only", "user_memory", "retrieval", "retrieval_first")
STEP = 100


def draw_budgets(view: View) -> None:
    """Draws the tab: first the budgets that the user can change, then the values that stay while the program runs."""
    words, now = view.words, settings.current()
    _draw_own(words, now)
    st.caption(words("budget.about"))
    sizes = [(words("budget.answer"), f"{now.answer_tokens:,}", "answer_tokens")]
    if view.status.models is not None:
        sizes.append((words("budget.context"), f"{view.status.models.context_size:,}", "context_size"))
    _draw(words("budget.switches"), [*sizes, *_switches(words, now), _rate(words, now)])


# --- what can be changed ------------------------------------------------------------------------


def _draw_own(words: Words, now: settings.Settings) -> None:
    """Draws a field for every budget that has an effect. A valid value counts at once; a bad value is explained."""
    st.markdown(f"**{words('budget.title')}**")
    st.caption(words("budget.own"))
    for pair in (CHANGEABLE[:2], CHANGEABLE[2:]):
        for name, column in zip(pair, st.columns(2), strict=True):
            with column:
                _draw_field(words, now, name)
    same = all(st.session_state[f"budget-{name}"] == getattr(now, f"budget_{name}") for name in CHANGEABLE)
    st.button(words("budget.back"), key="budget-back", icon=":material/undo:", on_click=_back, disabled=same)


def _draw_field(words: Words, now: settings.Settings, name: str) -> None:
    field, key, part = f"budget_{name}", f"budget-{name}", words(f"part.{name}")
    default = getattr(now, field)
    in_use = page_budget.budgets().get(field, default)
    # sent with every run: a window that is opened again before the page has noticed its end has an empty field else
    st.session_state[key] = st.session_state.get(key, in_use)
    about = words("budget.default", tokens=default, name=settings.variable(field))
    help_ = f"{plain(words(f'budget.help.{name}'))}  \n{plain(about)}"
    tokens = st.number_input(part, step=STEP, key=key, help=help_)
    if tokens == in_use:
        return
    try:
        page_budget.choose_budget(field, tokens)
    except BadSetting as error:
        why = words.reason(error.code, error.values)
        st.warning(plain(words("budget.problem", reason=why, tokens=in_use)), icon=":material/warning:")


def _back() -> None:
    page_budget.forget_budgets()
    for name in CHANGEABLE:
        st.session_state.pop(f"budget-{name}", None)


# --- what is only shown -------------------------------------------------------------------------


def _switches(words: Words, now: settings.Settings) -> list[tuple[str, str, str]]:
    return [
        (words(f"switch.{name}"), words("switch.on" if getattr(now, name) else "switch.off"), name) for name in SWITCHES
    ]


def _rate(words: Words, now: settings.Settings) -> tuple[str, str, str]:
    return words("budget.rate"), f"{now.compression_rate:g}", "compression_rate"


def _draw(title: str, rows: Iterable[tuple[str, str, str]]) -> None:
    body = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td>"
        f"<td><code>{escape(settings.variable(field))}</code></td></tr>"
        for name, value, field in rows
    )
    st.html(f'<table class="gieok-settings"><caption>{escape(title)}</caption><tbody>{body}</tbody></table>')
