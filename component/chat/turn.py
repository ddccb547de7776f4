"""A turn that has ended: the question as typed, the steps, the answer, and how the turn ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from component.answer.action import draw_actions
from component.answer.citation import draw_sources, with_links
from component.answer.menu_link import render_offered_links
from component.answer.past import draw_past
from component.answer.step import draw_step, read_turn_steps
from component.answer.thought import draw_thought
from component.answer.turn_editor import is_editing_turn, open_turn_editor, render_answer_editor, render_question_editor
from component.chat.ask import draw_asks
from component.chat.file import draw_chips, list_waiting_files
from component.chat.question import draw_questions
from component.memory.answer_value import draw_memory_values
from component.memory.turn_change import draw_changes
from component.page.frame import MARK
from component.page.view import View
from component.widget.failure import draw_turn_error, retry_button
from component.widget.markdown import escape_markdown, sanitize_text
from errors import Interrupted
from memory.view.known import TurnChange
from store import TurnRow
from store.tree import Alternatives
from text.cut import cut_graphemes
from text.fence import list_frames, remove_frames

USER = ":material/person:"
QUESTION_CHARS = 4000
UNFINISHED = ("running", "waiting")
"""The states of a turn that cannot be edited yet."""


def draw_question(
    view: View,
    text: str,
    key: str,
    files: Sequence[Mapping[str, str]] = (),
    turn: int = 0,
    edited: TurnRow | None = None,
) -> None:
    """Draws the user's message as typed, without characters that turn the direction of text, and its files and
    what its client sent along below. ``edited``: the turn that the button beside the message edits, if it has one.

    A message of more than ``QUESTION_CHARS`` characters is folded.
    """
    with st.container(key=f"question-{key}"), st.chat_message("user", avatar=USER):
        _render_foldable_text(view, sanitize_text(remove_frames(text)), key)
        for name, sent in list_frames(text):
            with st.expander(view.words("turn.sent_along", name=escape_markdown(name))):
                st.text(sanitize_text(sent))
        draw_chips(view, files, key, turn)
        if edited is not None:
            st.button(
                "",
                key=f"edit-question-{key}",
                icon=":material/edit:",
                type="tertiary",
                help=view.words("turn.edit"),
                on_click=partial(open_turn_editor, edited),
                disabled=view.job is not None,
            )


def render_chat_turn(
    view: View,
    turn: TurnRow,
    last: bool,
    versions: Alternatives | None = None,
    changes: Sequence[TurnChange] = (),
    draw_notes: Callable[[], None] | None = None,
    given: Mapping[str, str] | None = None,
) -> None:
    """Draws a whole turn; ``last``: the user may retry it; ``versions``: its versions, None if there is only one;
    ``changes``: what it changed in memory; ``draw_notes``: what else is to be told of the answer; ``given``: the texts
    of memory that prompts got, by mark."""
    if is_editing_turn(turn, "question"):
        render_question_editor(view, turn)
    elif turn.number:  # 0 is a story's greeting
        edited = turn if turn.status not in UNFINISHED else None
        draw_question(view, turn.question, str(turn.number), turn.files, turn.number, edited)
    with st.container(key=f"answer-{turn.number}"), st.chat_message("assistant", avatar=MARK):
        draw_thought(view.words, turn)
        steps = read_turn_steps(turn.steps)
        if steps:
            with st.container(key=f"steps-{turn.number}", gap=None):
                for step in steps:
                    draw_step(view.words, step)
        if is_editing_turn(turn, "answer"):
            render_answer_editor(view, turn)
        elif turn.answer:
            st.markdown(with_links(turn))
        draw_sources(view, turn)
        draw_past(view, turn)
        draw_memory_values(view, turn, given or {})
        render_offered_links(view, turn)
        draw_asks(view, turn)
        draw_changes(view, changes)
        if draw_notes is not None:
            draw_notes()
        _render_turn_end(view, turn, last and not is_editing_turn(turn), versions)


def _render_turn_end(view: View, turn: TurnRow, last: bool, versions: Alternatives | None) -> None:
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
    tokens = (turn.usage or {}).get("cut_at")
    if turn.answer and tokens:
        st.caption(f":material/content_cut: {escape_markdown(view.words('turn.cut_off', tokens=tokens))}")
    if last and can_go_on(view, turn):
        icon, go_on = ":material/play_arrow:", partial(view.go_on, turn)
        st.button(view.words("turn.go_on"), key=f"go-on-{turn.number}", icon=icon, type="tertiary", on_click=go_on)
    if _without_memory(turn):
        st.caption(f":material/cloud_off: {escape_markdown(view.words('turn.memory_away'))}")
    if turn.pinned:
        st.caption(f":material/keep: {escape_markdown(view.words('turn.pinned', tokens=turn.tokens))}")
    if turn.status not in UNFINISHED:
        draw_actions(view, turn, _format_answer_facts(view, turn), versions)


def can_go_on(view: View, turn: TurnRow) -> bool:
    """Returns whether the last turn's answer broke off and can be gone on with at once: nothing else is to be sent
    before, and it is no scene of a story, in which the words would be the player's."""
    session = view.session
    if turn.status != "stopped" and not (turn.status == "done" and (turn.usage or {}).get("cut_at")):
        return False
    if not turn.answer or session is None or session.world or session.deleted is not None or view.job is not None:
        return False
    return not view.jobs.list_queued(session.id) and not list_waiting_files(view)


def _without_memory(turn: TurnRow) -> bool:
    """Returns whether the answer was generated while long-term memory could not be reached."""
    left_out = (turn.report or {}).get("left_out") or ()
    return bool(turn.answer) and any(part.get("reason") == "memory_away" for part in left_out)


def _format_answer_facts(view: View, turn: TurnRow) -> str:
    """Returns the time and the tokens of an answer as far as they are known; '' for a failed turn, and for the greeting
    of a story, which is nobody's answer."""
    words, usage = view.words, turn.usage or {}
    if turn.status == "failed" or (turn.given and not turn.number):
        return ""
    parts = [words("turn.stopped")] if turn.status == "stopped" else []
    if turn.given:
        parts.append(words("turn.given"))
    if turn.seconds is not None and not turn.given:
        parts.append(f"{turn.seconds:.1f}{words('unit.second')}")
    if prompt := usage.get("last_prompt_tokens") or usage.get("prompt_tokens"):  # each call of a tool sends it again
        about = "" if usage.get("exact", True) else "≈"
        parts.append(about + words("turn.tokens", prompt=prompt, answer=usage.get("answer_tokens", 0)))
    return escape_markdown(" · ".join(parts)) if parts else words("turn.done")


def _render_foldable_text(view: View, text: str, key: str) -> None:
    if len(text) <= QUESTION_CHARS:
        st.text(text)
        return
    name = f"whole-{view.session_id}-{key}"
    whole = bool(st.session_state.get(name))
    st.text(text if whole else cut_graphemes(text, QUESTION_CHARS) + "…")
    label = view.words("turn.fold") if whole else view.words("turn.unfold", size=len(text))
    st.button(label, key=f"fold-{key}", type="tertiary", on_click=partial(_store_fold_state, name, not whole))


def _store_fold_state(name: str, value: bool) -> None:
    st.session_state[name] = value
