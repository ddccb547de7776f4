"""The compression curve of the open conversation: its cost first, then the plot and the figures while they come."""

from __future__ import annotations

from functools import partial
from html import escape

import streamlit as st

from component.evaluation import side_work
from component.page.catalogue import Words
from component.page.view import View
from component.panel.summary_history import round_to_percent
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from component.work.side_call import SideCall
from evaluation import curve as drawn
from evaluation.curve import Curve, CurveCost, CurvePoint
from store import Session


def draw_curve(view: View, prefix: str = "") -> None:
    """Draws the field for the chunks, the cost, the button, and the curve as far as it is known."""
    words, session = view.words, view.session
    st.markdown(f"## {words('evaluation.curve')}", anchors=False)
    chunks = drawn.finished_chunks(session.turn_count) if session else []
    if session is None or not chunks:
        st.caption(words("evaluation.curve.none"))
        return
    st.caption(words("evaluation.curve.about"))
    most, key = len(chunks), f"{prefix}evaluation-chunks-{session.id}-{len(chunks)}"
    if most > 1:
        usual = min(drawn.MOST_CHUNKS, most)
        most = int(st.number_input(words("evaluation.curve.chunks", count=most), 1, most, usual, key=key))
    ready = view.status.models is not None
    if ready:
        st.caption(
            escape_markdown(_describe_curve_cost(words, drawn.estimate_curve_cost(view.agent, session.id, most)))
        )
    st.button(
        words("evaluation.curve.go"), key=f"{prefix}evaluation-curve-go", icon=":material/show_chart:",
        disabled=not ready or side_work.is_busy(session.id), on_click=partial(_start_curve, view, session, key, most),
    )  # fmt: skip
    side_work.draw_work(view, session.id, "curve", partial(_render_curve_call, words), prefix)


def _start_curve(view: View, session: Session, field: str, most: int) -> None:
    """Starts the curve over as many chunks as ``field`` says now, or over ``most`` when there is no such field."""
    agent, most = view.agent, int(st.session_state.get(field, most))

    def work(call: SideCall) -> Curve:
        def heard(curve: Curve) -> None:
            call.at = curve

        return drawn.measure_compression_curve(agent, session.id, most, stop=call.stop, heard=heard)

    side_work.start_side_work(session.id, "curve", work)


def _describe_curve_cost(words: Words, cost: CurveCost) -> str:
    """Returns in words what the curve will cost."""
    if not cost.calls:
        return words("evaluation.curve.free")
    parts = [words("evaluation.cost", calls=cost.calls, tokens=cost.tokens)]
    if cost.seconds is not None:
        parts.append(words("evaluation.cost.seconds", seconds=max(1, round(cost.seconds))))
    parts += [f"${cost.usd:.4f}"] if cost.usd else []
    return " · ".join(parts)


def _render_curve_call(words: Words, call: SideCall) -> None:
    curve = call.result or call.at
    if not call.done:
        done, steps = (curve.done, curve.steps) if curve else (0, 1)
        st.progress(done / steps, words("evaluation.curve.running", done=done, steps=steps if curve else "…"))
    if isinstance(curve, Curve) and curve.points:
        _render_curve(words, curve)
    if call.error is not None:
        draw_error(words, call.error)
    elif call.done and (curve is None or curve.stopped):
        st.caption(words("evaluation.stopped" if curve is None or not curve.points else "evaluation.curve.stopped"))


def _render_curve(words: Words, curve: Curve) -> None:
    st.html(render_curve_plot(words, curve.points) + render_curve_table(words, curve.points))
    turns = ", ".join(f"{first}-{last}" for first, last in curve.chunks)
    parts = [words("evaluation.curve.turns", turns=turns)]
    parts += [words("evaluation.curve.reused", count=curve.reused)] if curve.reused else []
    failed = sum(point.failed for point in curve.points)
    parts += [words("evaluation.curve.failed", count=failed)] if failed else []
    if curve.calls:
        parts.append(words("turn.tokens", prompt=curve.prompt_tokens, answer=curve.answer_tokens))
    parts.append(f"{curve.seconds:.1f}{words('unit.second')}")
    parts += [f"${curve.usd:.4f}"] if curve.usd else []
    st.caption(escape_markdown(" · ".join(parts)))


def render_curve_plot(words: Words, points: tuple[CurvePoint, ...]) -> str:
    """Returns the plot as HTML: for every rate a bar of the facts kept beside a striped bar of the length."""
    columns = "".join(
        f"<div><span>{_render_curve_bar('b', point.share)}{_render_curve_bar('u', point.length_share)}</span>"
        f"<small>{round_to_percent(point.rate)}%</small></div>"
        for point in points
    )
    kept, length = escape(words("evaluation.curve.kept")), escape(words("evaluation.curve.length"))
    label = escape(words("evaluation.curve.said"), quote=True)
    key = f'<p class="gieok-key gieok-curve-key"><b></b>{kept} <u></u>{length}</p>'
    return f'<div class="gieok-curve" role="img" aria-label="{label}">{columns}</div>{key}'


def _render_curve_bar(tag: str, share: float | None) -> str:
    """Returns a bar with its figure in per cent on top; nothing where there is none."""
    if share is None:
        return ""
    return f'<{tag} style="height:{100 * min(share, 1.0):.0f}%"><em>{100 * share:.0f}</em></{tag}>'


def render_curve_table(words: Words, points: tuple[CurvePoint, ...]) -> str:
    """Returns the figures of the plot as a table."""
    names = ("rate", "length", "tokens", "kept")
    head = "".join(f'<th scope="col">{escape(words(f"evaluation.curve.column.{name}"))}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{round_to_percent(point.rate)}%</th><td>{_format_point_length(point)}</td><td>'
        f"{point.tokens:,}</td>"
        f"<td>{_format_kept_facts(point)}</td></tr>"
        for point in points
    )
    return f'<table class="gieok-figures"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _format_point_length(point: CurvePoint) -> str:
    if point.length_share is None:
        return "–"
    return f"{point.length:,}<small>{100 * point.length_share:.0f}%</small>"


def _format_kept_facts(point: CurvePoint) -> str:
    if point.share is None:
        return "–"
    return f"{point.kept}/{point.told}<small>{100 * point.share:.0f}%</small>"
