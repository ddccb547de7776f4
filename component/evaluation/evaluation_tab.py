"""The tab that tests the memory: a judge for a question, a scenario, and the compression curve of the conversation."""

from __future__ import annotations

import streamlit as st

from component.evaluation import side_work
from component.evaluation.curve_section import draw_curve
from component.evaluation.judgement import draw_judgement
from component.evaluation.scenario_section import draw_scenario
from component.page.view import View


def draw_evaluation(view: View, prefix: str = "") -> None:
    """Draws the tab; draws it anew when a piece of work has ended meanwhile, since its buttons are still disabled."""
    session = view.session_id or ""
    was_busy = side_work.is_busy(session)
    draw_judgement(view, prefix)
    draw_curve(view, prefix)
    draw_scenario(view, prefix)
    if was_busy and not side_work.is_busy(session):
        st.rerun()
