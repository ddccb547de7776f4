"""The parts of the last prompt: one bar of the tokens by part, compared with the tokens of the full history."""

from __future__ import annotations

from html import escape
from typing import Any

import streamlit as st

from component.page.catalogue import Words

REPORTED = ("system", "recent", "question")
"""Parts whose budget is for reference only and limits nothing (design 4.3)."""


def draw_prompt(words: Words, report: dict[str, Any] | None) -> None:
    """Draws the bar and its legend; ``report`` is ``ContextReport.plain()``."""
    if not report or not report.get("total_tokens"):
        st.caption(words("prompt.none"))
        return
    parts = [part for part in report["parts"] if part["tokens"] > 0]
    total, full = int(report["total_tokens"]), int(report["full_tokens"])
    about = "" if report.get("exact", True) else "≈ "
    st.markdown(words("prompt.total", about=about, tokens=total))
    st.caption(_compare_full_history(words, total, full))
    st.html(_render_part_bar(words, parts, max(total, full), total) + _render_part_legend(words, parts))


def _compare_full_history(words: Words, total: int, full: int) -> str:
    if full > total:
        return words("prompt.full", tokens=full, percent=round(100 * (1 - total / full)))
    return words("prompt.same") if full == total else words("prompt.more", tokens=full, more=total - full)


def _render_part_bar(words: Words, parts: list[dict[str, Any]], scale: int, total: int) -> str:
    spans = "".join(
        f'<span class="part-{escape(part["name"])}" style="flex:{int(part["tokens"])}"></span>' for part in parts
    )
    rest = f'<span class="part-rest" style="flex:{scale - total}"></span>' if scale > total else ""
    name = escape(words("prompt.title"), quote=True)
    return f'<div class="gieok-bar" role="img" aria-label="{name}">{spans}{rest}</div>'


def _render_part_legend(words: Words, parts: list[dict[str, Any]]) -> str:
    rows = "".join(
        f'<li><i class="part-{escape(part["name"])}"></i><span>{escape(words("part." + part["name"]))}</span>'
        f"<b>{int(part['tokens']):,}</b><small>{escape(_format_part_budget(words, part))}</small></li>"
        for part in parts
    )
    return f'<ul class="gieok-legend">{rows}</ul>'


def _format_part_budget(words: Words, part: dict[str, Any]) -> str:
    """Returns the part's budget as text. The parts in ``REPORTED`` have no limit, however large they are."""
    if not part.get("budget"):
        return ""
    if part["name"] in REPORTED:
        return words("prompt.unlimited")
    return f"/ {int(part['budget']):,}"
