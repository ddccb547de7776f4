"""A turn that has ended: the question as typed, the steps, the answer, and how the turn ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from component.answer.action import draw_actions, draw_editor, editing
from component.answer.citation import draw_sources, with_links
from component.answer.menu_link import draw_menu
from component.answer.past import draw_past
from component.answer.step import draw_step, of_turn
from component.answer.thought import draw_thought
from component.chat.ask import draw_asks
from component.chat.file import draw_chips
from component.chat.question import draw_questions
from component.memory.turn_change import draw_changes
from component.page.frame import MARK
from component.page.view import View
from component.widget.failure import draw_turn_error, retry_button
from component.widget.markdown import plain, shown
from errors import Interrupted
from memory.known import TurnChange
from store import Turn
from store.tree import Alternatives
from text.cut import cut_graphemes
from text.fence import list_frames, unframed

USER = ":material/person:"
QUESTION_CHARS = 4000


def draw_question(view: View, text: str, key: str, files: Sequence[Mapping[str, str]] = (), turn: int = 0) -> None:
    """Draws the user's message as typed, without characters that turn the direction of text, and its files and
    what its client sent along below.

    A message of more than ``QUESTION_CHARS`` characters is folded.
    """
    with st.container(key=f"question-{key}"), st.chat_message("user", avatar=USER):
        _long(view, shown(unframed(text)), key)
        for name, sent in list_frames(text):
            with st.expander(view.words("turn.sent_along", name=plain(name))):
                st.text(shown(sent))
        draw_chips(view, files, key, turn)


def draw_turn(
    view: View,
    turn: Turn,
    last: bool,
    versions: Alternatives | None = None,
    changes: Sequence[TurnChange] = (),
) -> None:
    """Draws a whole turn; ``last``: the user may retry it; ``versions``: its versions, None if there is only one;
    ``changes``: what it changed in memory."""
    if editing(turn):
        draw_editor(view, turn)
    else:
        draw_question(view, turn.question, str(turn.number), turn.files, turn.number)
    with st.container(key=f"answer-{turn.number}"), st.chat_message("assistant", avatar=MARK):
        draw_thought(view.words, turn)
        steps = of_turn(turn.steps)
        if steps:
            with st.container(key=f"steps-{turn.number}", gap=None):
                for step in steps:
                    draw_step(view.words, step)
        if turn.answer:
            st.markdown(with_links(turn))
        draw_sources(view, turn)
        draw_past(view, turn)
        draw_menu(view, turn)
        draw_asks(view, turn)
        draw_changes(view, changes)
        _draw_end(view, turn, last and not editing(turn), versions)


def _draw_end(view: View, turn: Turn, last: bool, versions: Alternatives | None) -> None:
    again = partial(view.retry, turn)
    if turn.answer and turn.status in ("failed", "running"):
        st.caption(view.words("turn.partial"))
    if turn.status == "failed":
        error = turn.error or {}
        draw_turn_error(view.words, error)
        if last:
            retry_button(view.words("chat.retry"), f"retry-{turn.number}", again, bool(error.get("retryable")))
    elif turn.status == "waiting" and last:
        draw_questions(view, turn)
    elif turn.status == "running":
        cut_off = Interrupted(turn=turn.number)
        draw_turn_error(view.words, {"code": cut_off.code, "message": cut_off.text(), "values": cut_off.values})
        if last:
            retry_button(view.words("chat.resume"), f"retry-{turn.number}", again)
    if turn.answer and (tokens := (turn.usage or {}).get("cut_at")):
        st.caption(f":material/content_cut: {plain(view.words('turn.cut_off', tokens=tokens))}")
    if _without_memory(turn):
        st.caption(f":material/cloud_off: {plain(view.words('turn.memory_away'))}")
    if turn.pinned:
        st.caption(f":material/keep: {plain(view.words('turn.pinned', tokens=turn.tokens))}")
    if turn.status not in ("running", "waiting"):
        draw_actions(view, turn, _facts(view, turn), versions)


def _without_memory(turn: Turn) -> bool:
    """Returns whether the answer was generated while long-term memory could not be reached."""
    left_out = (turn.report or {}).get("left_out") or ()
    return bool(turn.answer) and any(part.get("reason") == "memory_away" for part in left_out)


def _facts(view: View, turn: Turn) -> str:
    """Returns the time and the tokens of an answer as far as they are known; '' for a failed turn."""
    words, usage = view.words, turn.usage or {}
    if turn.status == "failed":
        return ""
    parts = [words("turn.stopped")] if turn.status == "stopped" else []
    if turn.seconds is not None:
        parts.append(f"{turn.seconds:.1f}{words('unit.second')}")
    if prompt := usage.get("last_prompt_tokens") or usage.get("prompt_tokens"):  # each call of a tool sends it again
        about = "" if usage.get("exact", True) else "≈"
        parts.append(about + words("turn.tokens", prompt=prompt, answer=usage.get("answer_tokens", 0)))
    return plain(" · ".join(parts)) if parts else words("turn.done")


def _long(view: View, text: str, key: str) -> None:
    if len(text) <= QUESTION_CHARS:
        st.text(text)
        return
    name = f"whole-{view.session_id}-{key}"
    whole = bool(st.session_state.get(name))
    st.text(text if whole else cut_graphemes(text, QUESTION_CHARS) + "…")
    label = view.words("turn.fold") if whole else view.words("turn.unfold", size=len(text))
    st.button(label, key=f"fold-{key}", type="tertiary", on_click=partial(_set, name, not whole))


def _set(name: str, value: bool) -> None:
    st.session_state[name] = value
