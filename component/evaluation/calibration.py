"""The calibration of the judge: how it did on memories whose scores are known, and the button that runs it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.evaluation import side_work
from component.page.catalogue import Words
from component.page.view import View
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown, shorten_text
from component.work.side_call import SideCall
from errors import GieokError
from evaluation.judge import calibration
from evaluation.judge.calibration import Calibration, CalibrationRow, Standing
from evaluation.judge.judge import PROMPT
from model.embedded.catalogue import show_name
from model.modelset import ModelSet
from model.price import price_side_calls
from prompt import render_prompt
from store import Session
from text.language import Language

REPLY_TOKENS = 200
"""Tokens of one judgement, estimated."""
MEMORY_CHARS, WRONG_SHOWN = 60, 5
_MARKS: dict[Standing, str] = {
    "passed": ":green[:material/check_circle:]",
    "failed": ":red[:material/cancel:]",
    "unknown": ":gray[:material/help:]",
}


def standing_of(view: View, session: Session, judge: str) -> Standing:
    """Returns how the model of that name did in its calibration; unknown for one that is no longer in use."""
    models = view.status.models
    if models is None or models.side_name != judge:
        return "unknown"
    return calibration.classify_judge_standing(_load_judge_calibration(view, models, session.language))


def draw_standing(words: Words, standing: Standing, judge: str) -> None:
    """Draws how the judge did, with the mark that its scores carry."""
    name = show_name(judge)
    st.markdown(f"{_MARKS[standing]} {escape_markdown(words(f'evaluation.standing.{standing}', name=name))}")


def draw_calibration(view: View, session: Session, prefix: str = "") -> None:
    """Draws, in a box that opens, how the judge did, what a calibration costs, and the button that runs it."""
    words, models = view.words, view.status.models
    if models is None:
        return
    with st.expander(words("evaluation.calibration"), key=f"{prefix}evaluation-calibration", on_change="rerun") as box:
        if not box.open:
            return
        st.caption(words("evaluation.calibration.about"))
        known = _load_judge_calibration(view, models, session.language)
        draw_standing(words, calibration.classify_judge_standing(known), models.side_name)
        if known is not None:
            _render_wrong_rows(words, known)
        st.caption(escape_markdown(_describe_calibration_cost(words, models, session.language)))
        st.button(
            words("evaluation.calibration.go"), key=f"{prefix}evaluation-calibration-go", icon=":material/straighten:",
            disabled=side_work.is_busy(session.id), on_click=partial(_start_calibration, view, session, models),
        )  # fmt: skip
        side_work.draw_work(view, session.id, "calibration", partial(_render_calibration_call, words), prefix)


def _load_judge_calibration(view: View, models: ModelSet, language: Language) -> Calibration | None:
    return calibration.load_calibration(view.agent.settings.data_dir, models, language)


def _start_calibration(view: View, session: Session, models: ModelSet) -> None:
    folder = view.agent.settings.data_dir

    def work(call: SideCall) -> Calibration:
        def progress(done: int, steps: int) -> None:
            call.at = done, steps

        found = calibration.calibrate_judge(models, session.language, call.stop, progress)
        calibration.save_calibration(folder, found)
        return found

    side_work.start_side_work(session.id, "calibration", work)


def _describe_calibration_cost(words: Words, models: ModelSet, language: Language) -> str:
    """Returns in words what a calibration costs; rows with an empty memory are not sent."""
    asked = [row for row in calibration.load_calibration_rows(language) if row.memory.strip() or row.entities.strip()]
    prompt = sum(models.count(_build_calibration_prompt(row, language)) for row in asked)
    answer = len(asked) * REPLY_TOKENS
    price = price_side_calls(models, prompt, answer)
    said = words("evaluation.cost", calls=len(asked), tokens=prompt + answer)
    return f"{said} · ${price:.4f}" if price else said


def _build_calibration_prompt(row: CalibrationRow, language: Language) -> str:
    return render_prompt(PROMPT, language, query=row.query, memory=row.memory, entities=row.entities)


def _render_calibration_call(words: Words, call: SideCall) -> None:
    if not call.done:
        done, steps = call.at or (0, 1)
        st.progress(done / steps, words("evaluation.calibration.running", done=done, steps=steps))
    elif isinstance(call.error, GieokError):
        draw_error(words, call.error)
    elif isinstance(call.result, Calibration) and call.result.broken_off:
        st.caption(escape_markdown(words("evaluation.calibration.broken_off", code=call.result.broken_off)))
    elif call.result is None:
        st.caption(words("evaluation.stopped"))


def _render_wrong_rows(words: Words, known: Calibration) -> None:
    """Draws the first rows that are off by too much or have no score, and how many groups are in the wrong order."""
    wrong = [row for row in known.rows if row.off is None or row.off > calibration.MOST_OFF]
    lines = [_format_calibration_row(words, row) for row in wrong[:WRONG_SHOWN]]
    if len(wrong) > WRONG_SHOWN:
        lines.append(words("evaluation.calibration.more", count=len(wrong) - WRONG_SHOWN))
    if known.wrong_orders:
        lines.append(words("evaluation.calibration.orders", count=len(known.wrong_orders)))
    if lines:
        st.markdown("\n".join(f"- {escape_markdown(line)}" for line in lines))


def _format_calibration_row(words: Words, row: CalibrationRow) -> str:
    given = "–" if row.given is None else f"{row.given:g}"
    memory, label = shorten_text(row.memory or "–", MEMORY_CHARS), words(f"evaluation.{row.criterion}")
    return words("evaluation.calibration.row", memory=memory, label=label, expected=f"{row.expected:g}", given=given)
