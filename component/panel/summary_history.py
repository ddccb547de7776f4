"""The summary history of the panel, drawn as specification 8.3 shows, the newest summary first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from component.page.catalogue import Words
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from component.widget.marked import drop_bold
from errors import SummaryRejected
from store import SummaryRow

Way = tuple[str, str, Callable[[int], None]]
"""A button of a summary: its label, its icon, and its action, which gets the number of the summary's first turn."""

LOST_SHOWN = 6
FACT_CHARS = 40
HINT_SHOWN = 120


def draw_summaries(
    words: Words,
    summaries: Sequence[SummaryRow],
    earlier: int,
    ways: Sequence[Way] = (),
    prefix: str = "",
    brought: Mapping[int, int] | None = None,
    pinned: Collection[int] = (),
) -> None:
    """Draws one card per summary, newest first; ``earlier`` is the number of older summaries that are not shown.

    ``ways``: the buttons of every card; empty while an answer runs and the cards are redrawn. ``brought``: by summary
    id, the characters of document passages in the summary's turns. ``pinned``: turns that stand word for word, too.
    """
    if not summaries:
        st.caption(words("panel.none"))
    for summary in reversed(summaries):
        with st.container(border=True, gap="xsmall"):
            _draw_card(words, summary, (brought or {}).get(summary.id, 0))
            if both := [turn for turn in summary.turns if turn in pinned]:
                turns = ", ".join(describe_turns(words, turn, turn) for turn in both)
                st.caption(f":material/keep: {escape_markdown(words('summary.pinned', turns=turns))}")
            if ways and summary.record is not None:
                _render_summary_ways(summary.turns[0], ways, prefix)
    if earlier > 0:
        st.caption(words("panel.earlier", count=earlier))


def _render_summary_ways(first: int, ways: Sequence[Way], prefix: str) -> None:
    with st.container(key=f"{prefix}ways-{first}", horizontal=True, gap="small"):
        for label, icon, action in ways:
            key = f"{prefix}{'closer' if icon == 'difference' else icon}-{first}"
            icon = f":material/{icon}:"
            st.button(label, key=key, icon=icon, type="tertiary", on_click=action, args=(first,))


def describe_turns(words: Words, first: int, last: int) -> str:
    """Returns the numbers of turns in words: of several or of one."""
    return words("memory.turn", turn=first) if first == last else words("memory.turns", first=first, last=last)


def describe_head(words: Words, summary: SummaryRow) -> str:
    """Returns the head of a summary: the turns that it covers."""
    first, last = summary.turns[0], summary.turns[-1]
    return words("summary.head", first=first, last=last)


def round_to_percent(rate: float) -> int:
    """Returns a compression rate in per cent: 0.3 is 30 per cent of the original length."""
    return round(100 * rate)


def format_summary_length(words: Words, record: Mapping[str, Any], brought: int) -> str:
    """Returns the lengths of original and summary in characters. For turns that searched documents, adds the length of
    the document passages, which the original does not include."""
    text = words("summary.length", original=record["original_chars"], summary=record["summary_chars"])
    return f"{text} · {words('summary.brought', count=brought)}" if brought else text


def _draw_card(words: Words, summary: SummaryRow, brought: int) -> None:
    head = f"**{escape_markdown(describe_head(words, summary))}**"
    record = summary.record
    st.markdown(f"{head} :gray[{escape_markdown(_describe_length(words, summary))}]")
    if record is None:
        _render_failed_summary(words, summary)
        return
    st.caption(format_summary_length(words, record, brought))
    st.text(drop_bold(sanitize_text(str(record["summary"]))), width="stretch")
    if summary.lost:
        st.markdown(
            ":orange[:material/warning: "
            f"{escape_markdown(words('summary.lost', facts=_format_lost_facts(words, summary.lost)))}]"
        )
    if summary.origin == "extracted":
        st.caption(f":material/format_quote: {escape_markdown(_by_code(words, summary))}")
    elif summary.origin == "asked":
        st.caption(f":material/touch_app: {words('summary.asked')}")
    if summary.hint:
        st.caption(escape_markdown(words("summary.hint", hint=shorten_text(summary.hint, HINT_SHOWN))))
    if summary.status == "ready":
        st.caption(f":material/bolt: {words('summary.ahead')}")
    elif summary.status == "retired":
        st.caption(f":material/inventory_2: {words('summary.retired')}")


def _describe_length(words: Words, summary: SummaryRow) -> str:
    """Returns how long the summary is in per cent of the original, with the target; the target alone without a
    summary."""
    target, record = round_to_percent(summary.rate), summary.record
    if record is None or not record["original_chars"]:
        return words("panel.rate", percent=target)
    share = round_to_percent(record["summary_chars"] / record["original_chars"])
    return words("panel.share", share=share, percent=target)


def _by_code(words: Words, summary: SummaryRow) -> str:
    """Returns that code picked the sentences, and why the model's summary was rejected if it wrote one."""
    error = summary.error
    if not error:
        return words("summary.extracted")
    code, values = str(error.get("code")), error.get("values") or {}
    reason = words.reason(code, values) or words.error(code, str(error.get("message", "")), values)[0]
    return words("summary.instead", reason=reason)


def _format_lost_facts(words: Words, facts: Sequence[str]) -> str:
    named = ", ".join(shorten_text(fact, FACT_CHARS) for fact in facts[:LOST_SHOWN])
    more = len(facts) - LOST_SHOWN
    return words("summary.lost.more", facts=named, count=more) if more > 0 else named


def _render_failed_summary(words: Words, summary: SummaryRow) -> None:
    """Draws why there is no summary, what helps, and that the turns stay in full until the next try."""
    error = summary.error or {}
    problem, hint = words.error(str(error.get("code")), str(error.get("message", "")), error.get("values") or {})
    st.markdown(f":orange[:material/warning: {escape_markdown(problem)}]")
    until = int(error.get("until", 0))
    is_next = error.get("hopeless") or until <= summary.turns[-1] + 2
    again = words("summary.again") if is_next else words("summary.later", turn=until - 1)
    st.caption(escape_markdown(again if error.get("code") == SummaryRejected.code else f"{hint} {again}".strip()))
