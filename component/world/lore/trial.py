"""Trying a message before it is played: which entries of the lorebook its prompt would have, and why."""

from __future__ import annotations

from typing import Any

import streamlit as st

from component.page.catalogue import Words
from component.widget.failure import render_raised_error
from component.widget.markdown import escape_markdown
from component.world.view import WorldView
from world.turn.play import preview_message

MOST_CHARS = 4000
ICONS = {
    "in": ":green[:material/check:]",
    "rule": ":orange[:material/block:]",
    "budget": ":orange[:material/straighten:]",
}


def draw_trial(shown: WorldView, prefix: str = "") -> None:
    """Draws the field for a message, and what its prompt would have of the lorebook."""
    words, key = shown.view.words, f"{prefix}world-trial-{shown.world.id}"
    with st.expander(words("world.trial"), icon=":material/experiment:"):
        with st.form(key=f"{key}-form", border=False):
            text = st.text_area(
                words("world.trial.text"), key=f"{key}-text", height=80, max_chars=MOST_CHARS,
                placeholder=words("world.trial.text"), label_visibility="collapsed",
            )  # fmt: skip
            st.form_submit_button(words("world.trial.go"), key=f"{key}-go", icon=":material/search:")
        if text and text.strip():
            with render_raised_error(words):
                report = preview_message(shown.engine, shown.world.id, shown.node, text)
                _draw_found(words, report["lore"], shown.engine.settings.world_budget_lore)


def _draw_found(words: Words, lore: dict[str, Any], budget: int) -> None:
    tokens = sum(int(one["tokens"]) for one in lore["in"])
    budget += int(lore.get("constant_budget", 0))
    st.caption(escape_markdown(words("world.trial.found", count=len(lore["in"]), tokens=tokens, budget=budget)))
    rows = [{**one, "reason": "in"} for one in lore["in"]] + list(lore["out"])
    lines = [_format_trial_row(words, row) for row in rows]
    rest = int(lore["counts"].get("no candidate", 0))
    if rest:
        lines.append(f":small[:gray[{escape_markdown(words('world.trial.rest', count=rest))}]]")
    st.markdown("\n\n".join(lines))


def _format_trial_row(words: Words, row: dict[str, Any]) -> str:
    icon = ICONS.get(row["reason"], ":gray[:material/remove:]")
    tokens = f" · {words('world.trial.tokens', count=row['tokens'])}" if "tokens" in row else ""
    return (
        f"{icon} **{escape_markdown(row['keyword'])}**  \n:small["
        f"{escape_markdown(tell_reason(words, row, tried=True) + tokens)}]"
    )


def tell_reason(words: Words, row: dict[str, Any], *, tried: bool = False) -> str:
    """Returns why an entry was in a prompt or not, what its rule says of it, and what its score is the sum of.
    ``tried``: the prompt is of a message that nobody has sent."""
    parts = [words("world.trial.in" if tried and row["reason"] == "in" else f"world.lore.reason.{row['reason']}")]
    parts += [words("world.lore.stands", turn=row["stands"])] if "stands" in row else []
    rule = row.get("rule") or {}
    if "how" in rule:
        parts.append(words(f"world.rule.how.{rule['how']}", word=rule.get("key", "")))
        parts += [words("world.rule.second", word=rule["second"])] if rule.get("second") else []
        parts += [words("world.rule.step", step=rule["step"])] if rule.get("step") else []
    elif "hindrance" in rule:
        parts += [words("world.rule.found", word=rule["key"])] if rule.get("key") else []
        parts.append(words(f"world.rule.hindrance.{rule['hindrance']}", detail=rule.get("detail", "")))
    if depth := row.get("depth"):
        there = "world.rule.depth.there" if depth["stands"] == depth["asked"] else "world.rule.depth"
        parts.append(words("world.rule.last" if depth["stands"] == 0 else there, asked=depth["asked"]))
    if "score" in row:
        sums = row.get("parts", {}).items()
        told = " + ".join(f"{words(f'world.lore.part.{part}')} {value:g}" for part, value in sums)
        parts.append(words("world.lore.score", score=f"{row['score']:g}", parts=told or "0"))
    return " · ".join(parts)
