"""The window with what was used over time: tokens and money, what summaries and the provider's cache saved."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from html import escape
from typing import Any

import streamlit as st

from component.page import window
from component.page.catalogue import Words
from component.page.view import View
from component.usage.usage_sum import Group, UsageSum, add_up, group_rows, label_chats, sum_days, write_csv
from component.widget.failure import draw_error
from component.widget.markdown import shorten_text
from component.widget.moment import find_reader_zone
from component.work import resource
from errors import GieokError
from model.embedded.catalogue import show_name
from store.user.usage import UsageRow

NAME = "usage"
DAYS = (7, 30, 90, 365)
MEASURES = ("tokens", "usd", "saved")
GROUPS = ("model", "chat", "work")
MOST = 8
"""Groups that a plot shows in colours of their own; the others are one."""
DAY_AXIS = {"labelExpr": "slice(datum.value, 5)", "labelAngle": 0, "labelOverlap": "greedy", "ticks": False}
"""Days as month and day in figures, alike in both languages. They are names, not times: a date without a time would be
one of Greenwich to the plot, and the day before in America."""
TITLE_CHARS = 40
NONE = "–"
"""What stands where nothing is known."""


def ask_usage() -> None:
    """Opens the window."""
    window.open_page_window(NAME)


def draw_usage(view: View, about: object = None) -> None:
    """Draws the window."""
    window.render_page_window(view.words("usage.title"), lambda: _draw_usage_window(view), width="large")


def _draw_usage_window(view: View) -> None:
    words = view.words
    days = _choose_one(words, "days", DAYS, 30)
    today = datetime.now(find_reader_zone()).date()
    first = datetime.combine(today - timedelta(days=days - 1), time.min, find_reader_zone())
    try:
        rows = resource.find_user_agent().store.usages.read_since(first.timestamp())
    except GieokError as error:
        draw_error(words, error)
        return
    if not rows:
        st.caption(words("usage.none"))
        return
    _draw_figures(words, add_up(rows))
    with st.container(horizontal=True, gap="small"):
        measure, grouping = _choose_one(words, "measure", MEASURES, "tokens"), _choose_one(words, "by", GROUPS, "model")
    group = _group_by(words, grouping, rows)
    _draw_plot(words, sum_days(rows, group, days, today, find_reader_zone()), group_rows(rows, group), measure)
    _draw_groups(words, grouping, group_rows(rows, group))
    st.download_button(
        words("usage.export"),
        lambda: "\ufeff" + write_csv(rows, find_reader_zone()),  # the mark tells spreadsheets that it is UTF-8
        f"gieok-usage-{today.isoformat()}.csv",
        "text/csv",
        key="usage-export",
        icon=":material/download:",
        on_click="ignore",
    )
    st.caption(words("usage.about"))


def _choose_one(words: Words, name: str, options: tuple[Any, ...], default: Any) -> Any:
    return st.segmented_control(
        words(f"usage.{name}"),
        options,
        default=default,
        format_func=lambda option: words(f"usage.{name}.{option}"),
        key=f"usage-{name}",
        required=True,
    )


def _group_by(words: Words, grouping: str, rows: list[UsageRow]) -> Group:
    """Returns what a row counts to."""
    chats = label_chats(rows, lambda title: shorten_text(title, TITLE_CHARS) or words("session.new"))

    def model(row: UsageRow) -> str:
        return show_name(row.model) or words("usage.model.unknown")

    def chat(row: UsageRow) -> str:
        return chats[row.session_id]

    return {"model": model, "chat": chat, "work": lambda row: words(f"usage.work.{row.work}")}[grouping]


def _draw_figures(words: Words, total: UsageSum) -> None:
    """Draws the sums of the period: large what was used, below it what was saved."""
    figures = (
        ("tokens", words("usage.tokens.value", prompt=total.prompt_tokens, answer=total.answer_tokens)),
        ("usd", NONE if total.usd is None else words("usage.usd.value", usd=f"{total.usd:.2f}")),
        ("saved", words("usage.saved.value", tokens=total.saved_tokens, percent=total.saved_percent)),
        ("cache", words("usage.cache.value", tokens=total.cached_tokens, usd=f"{total.cache_usd:.2f}")),
    )
    body = "".join(
        f"<div><dt>{escape(words(f'usage.figure.{name}'))}</dt><dd>{escape(value)}</dd></div>"
        for name, value in figures
    )
    st.html(f'<dl class="gieok-figures">{body}</dl>')
    if total.unpriced:
        st.caption(words("usage.unpriced", count=total.unpriced))


def _draw_plot(words: Words, days: list[Any], groups: dict[str, UsageSum], measure: str) -> None:
    """Draws a bar a day, in the colours of the groups."""
    colours = [*groups][:MOST]
    other = words("usage.other")
    points = [
        {"day": day.isoformat(), "group": name if name in colours else other, "value": _read_measure(total, measure)}
        for day, sums in days
        for name, total in (sums or {colours[0]: UsageSum()}).items()
    ]
    label = words(f"usage.measure.{measure}")
    value = {"field": "value", "type": "quantitative", "aggregate": "sum"}
    spec = {
        "data": {"values": points},
        "mark": "bar",
        "height": 240,
        "padding": {"bottom": 4},  # Streamlit leaves a band there
        "encoding": {
            "x": {"field": "day", "type": "ordinal", "title": None, "axis": DAY_AXIS},
            "y": {**value, "title": label},
            "color": {
                "field": "group",
                "type": "nominal",
                "title": None,
                "sort": [*colours, other],
                "legend": {"orient": "top", "padding": 0, "offset": 12},
            },
            "tooltip": [
                {"field": "day", "type": "ordinal", "title": words("usage.day")},
                {"field": "group", "type": "nominal", "title": words("usage.group")},
                {**value, "title": label, "format": ",.4~f"},
            ],
        },
    }
    st.vega_lite_chart(spec=spec, key="usage-plot", width="stretch")


def _read_measure(total: UsageSum, measure: str) -> float:
    if measure == "usd":
        return total.usd or 0.0
    return total.saved_tokens if measure == "saved" else total.prompt_tokens + total.answer_tokens


def _draw_groups(words: Words, grouping: str, groups: dict[str, UsageSum]) -> None:
    """Draws the sums by group as a table, which a screen reader reads where it cannot see the plot."""
    heads = "".join(f"<th scope='col'>{escape(words(f'usage.column.{name}'))}</th>" for name in MEASURES)
    body = "".join(
        f"<tr><th scope='row'>{escape(name)}</th><td>{total.prompt_tokens + total.answer_tokens:,}</td>"
        f"<td>{NONE if total.usd is None else f'{total.usd:.4f}'}</td><td>{total.saved_tokens:,}</td></tr>"
        for name, total in groups.items()
    )
    head = f"<thead><tr><th scope='col'>{escape(words(f'usage.by.{grouping}'))}</th>{heads}</tr></thead>"
    st.html(f'<div class="gieok-usage"><table class="gieok-hits">{head}<tbody>{body}</tbody></table></div>')
