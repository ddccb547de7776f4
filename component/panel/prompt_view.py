"""One answer's prompt in full, in one closed box per part; the text is read from the record when a box is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from component.page.catalogue import Words
from component.page.view import View
from component.widget.failure import draw_error
from component.widget.markdown import sanitize_text
from errors import GieokError
from graph.context import exact_prompt
from graph.context.exact_prompt import Exact, PartText, PromptPiece
from store import TurnRow


def draw_exact(view: View, turn: TurnRow, prefix: str = "") -> None:
    """Draws the parts of an answered turn's prompt."""
    words, parts = view.words, exact_prompt.shown_parts(turn.report or {})
    st.caption(words("exact.about"))
    boxes = [
        (part, st.expander(_format_part_label(words, part), key=_build_part_key(turn, part, prefix), on_change="rerun"))
        for part in parts
    ]
    strict = {"name": "strict"} if (turn.report or {}).get("strict") else None
    sent = (
        st.expander(words("exact.strict"), key=_build_part_key(turn, strict, prefix), on_change="rerun")
        if strict
        else None
    )
    if not any(box.open for _, box in boxes) and not (sent and sent.open):
        return
    try:
        prompt = exact_prompt.rebuild_exact_prompt(view.agent, turn.session_id, turn.number)
    except GieokError as error:
        draw_error(words, error)
        return
    texts = {entry.name: entry for entry in prompt.parts}
    for part, box in boxes:
        if box.open:
            with box:
                _draw_part(words, texts[part["name"]])
    if sent and sent.open:
        with sent:
            st.caption(words("exact.strict.about"))
            _draw_pieces(words, prompt.sent)
    if prompt.whole:
        st.caption(_format_prompt_proof(words, prompt))


def _format_part_label(words: Words, part: Mapping[str, Any]) -> str:
    return words("exact.part", name=words(f"part.{part['name']}"), tokens=int(part["tokens"]))


def _build_part_key(turn: TurnRow, part: Mapping[str, Any], prefix: str) -> str:
    return f"{prefix}exact-{turn.session_id}-{turn.branch}-{turn.number}-{part['name']}"


def _format_prompt_proof(words: Words, found: Exact) -> str:
    if found.proven:
        return f":material/verified: {words('exact.proven')}"
    return f":material/info: {words('exact.unproven')}"


def _draw_part(words: Words, part: PartText) -> None:
    if part.missing:
        st.caption(f":material/info: {words('exact.missing.' + part.missing)}")
        return
    _draw_pieces(words, part.pieces)


def _draw_pieces(words: Words, pieces: Sequence[PromptPiece]) -> None:
    st.html(f'<div class="gieok-marked">{render_prompt_pieces(words, pieces)}</div>')


def render_prompt_pieces(words: Words, pieces: Sequence[PromptPiece]) -> str:
    """Returns the HTML of the pieces in order, the pieces of a turn under the turn's number. All text is escaped."""
    fragments, turn = [], 0
    for piece in pieces:
        if piece.turn and piece.turn != turn:
            turn = piece.turn
            fragments.append(f"<h4>{escape(words('exact.turn', number=turn))}</h4>")
        speaker = f"<b>{escape(words('exact.' + piece.speaker))}</b> " if piece.speaker else ""
        fragments.append(f"<p>{speaker}{escape(sanitize_text(piece.text))}</p>")
    return "".join(fragments)
