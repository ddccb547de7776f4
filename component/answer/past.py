"""Past turns behind an answer: chips for those that the answer cites, and the window that shows all that were given,
with their scores, each to be opened in its conversation or never used again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from component.chat.jump import jump_to_turn
from component.page import window
from component.page.view import View
from component.widget.markdown import escape_markdown, sanitize_text, shorten_text
from component.widget.moment import find_reader_zone
from errors import SessionUnknown
from graph.context.past import read_item
from graph.tool.recall import TURNS
from store import TurnRow
from store.search.turn_index import PastTurn, TurnKey
from text.answer.cited_turn import MARKS

NAME = "past"
LABEL_CHARS = 60


def given_turns(turn: TurnRow) -> list[tuple[TurnKey, float]]:
    """Returns the past turns that the model was given for an answer, in the order of their marks, with their scores:
    those found for the question, then those that it looked up."""
    parts: Sequence[Mapping[str, Any]] = (turn.report or {}).get("parts", ())
    part: Mapping[str, Any] = next((part for part in parts if part["name"] == "turns"), {})
    recalled = (item for step in turn.steps for item in (step.get("artifact") or {}).get(TURNS, ()))
    return [read_item(str(item), turn.session_id) for item in (*part.get("items", ()), *recalled)]


def cited_marks(answer: str) -> set[int]:
    """Returns the numbers of the past turns that an answer names."""
    return {int(number) for match in MARKS.finditer(answer) for number in re.findall(r"\d+", match[1])}


def link_marks(turn: TurnRow, prose: str) -> str:
    """Returns prose of an answer in which the mark of a given turn links to its chip; a mark that names no given turn
    goes, because it is an invention."""
    count = len(given_turns(turn))

    def link_mark(found: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", found[1]) if 1 <= int(number) <= count]
        return ", ".join(rf"[\[T{number}\]](#{NAME}-{turn.number}-{number})" for number in numbers)

    return MARKS.sub(link_mark, prose) if count else prose


def draw_past(view: View, turn: TurnRow) -> None:
    """Draws a chip for every past turn that the answer cites; without one, a line that says how many were given."""
    given = given_turns(turn)
    if not given or not turn.answer:
        return
    cited = [number for number in sorted(cited_marks(turn.answer)) if 1 <= number <= len(given)]
    with st.container(key=f"past-{turn.number}", horizontal=True, vertical_alignment="center", gap="xsmall"):
        if not cited:
            name = "past.given.one" if len(given) == 1 else "past.given"
            label = f":material/history: {view.words(name, count=len(given))}"
            st.button(label, key=f"past-{turn.number}-0", type="tertiary", on_click=partial(_open_window, turn, 0))
            return
        st.caption(view.words("past.cited"), width="content")
        for number in cited:
            key, _ = given[number - 1]
            label = escape_markdown(shorten_text(f"[T{number}] {_find_turn_place(view, key)}", LABEL_CHARS))
            st.button(
                label, key=f"past-{turn.number}-{number}", type="tertiary", on_click=partial(_open_window, turn, number)
            )


def draw_past_button(view: View, turn: TurnRow, prefix: str = "") -> None:
    """Draws the button that opens all past turns that an answer was given, to look at or to use no more."""
    if given_turns(turn) and turn.answer:
        key = f"{prefix}past-look-{turn.number}"
        open_all = partial(_open_window, turn, 0)
        st.button(view.words("past.look"), key=key, icon=":material/history:", type="tertiary", on_click=open_all)


def _open_window(turn: TurnRow, number: int) -> None:
    window.open_page_window(NAME, (turn.session_id, turn.branch, turn.number, number))


def draw_past_window(view: View, about: tuple[str, int, int, int]) -> None:
    """Draws the window with the turns that an answer was given; ``about``: session, branch and number of the turn, and
    the mark of the turn to show alone (0: all). Closes the window when the page no longer shows this answer."""
    session, branch, turn_number, mark = about
    turn = view.store.turn(session, turn_number) if session == view.session_id else None
    given = given_turns(turn) if turn is not None and turn.branch == branch else []
    if not given or mark > len(given):
        window.close_page_window()
        return
    marks = [mark] if mark else [*range(1, len(given) + 1)]
    window.render_page_window(view.words("past.title"), lambda: _draw_given_turns(view, given, marks), width="large")


def _draw_given_turns(view: View, given: Sequence[tuple[TurnKey, float]], marks: Sequence[int]) -> None:
    st.caption(view.words("past.about"))
    for mark in marks:
        key, score = given[mark - 1]
        with st.container(key=f"past-turn-{mark}", border=True):
            _draw_past_turn(view, mark, key, score)


def _draw_past_turn(view: View, mark: int, key: TurnKey, score: float) -> None:
    words, turn = view.words, view.store.turn_index.text(key)
    if turn is None:
        st.caption(words("past.gone"))
        return
    st.markdown(escape_markdown(f"[T{mark}] {_find_turn_place(view, key, turn)}"))
    st.caption(escape_markdown(words("past.score", score=score)))
    lines = "".join(
        f"<p><b>{escape(words(f'exact.{speaker}'))}</b> {escape(sanitize_text(text))}</p>"
        for speaker, text in (("user", turn.question), ("assistant", turn.answer))
        if text
    )
    st.html(f'<div class="gieok-marked">{lines}</div>')
    with st.container(key=f"past-actions-{mark}", horizontal=True, vertical_alignment="center", gap="small"):
        session = view.store.session(key.session_id)
        if turn.key.number <= session.turn_count:
            go = (key.session_id, key.number, session.turn_count)
            st.button(
                words("past.open"),
                key=f"past-open-{mark}",
                icon=":material/arrow_forward:",
                on_click=jump_to_turn,
                args=go,
            )
        label = words("past.again" if turn.unused else "past.never")
        icon = ":material/undo:" if turn.unused else ":material/block:"
        change = partial(view.store.turn_index.set_unused, key, not turn.unused)
        st.button(label, key=f"past-never-{mark}", icon=icon, type="tertiary", on_click=change)
        if turn.unused:
            st.caption(words("past.unused"), width="content")


def _find_turn_place(view: View, key: TurnKey, turn: PastTurn | None = None) -> str:
    """Returns where a past turn stands: its conversation, its number and its day."""
    return _describe_place(view, turn or view.store.turn_index.text(key), _find_title(view, key.session_id))


def _describe_place(view: View, turn: PastTurn | None, title: str | None) -> str:
    """Returns where a turn stands; ``title``: of its conversation, None when that is gone."""
    if turn is None or title is None:
        return view.words("past.gone")
    number, day = turn.key.number, datetime.fromtimestamp(turn.at, find_reader_zone()).date().isoformat()
    if turn.key.session_id == view.session_id:
        return view.words("past.here", number=number, day=day)
    return view.words("past.elsewhere", title=title, number=number, day=day)


def _find_title(view: View, session_id: str) -> str | None:
    try:
        return view.store.session(session_id).title
    except SessionUnknown:
        return None


def list_places(view: View, items: Sequence[str]) -> list[str]:
    """Returns where the past turns of a report's items stand, each with its score; two statements for all of them, and
    one for each of their conversations."""
    found = [read_item(item, view.session_id or "") for item in items]
    turns = view.store.turn_index.texts([key for key, _ in found])
    titles = {session: _find_title(view, session) for session in {key.session_id for key, _ in found}}
    return [f"{_describe_place(view, turns.get(key), titles[key.session_id])} · {score:.2f}" for key, score in found]
