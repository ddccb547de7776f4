"""Settings of prompts that each user has of their own (token budgets, switches, the rate of new chats), and the values
that only the installation sets, with the names of their variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from html import escape

import streamlit as st

import settings
from component.page.catalogue import Words
from component.page.view import RATE_NEW, View, run_page_action, store_page_error
from component.settings.own_setting import forget_own, is_own, keep_own, read_own
from component.widget.markdown import escape_markdown
from errors import BadSetting, GieokError
from store.store import HIGHEST_RATE, LOWEST_RATE

CONTEXT = ("summaries", "recent")
MEMORY = ("memory", "entities", "profile", "past")
FIXED_SWITCHES = ("ahead", "memory", "user_memory", "retrieval")
STEP = 100
WRONG = "wrong-"
"""Begins the keys, in session state, of the errors of entered values."""


def draw_budgets(words: Words, names: Sequence[str]) -> None:
    """Draws a field for each of these budgets, two a row. A valid value counts at once; a bad value is explained."""
    for first in range(0, len(names), 2):
        for name, column in zip(names[first : first + 2], st.columns(2), strict=False):
            with column:
                draw_budget(words, name)
    fields = [f"budget_{name}" for name in names]
    st.button(
        words("budget.back"),
        key=f"budget-back-{names[0]}",
        icon=":material/undo:",
        on_click=_restore_defaults,
        args=(fields,),
        disabled=not any(is_own(field) or f"{WRONG}{field}" in st.session_state for field in fields),
    )


def draw_budget(words: Words, name: str) -> None:
    """Draws the field of one budget, in tokens."""
    field, key, part = f"budget_{name}", f"budget-{name}", words(f"part.{'turns' if name == 'past' else name}")
    in_use, wrong = read_own(field), st.session_state.get(f"{WRONG}{field}")
    if wrong is None or key not in st.session_state:  # another tab may have changed it
        st.session_state[key] = in_use
    help_ = f"{escape_markdown(words(f'budget.help.{name}'))}  \n{escape_markdown(describe_default(words, field))}"
    st.number_input(part, step=STEP, key=key, help=help_, on_change=_set_budget, args=(field, key))
    if wrong is not None:
        why = words.reason(wrong.code, wrong.values)
        st.warning(escape_markdown(words("budget.problem", reason=why, tokens=in_use)), icon=":material/warning:")


def draw_toggle(words: Words, field: str) -> None:
    """Draws the switch of a setting that is on or off."""
    key = f"own-switch-{field}"
    st.session_state[key] = bool(read_own(field))
    help_ = f"{escape_markdown(words(f'switch.help.{field}'))}  \n{escape_markdown(describe_default(words, field))}"
    st.toggle(words(f"switch.{field}"), key=key, help=help_, on_change=_set_switch, args=(field, key))


def draw_first_rate(words: Words) -> None:
    """Draws the compression rate that new chats begin with."""
    key, field = "own-rate", "compression_rate"
    st.session_state[key] = float(read_own(field))
    help_ = escape_markdown(describe_default(words, field))
    st.slider(
        words("budget.rate"),
        LOWEST_RATE,
        HIGHEST_RATE,
        step=0.05,
        key=key,
        help=help_,
        on_change=_set_first_rate,
        args=(key,),
    )


def describe_default(words: Words, field: str) -> str:
    """Returns the installation's value of a setting, and whether its environment sets it."""
    now = settings.load_current_settings()
    value = getattr(now, field)
    shown = words("switch.on" if value else "switch.off") if isinstance(value, bool) else f"{value:,}"
    origin = "environment" if field in now.model_fields_set else "own"
    return words(f"budget.default.{origin}", value=shown, name=settings.find_variable_name(field))


def draw_fixed(view: View) -> None:
    """Draws the values that stay while the program runs."""
    words, now = view.words, settings.load_current_settings()
    st.caption(words("budget.about"))
    rows = [(words("budget.answer"), f"{now.answer_tokens:,}", "answer_tokens")]
    if view.status.models is not None:
        rows.append((words("budget.context"), f"{view.status.models.context_size:,}", "context_size"))
    states = {name: words("switch.on" if getattr(now, name) else "switch.off") for name in FIXED_SWITCHES}
    rows += [(words(f"switch.{name}"), state, name) for name, state in states.items()]
    rows.append((words("budget.folder"), str(now.data_dir), "data_dir"))
    _draw_fixed_table(words("budget.switches"), rows)


def _set_budget(field: str, key: str) -> None:
    """Keeps the entered value, or notes why it cannot be used."""
    st.session_state.pop(f"{WRONG}{field}", None)
    try:
        keep_own(field, st.session_state[key])
    except BadSetting as error:
        st.session_state[f"{WRONG}{field}"] = error
    except GieokError as error:
        store_page_error(error)


def forget_wrong() -> None:
    """Forgets which entered values could not be used: the fields show what is in use."""
    for key in [key for key in map(str, st.session_state) if key.startswith(WRONG)]:
        del st.session_state[key]


def _restore_defaults(fields: Iterable[str]) -> None:
    fields = list(fields)
    run_page_action(partial(forget_own, fields))
    forget_wrong()


def _set_switch(field: str, key: str) -> None:
    run_page_action(partial(keep_own, field, bool(st.session_state[key])))


def _set_first_rate(key: str) -> None:
    run_page_action(partial(keep_own, "compression_rate", round(float(st.session_state[key]), 4)))
    st.session_state.pop(RATE_NEW, None)  # the slider of the new chat begins with it


def _draw_fixed_table(title: str, rows: Iterable[tuple[str, str, str]]) -> None:
    body = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td>"
        f"<td><code>{escape(settings.find_variable_name(field))}</code></td></tr>"
        for name, value, field in rows
    )
    st.html(f'<table class="gieok-settings"><caption>{escape(title)}</caption><tbody>{body}</tbody></table>')
