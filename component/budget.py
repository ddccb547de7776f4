"""What the prompt may hold and which parts are switched on: some budgets can be changed for this page, the rest is only
shown, with the names of the settings."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import streamlit as st

import settings
from component import choice
from component.catalogue import Words
from component.markdown import plain
from component.view import View
from errors import BadSetting

CHANGEABLE = ("summaries", "retrieval", "memory", "entities")
REPORTED = ("system", "recent", "question")
SWITCHES = ("ahead", "memory", "memory_tool_only", "user_memory", "retrieval", "retrieval_first")
STEP = 100


def draw_budgets(view: View) -> None:
    """The tab: what can be changed, then what can not while the program runs."""
    words, now = view.words, settings.current()
    _draw_own(words, now)
    rows = [(words(f"part.{name}"), f"{getattr(now, f'budget_{name}'):,}", f"budget_{name}") for name in REPORTED]
    _draw(words("budget.reported"), rows)
    st.caption(words("budget.about"))
    sizes = [(words("budget.answer"), f"{now.answer_tokens:,}", "answer_tokens")]
    if view.status.models is not None:
        sizes.append((words("budget.context"), f"{view.status.models.context_size:,}", "context_size"))
    _draw(words("budget.switches"), [*sizes, *_switches(words, now), _rate(words, now)])


# --- what can be changed ------------------------------------------------------------------------


def _draw_own(words: Words, now: settings.Settings) -> None:
    """A field for each budget that has an effect; what is entered counts at once, what cannot be is told."""
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
    kept = choice.budgets().get(field, default)
    if key not in st.session_state:
        st.session_state[key] = kept
    about = words("budget.default", tokens=default, name=settings.variable(field))
    help_ = f"{plain(words(f'budget.help.{name}'))}  \n{plain(about)}"
    tokens = st.number_input(part, step=STEP, key=key, help=help_)
    if tokens == kept:
        return
    try:
        choice.choose_budget(field, tokens)
    except BadSetting as error:
        why = words.reason(error.code, error.values)
        st.warning(plain(words("budget.problem", reason=why, tokens=kept)), icon=":material/warning:")


def _back() -> None:
    choice.forget_budgets()
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
