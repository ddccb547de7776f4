"""What the request of the turn was given, in tokens, and its receipt."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import streamlit as st

from component.page.catalogue import Words
from component.widget.markdown import escape_markdown
from component.world.view import WorldView
from world.prompt.budget import Budgets
from world.prompt.receipt import NAMES

_TURN = re.compile(r"history (before|at) turn (\d+) \(edited\)")
BUDGETED = ("prefix", "state", "episodes", "lore")


def draw_prompt_tab(shown: WorldView, prefix: str = "") -> None:
    """Draws the tab: tokens by part against their budgets, what did not fit, and the receipt."""
    words, node = shown.view.words, shown.node
    report, receipt = (node.report, node.receipt) if node else (None, None)
    if not report and not receipt:
        st.caption(words("world.prompt.none"))
        return
    if report:
        _draw_report(words, report, Budgets.of(shown.engine.settings))
    if receipt:
        _draw_receipt(words, receipt)


def _draw_report(words: Words, report: dict[str, Any], budgets: Budgets) -> None:
    late = int(report.get("late", 0))
    if late:
        st.warning(escape_markdown(words("world.prompt.late", count=late)), icon=":material/hourglass_bottom:")
    if report.get("stopped"):
        st.caption(words("world.prompt.stopped"))
    tokens = report.get("tokens", {})
    budgets = replace(budgets, lore=budgets.lore + int(report.get("lore", {}).get("constant_budget", 0)))
    rows = [
        (words(f"world.prompt.part.{part}"), count, _format_world_budget(budgets, part))
        for part, count in tokens.items()
    ]
    st.markdown(f"## {words('world.prompt.tokens')}", anchors=False)
    _draw_table((words("world.prompt.part"), words("world.prompt.tokens"), words("world.prompt.budget")), rows)
    told = [words("world.prompt.cut", count=report["state_lines_cut"])] if report.get("state_lines_cut") else []
    told += [
        words("world.prompt.file_cut", name=one["name"], count=one["lines_cut"])
        for one in report.get("files", ())
        if one.get("lines_cut")
    ]
    over = report.get("episodes", {}).get("over_budget", 0)
    told += [words("world.prompt.episodes_out", count=over)] if over else []
    if told:
        st.markdown("\n".join(f"- {escape_markdown(one)}" for one in told))


def _format_world_budget(budgets: Budgets, part: str) -> str:
    return f"{getattr(budgets, part):,}" if part in BUDGETED else ""


def _draw_table(head: tuple[str, ...], rows: list[tuple[str, Any, str]]) -> None:
    lines = [" | ".join(map(escape_markdown, head)), "---|--:|--:"]
    lines += [f"{escape_markdown(name)} | {_format_table_value(value)} | {budget}" for name, value, budget in rows]
    st.markdown("\n".join(f"| {line} |" for line in lines))


def _format_table_value(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else escape_markdown(str(value))


def _draw_receipt(words: Words, receipt: dict[str, Any]) -> None:
    st.markdown(f"## {words('world.receipt')}", anchors=False)
    names = ("prompt_tokens", "cached_tokens", "written_tokens", "answer_tokens")
    rows = [(words(f"world.receipt.{name}"), int(receipt.get(name) or 0)) for name in names]
    st.markdown("\n".join(f"- {escape_markdown(name)}: **{value:,}**" for name, value in rows))
    saved, paid = receipt.get("saved_usd"), receipt.get("usd")
    told = [words("world.receipt.paid", usd=f"{paid:.6f}")] if paid else []
    told += [words("world.receipt.saved", usd=f"{saved:.6f}")] if saved else []
    told += [] if receipt.get("exact", True) else [words("world.receipt.estimated")]
    told.append(explain_cache_break(words, str(receipt.get("broke") or "")))
    if anew := int(receipt.get("broke_tokens") or 0):
        told.append(words("world.receipt.broke.cost", count=anew))
    if deep := int(receipt.get("depth_tokens") or 0):
        told.append(words("world.receipt.depth", count=deep))
    for one in told:
        st.caption(escape_markdown(one))


def explain_cache_break(words: Words, part: str) -> str:
    """Returns in words which part of the prompt kept more from coming out of the provider's cache."""
    if not part:
        return words("world.receipt.whole")
    if match := _TURN.fullmatch(part):
        return words("world.receipt.edited", turn=int(match[2]))
    label = next((label for label, name in NAMES.items() if name == part), None)
    return words("world.receipt.broke", part=words(f"world.receipt.part.{label}") if label else part)
