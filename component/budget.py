"""What the prompt may hold and which parts are switched on: read only, each with the name of its setting."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import streamlit as st

import settings
from component.catalogue import Words
from component.view import View

BUDGETS = ("system", "summaries", "recent", "memory", "entities", "retrieval", "question")
SWITCHES = ("ahead", "memory", "memory_tool_only", "user_memory", "retrieval", "retrieval_first")


def draw_budgets(view: View) -> None:
    """The three lists; what cannot be changed while the program runs is only shown."""
    words, now = view.words, settings.current()
    st.caption(words("budget.about"))
    models = view.status.models
    rows = [(words(f"part.{name}"), f"{getattr(now, f'budget_{name}'):,}", f"budget_{name}") for name in BUDGETS]
    rows.append((words("budget.answer"), f"{now.answer_tokens:,}", "answer_tokens"))
    if models is not None:
        rows.append((words("budget.context"), f"{models.context_size:,}", "context_size"))
    _draw(words("budget.title"), rows)
    _draw(words("budget.switches"), [*_switches(words, now), _rate(words, now)])


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
