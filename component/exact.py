"""One answer's prompt in full: each part under its name, folded, and read from the record only when it is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from component.catalogue import Words
from component.failure import draw_error
from component.markdown import shown
from component.view import View
from errors import GieokError
from graph import exact
from graph.exact import Exact, PartText, Piece
from store import Turn


def draw_exact(view: View, turn: Turn, prefix: str = "") -> None:
    """The parts of the prompt of an answered turn."""
    words, parts = view.words, [each for each in (turn.report or {})["parts"] if each["tokens"] > 0]
    st.caption(words("exact.about"))
    boxes = [
        (part, st.expander(_label(words, part), key=_key(turn, part, prefix), on_change="rerun")) for part in parts
    ]
    if not any(box.open for _, box in boxes):
        return
    try:
        found = exact.exact(view.agent, turn.session_id, turn.number)
    except GieokError as error:
        draw_error(words, error)
        return
    texts = {each.name: each for each in found.parts}
    for part, box in boxes:
        if box.open:
            with box:
                _draw_part(words, texts[part["name"]])
    if not any(each.missing for each in found.parts):
        st.caption(_proof(words, found))


def _label(words: Words, part: Mapping[str, Any]) -> str:
    return words("exact.part", name=words(f"part.{part['name']}"), tokens=int(part["tokens"]))


def _key(turn: Turn, part: Mapping[str, Any], prefix: str) -> str:
    return f"{prefix}exact-{turn.session_id}-{turn.branch}-{turn.number}-{part['name']}"


def _proof(words: Words, found: Exact) -> str:
    if found.proven:
        return f":material/verified: {words('exact.proven')}"
    return f":material/info: {words('exact.unproven')}"


def _draw_part(words: Words, part: PartText) -> None:
    if part.missing:
        st.caption(f":material/info: {words('exact.missing.' + part.missing)}")
        return
    st.html(f'<div class="gieok-marked">{html(words, part.pieces)}</div>')


def html(words: Words, pieces: Sequence[Piece]) -> str:
    """The pieces one after the other, each turn under its number. All text is escaped."""
    said, turn = [], 0
    for piece in pieces:
        if piece.turn and piece.turn != turn:
            turn = piece.turn
            said.append(f"<h4>{escape(words('exact.turn', number=turn))}</h4>")
        speaker = f"<b>{escape(words('exact.' + piece.speaker))}</b> " if piece.speaker else ""
        said.append(f"<p>{speaker}{escape(shown(piece.text))}</p>")
    return "".join(said)
