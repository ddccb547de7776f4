"""«Would the memory help with this?»: the judge's ratings of a query, and beside them facts that need no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape

import streamlit as st

from component.evaluation import side_work
from component.evaluation.calibration import draw_calibration, draw_standing, standing_of
from component.memory.memory_change import find_memory_owner, render_notice
from component.page.catalogue import Words
from component.page.view import View
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from component.work.side_call import SideCall
from evaluation.judge.criterion import CRITERIA, TOP, Criterion, find_score_band
from evaluation.judge.judge import Rating
from evaluation.look import HeldFacts, MemoryInspection, inspect_memory, load_last_question
from evaluation.run import is_judge_trusted
from store import Session

QUERY_CHARS = 120
FACT_CHARS = 40


def draw_judgement(view: View, prefix: str = "") -> None:
    """Draws the field, the button and the last result."""
    words, session = view.words, view.session
    st.markdown(f"## {words('evaluation.judge')}", anchors=False)
    if session is None or not session.turn_count:
        st.caption(words("evaluation.none"))
        return
    st.caption(words("evaluation.judge.about"))
    last, key = load_last_question(view.store, session), f"{prefix}evaluation-query-{session.id}"
    st.text_area(words("evaluation.query"), placeholder=shorten_text(last, QUERY_CHARS), key=key, height=80)

    def start(*, judged: bool) -> None:
        typed = str(st.session_state.get(key) or "")  # arrives with the click when the user has just typed it
        _start_judgement(view, session, typed.strip() or last, judged=judged)

    _draw_buttons(view, session, start, prefix)
    side_work.draw_work(view, session.id, "judge", partial(_render_judgement_call, view, session), prefix)
    draw_calibration(view, session, prefix)


def _draw_buttons(view: View, session: Session, start: Callable[..., None], prefix: str) -> None:
    """Draws the button that asks the judge. A model that is too small for a judge is asked only by a button of its own;
    the first button then looks at the facts alone."""
    words, models = view.words, view.status.models
    idle = models is not None and view.job is None and not side_work.is_busy(session.id)
    may_judge = models is None or is_judge_trusted(models)
    if not may_judge:
        st.caption(f":material/info: {words('evaluation.small')}")
    with st.container(horizontal=True, key=f"{prefix}evaluation-judge-ways"):
        label = words("evaluation.judge.go" if may_judge else "evaluation.facts.go")
        st.button(
            label, key=f"{prefix}evaluation-judge-go", icon=":material/fact_check:", type="primary", disabled=not idle,
            on_click=partial(start, judged=may_judge),
        )  # fmt: skip
        if not may_judge:
            st.button(
                words("evaluation.judge.anyway"), key=f"{prefix}evaluation-judge-anyway", icon=":material/gavel:",
                disabled=not idle, on_click=partial(start, judged=True),
            )  # fmt: skip
    if view.job is not None:
        st.caption(words("evaluation.judge.later"))


def _start_judgement(view: View, session: Session, query: str, *, judged: bool) -> None:
    agent, mine = view.agent, find_memory_owner(view)

    def work(call: SideCall) -> MemoryInspection:
        return inspect_memory(agent, session, query, mine.look if mine else None, judged=judged, stop=call.stop)

    side_work.start_side_work(session.id, "judge", work)


def _render_judgement_call(view: View, session: Session, call: SideCall) -> None:
    words = view.words
    if not call.done:
        st.markdown(f":shimmer[{words('evaluation.judge.running')}]")
    elif call.error is not None:
        draw_error(words, call.error)
    elif isinstance(call.result, MemoryInspection):
        _draw_look(view, session, call.result)
    else:
        st.caption(words("evaluation.stopped"))


def _draw_look(view: View, session: Session, seen: MemoryInspection) -> None:
    words = view.words
    st.caption(escape_markdown(words("evaluation.asked", turn=seen.turn, query=shorten_text(seen.query, QUERY_CHARS))))
    if seen.judge:
        _draw_ratings(view, session, seen)
    if seen.failed is not None:
        draw_error(words, seen.failed)
    if seen.state == "there" and seen.waiting:
        turns = f"{seen.waiting[0]}-{seen.waiting[-1]}" if len(seen.waiting) > 1 else str(seen.waiting[0])
        st.caption(f":material/schedule: {words('evaluation.waiting', turns=turns)}")
    _draw_facts(words, seen.facts)


def _draw_ratings(view: View, session: Session, seen: MemoryInspection) -> None:
    words = view.words
    if not seen.trusted:
        render_notice(words("evaluation.small.scores"))
    draw_standing(words, standing_of(view, session, seen.judge), seen.judge)
    if seen.state == "off":
        st.caption(words("evaluation.off"))
    if seen.memory is not None:
        draw_rating(words, words("evaluation.row.memory"), seen.memory)
    if seen.prompt is not None:
        draw_rating(words, words("evaluation.row.prompt"), seen.prompt)


def draw_rating(words: Words, title: str, rating: Rating) -> None:
    """Draws one judgement: the overall score, a bar with band and reason for every criterion, what helps, what is
    missing, and the cost. A judgement without a score says why."""
    with st.container(border=True, gap="xsmall"):
        if rating.overall is None:
            st.markdown(f"**{escape_markdown(title)}**")
            st.markdown(f":orange[:material/help:] {escape_markdown(words('evaluation.unscored'))}")
            st.caption(escape_markdown(words("evaluation.unscored.why", why=_explain_missing_score(words, rating.why))))
            return
        score = f"<b>{_format_score(rating.overall)}</b><small> / 100</small>"
        st.html(f'<p class="gieok-overall"><span>{escape(title)}</span>{score}</p>{_render_score_list(words, rating)}')
        if rating.status == "empty":
            st.caption(words("evaluation.empty"))
            return
        if rating.summary:
            st.markdown(escape_markdown(rating.summary))
        if rating.differs:
            figures = {"stated": _format_score(rating.stated or 0.0), "overall": _format_score(rating.overall)}
            st.markdown(f":orange[:material/difference:] {escape_markdown(words('evaluation.differs', **figures))}")
        _render_titled_list(words("evaluation.helpful"), rating.helpful)
        _render_titled_list(words("evaluation.missing"), rating.missing)
        st.caption(
            escape_markdown(
                format_call_cost(words, rating.prompt_tokens, rating.answer_tokens, rating.seconds, rating.usd)
            )
        )


def _format_score(score: float) -> str:
    """Returns a score with one digit behind the point, where there is one."""
    return f"{round(score, 1):g}"


def format_call_cost(words: Words, prompt: int, answer: int, seconds: float, usd: float | None) -> str:
    """Returns tokens, seconds and, where the price is known, money in words."""
    parts = [words("turn.tokens", prompt=prompt, answer=answer), f"{seconds:.1f}{words('unit.second')}"]
    return " · ".join([*parts, f"${usd:.4f}"] if usd else parts)


def _explain_missing_score(words: Words, why: str) -> str:
    """Returns why a judgement has no score: the call failed with an error code, or what was wrong with the reply."""
    if f"error.{why}" in words:
        return words("evaluation.unscored.call", code=why)
    return words("evaluation.unscored.no_json") if why == "no JSON" else why


def _render_score_list(words: Words, rating: Rating) -> str:
    rows = "".join(
        _render_score_item(words, name, rating.scores[name], rating.reasons.get(name, "")) for name in CRITERIA
    )
    return f'<ul class="gieok-scores">{rows}</ul>'


def _render_score_item(words: Words, name: Criterion, score: float, reason: str) -> str:
    label, number = words(f"evaluation.{name}"), find_score_band(name, score)
    meter = (
        f'<span role="meter" aria-valuemin="0" aria-valuemax="{TOP:g}" aria-valuenow="{score:g}" '
        f'aria-label="{escape(label, quote=True)}"><i class="band-{number}" style="width:{100 * score / TOP:.0f}%"></i>'
        "</span>"
    )
    told = f'<p class="gieok-why">{escape(sanitize_text(reason))}</p>' if reason else ""
    return (
        f"<li><div><span>{escape(label)}</span><b>{score:g}</b></div>{meter}"
        f"<small>{escape(words(f'evaluation.{name}.{number}'))}</small>{told}</li>"
    )


def _render_titled_list(title: str, items: Sequence[str]) -> None:
    if items:
        st.caption(escape_markdown(title))
        st.markdown("\n".join(f"- {escape_markdown(item)}" for item in items))


def _draw_facts(words: Words, rows: Sequence[HeldFacts]) -> None:
    """Draws for every place the share of the user's facts that stand there, and the first of those that do not."""
    st.markdown(f"**{words('evaluation.facts')}**")
    if not rows or not rows[0].told:
        st.caption(words("evaluation.facts.none"))
        return
    st.caption(words("evaluation.facts.about", count=rows[0].told))
    st.html(f'<ul class="gieok-scores">{"".join(_render_fact_share(words, row) for row in rows)}</ul>')


def _render_fact_share(words: Words, row: HeldFacts) -> str:
    label, percent = words(f"evaluation.row.{row.place}"), 100 * row.kept / row.told
    meter = (
        f'<span role="meter" aria-valuemin="0" aria-valuemax="{row.told}" aria-valuenow="{row.kept}" '
        f'aria-label="{escape(label, quote=True)}"><i style="width:{percent:.0f}%"></i></span>'
    )
    missing = row.told - row.kept
    named = ", ".join(shorten_text(lost, FACT_CHARS) for lost in row.lost)
    more = missing - len(row.lost)
    told = words("summary.lost.more", facts=named, count=more) if more else named
    sentence = escape(sanitize_text(words("evaluation.facts.lost", facts=told)))
    lost = f'<p class="gieok-why">{sentence}</p>' if missing else ""
    return (
        f"<li><div><span>{escape(label)}</span><b>{percent:.0f}%</b><small>{row.kept}/{row.told}</small></div>"
        f"{meter}{lost}</li>"
    )
