"""The map of a long conversation: a narrow column of marks beside its turns, each for one turn or for several.

The marks say what the last answer was given of these turns (its report): word for word, found again by the search, as
a summary, or nothing. A press goes to the first of them. There are at most ``MOST`` marks, and one query reads how
their turns begin, however long the conversation is. ``minimap.js`` draws them and marks those in sight.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from component.answer.past import given_turns
from component.chat.jump import jump_to_turn
from component.page.view import View
from component.widget.markdown import sanitize_text, shorten_text
from graph.context.report import read_turn_range
from store import Session, TurnRow
from text.clean import collapse_spaces

KEY = "minimap-component"
LEAST = 8
"""Turns below which a conversation is seen at a glance anyway."""
MOST = 40
LABEL_CHARS = 40
GivenAs = Literal["raw", "found", "summary", "none", "plain"]
_KINDS: dict[str, GivenAs] = {"recent": "raw", "short": "raw", "pinned": "raw", "summaries": "summary"}
"""How the turns of a part of the prompt are given, by the part's name (``graph.context.report.PartName``)."""

_component = st.components.v2.component(
    "gieok_minimap", js=Path(__file__).with_suffix(".js").read_text("utf-8"), isolate_styles=False
)


@dataclass(frozen=True, slots=True)
class MapMark:
    """A mark, as the browser gets it. ``first``, ``last``: its turns; ``kind``: the most that the last answer was given
    of one of them, ``plain`` where that is not known; ``label``: how the first of them begins."""

    first: int
    last: int
    kind: GivenAs
    label: str


def draw_minimap(view: View, turns: Sequence[TurnRow]) -> None:
    """Draws the map where it is called; its place is there in a short conversation, too. ``turns``: the last ones. In a
    story nothing is said of what an answer was given: its prompt is its world's."""
    session, words = view.session, view.words
    with st.container(key="minimap"):
        if session is None or session.turn_count < LEAST:
            st.empty()
            return
        answered = next((turn for turn in reversed(turns) if turn.report and not session.world), None)
        data = {
            "marks": [astuple(mark) for mark in build_map_marks(view, session, answered)],
            "words": {
                "title": words("map.title" if answered else "map.title.plain"),
                "one": words("map.one", number="{number}"),
                "several": words("map.several", first="{first}", last="{last}"),
            }
            | {kind: words(f"map.{kind}") for kind in ("raw", "found", "summary", "none")}
            | {"plain": ""},
        }
        _component(
            key=KEY,
            data=json.dumps(data, ensure_ascii=False).encode(),  # as a dict, every Korean letter would cost six bytes
            on_chosen_change=partial(_go_to_mark, session),
        )


def build_map_marks(view: View, session: Session, answered: TurnRow | None) -> list[MapMark]:
    """Returns the marks of a conversation, the oldest first. ``answered``: the last turn with a report."""
    ranges = list(split_turns(max(1, session.path[0][1]), session.turn_count))
    starts = view.store.question_heads(session.id, [first for first, _ in ranges], LABEL_CHARS + 1)
    given = read_given_turns(answered) if answered else {}
    marks = []
    for first, last in ranges:
        label = shorten_text(collapse_spaces(sanitize_text(starts.get(first, ""))), LABEL_CHARS)
        kind: GivenAs = "plain"
        if answered and first <= answered.number:
            kind = next((each for each, turns in given.items() if not turns.isdisjoint(range(first, last + 1))), "none")
        marks.append(MapMark(first, last, kind, label))
    return marks


def split_turns(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yields the ranges of turns that a mark stands for, at most ``MOST``, of nearly the same size."""
    count = last - first + 1
    marks = min(count, MOST)
    for at in range(marks):
        yield first + at * count // marks, first + (at + 1) * count // marks - 1


def read_given_turns(turn: TurnRow) -> dict[GivenAs, set[int]]:
    """Returns the turns of its conversation that the answer of a turn was given, by how it was, the most first."""
    given: dict[GivenAs, set[int]] = {"raw": {turn.number}, "found": set(), "summary": set()}
    for part in (turn.report or {}).get("parts") or ():
        kind = _KINDS.get(str(part.get("name")))
        if kind is not None:
            items = map(str, part.get("items") or ())
            given[kind].update(number for item in items for number in read_turn_range(item, turn.number))
    given["found"].update(key.number for key, _ in given_turns(turn) if key.session_id == turn.session_id)
    return given


def _go_to_mark(session: Session) -> None:
    chosen: Any = dict(st.session_state.get(KEY) or {}).get("chosen")
    number = int((chosen or {}).get("turn") or 0)
    if 1 <= number <= session.turn_count:
        jump_to_turn(session.id, number, session.turn_count)
