"""One step on the way to an answer: a tool call, or a summary that the turn waits for."""

from __future__ import annotations

import json
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from component.page.catalogue import Words
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from component.work.job import AnswerStep, read_sampled_calls

LABEL_CHARS = 60
RESULT_CHARS = 4000


def draw_step(words: Words, step: AnswerStep) -> None:
    """Draws a step as a folded box with its arguments and its result."""
    with st.status(format_step_label(words, step), state=_choose_step_state(step), type="step"):
        if step.arguments:
            _render_step_field(words("step.arguments"), json.dumps(step.arguments, ensure_ascii=False, indent=1))
        for asked, answered in step.sampled:
            _render_step_field(words("step.asked"), asked)
            _render_step_field(words("step.answered"), answered)
        if step.result:
            _render_step_field(words("step.result"), step.result)


def _choose_step_state(step: AnswerStep) -> Literal["running", "complete", "error"]:
    if step.result is None:
        return "running"
    return "complete" if step.ok else "error"


def format_step_label(words: Words, step: AnswerStep) -> str:
    """Returns one line of Markdown that names the step, its arguments and, once it has ended, its seconds."""
    if step.name == "summary_later":
        return escape_markdown(words("step.summary_later", first=step.turns[0], last=step.turns[-1]))
    if step.name == "summary":
        key = "step.summarising" if step.result is None else ("step.summarised" if step.ok else "step.summary_failed")
        text = words(key, first=step.turns[0], last=step.turns[-1])
    else:
        arguments = ", ".join(_format_step_argument(value) for value in step.arguments.values())
        name = words(f"tool.{step.name}") if f"tool.{step.name}" in words else step.name
        text = f"{name}: {arguments}" if arguments else name
    text = escape_markdown(shorten_text(text, LABEL_CHARS))
    if step.result is None:
        return f":shimmer[{text}]"
    return f"{text} :gray[· {step.seconds:.1f}{words('unit.second')}]"


def read_turn_steps(steps: list[dict[str, Any]]) -> list[AnswerStep]:
    """Returns the stored steps of a turn as ``AnswerStep`` objects."""
    return [
        AnswerStep(
            str(index),
            str(step.get("name", "")),
            step.get("arguments") or {},
            str(step.get("result") or ""),
            bool(step.get("ok", True)),
            float(step.get("seconds") or 0.0),
            sampled=read_sampled_calls(step.get("artifact")),
        )
        for index, step in enumerate(steps)
    ]


def _render_step_field(name: str, value: str) -> DeltaGenerator:
    st.caption(name)
    return st.code(sanitize_text(shorten_text(value, RESULT_CHARS)), language=None, wrap_lines=True)


def _format_step_argument(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
