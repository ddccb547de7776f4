"""The same question under other summaries, side by side; what it costs is said first, and nothing of it is kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from component import resource, window
from component.errand import Errand
from component.failure import draw_error
from component.markdown import fixed, plain
from component.prompt_bar import draw_prompt
from component.view import View
from errors import GieokError
from graph import compare
from graph.agent import Agent
from graph.compare import Answered, Variant

NAME = "comparison"
RUNNING = "comparison-running"
"""In session state: the keys of both sides, once they were asked for."""
BEAT = 0.4
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
Key = tuple[str, str, str, int | None, Variant]
CHOICES = (Variant(), Variant(full=True), *(Variant(rate=rate) for rate in RATES))


def draw_comparison(view: View, about: object = None) -> None:
    """The window; closing it ends what runs there."""
    session = view.session_id
    if session is None:
        window.shut()
        return
    window.draw(view.words("compare.title"), lambda: _draw(view, session), width="large", leave=_dismiss)


def draw_entry(view: View, prefix: str = "") -> None:
    """What a comparison is, and the button that opens it."""
    st.caption(view.words("compare.about"))
    usable = view.session is not None and view.session.turn_count > 0 and view.status.state == "ready"
    label = view.words("compare.open")
    st.button(
        label, key=f"{prefix}compare", icon=":material/compare:", on_click=window.ask, args=(NAME,), disabled=not usable
    )


def _draw(view: View, session: str) -> None:
    words = view.words
    text, turn = _asked(view, session)
    sides = [_choose(view, column, index) for index, column in enumerate(st.columns(2, gap="medium"))]
    if not text.strip():
        return
    try:
        st.caption(plain(_price(view, session, text, turn, sides)))
    except GieokError as error:
        draw_error(words, error)
        return
    keys = [("compare", session, text, turn, side) for side in sides]
    if st.session_state.get(RUNNING) not in (None, keys):  # another question, another side
        _dismiss()
    works = {key: _work(view.agent, session, text, turn, side) for key, side in zip(keys, sides, strict=True)}
    errands = [resource.errands().of(key) for key in keys if key in st.session_state.get(RUNNING, ())]
    with st.container(horizontal=True, key="compare-ways"):
        icon, busy = ":material/compare:", any(not each.done for each in errands if each)
        go = partial(_start, keys, works)
        st.button(words("compare.go"), key="compare-go", type="primary", icon=icon, on_click=go, disabled=busy)
        if busy:
            st.button(words("chat.stop"), key="compare-stop", icon=":material/stop_circle:", on_click=_stop)
    if any(errands):
        _follow(view, errands)


def _asked(view: View, session: str) -> tuple[str, int | None]:
    """The question, and the turn that it is asked in the place of; None for one of the user's own, asked at the end."""
    words, key, count = view.words, f"compare-turn-{session}", view.session.turn_count if view.session else 0
    if st.session_state.get(key, 0) > count:  # another version of the conversation is shorter
        del st.session_state[key]
    turn = int(st.number_input(words("compare.turn"), 1, count, count, key=key, width=190))
    row = view.store.turn(session, turn)
    asked = row.question if row else ""
    text = st.text_area(words("compare.question"), asked, key=f"compare-text-{session}-{turn}", height=80)
    same = text.strip() == asked.strip()
    st.caption(words("compare.then", turn=turn) if same else words("compare.last"))
    return text, turn if same else None


def _start(keys: list[Key], works: dict[Key, Callable[[Errand], Answered | None]]) -> None:
    _dismiss()
    st.session_state[RUNNING] = keys
    for key, work in works.items():
        resource.errands().start(key, work)


def _stop() -> None:
    """Ends both sides; what was said so far stays."""
    for key in st.session_state.get(RUNNING, ()):
        errand = resource.errands().of(key)
        if errand is not None:
            errand.stop.set()


def _dismiss() -> None:
    """Ends both sides and forgets them."""
    for key in st.session_state.pop(RUNNING, ()):
        resource.errands().dismiss(key)


def _choose(view: View, column: object, index: int) -> Variant:
    with column:  # type: ignore[attr-defined]
        chosen = st.selectbox(
            view.words("compare.side", side="AB"[index]),
            range(len(CHOICES)),
            index=index,
            format_func=lambda place: _name(view, CHOICES[place]),
            key=f"compare-side-{index}",
        )
    return CHOICES[chosen]


def _name(view: View, variant: Variant) -> str:
    if variant.full:
        return view.words("compare.full")
    return view.words("compare.now") if variant.rate is None else view.words("compare.rate", rate=f"{variant.rate:g}")


def _price(view: View, session: str, text: str, turn: int | None, sides: list[Variant]) -> str:
    """What both sides need, added up."""
    costs = [compare.cost(view.agent, session, text, side, turn) for side in sides]
    tokens = sum(cost.prompt_tokens + cost.summary_tokens for cost in costs)
    calls = len(sides) + sum(cost.summary_calls for cost in costs)
    prices = [cost.usd for cost in costs]
    said = view.words("compare.cost", tokens=tokens, calls=calls)
    return said if None in prices else f"{said} · ${sum(price or 0 for price in prices):.4f}"


def _work(
    agent: Agent, session: str, text: str, turn: int | None, side: Variant
) -> Callable[[Errand], Answered | None]:
    def work(errand: Errand) -> Answered | None:
        for piece in compare.answer(agent, session, text, side, errand.stop, turn):
            if isinstance(piece, Answered):
                return piece
            errand.text += piece
        return None

    return work


def _follow(view: View, errands: list[Errand | None]) -> None:
    """Both answers while they grow, then what each was given. The window's own widgets work meanwhile."""
    running = any(each is not None and not each.done for each in errands)

    @st.fragment(run_every=BEAT if running else None)
    def sides() -> None:
        for column, errand in zip(st.columns(2, gap="medium"), errands, strict=True):
            if errand is not None:
                with column:
                    _draw_side(view, errand)
        if running and all(each is None or each.done for each in errands):
            st.rerun()

    sides()


def _draw_side(view: View, errand: Errand) -> None:
    if errand.error is not None:
        draw_error(view.words, errand.error)
        return
    if errand.done and not errand.text:
        st.caption(view.words("compare.stopped"))
        return
    st.markdown(fixed(errand.text) if errand.text else f":shimmer[{view.words('live.thinking')}]")
    if errand.result is not None:
        draw_prompt(view.words, errand.result.report.plain())
