"""Questions of a turn that the user must confirm: keep this value in memory, or forget these lines?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.catalogue import Words
from component.page.view import View, try_page_action
from component.widget.markdown import escape_markdown, shorten_text
from component.work import resource
from graph.tool.question.ask import Ask, Forget, KeptValue, read_memory_ask
from graph.turn.memory.confirm import CLOSED, open_asks
from store import TurnRow

LINE_CHARS = 300


def draw_asks(view: View, turn: TurnRow) -> None:
    """Draws the questions under an answer, one below the other; an answered question shows the decision."""
    if turn.status not in CLOSED:
        return
    for place, step in enumerate(turn.steps):
        ask = read_memory_ask(step.get("artifact"))
        if ask is not None:
            _render_ask(view, turn, ask, str(step["call"]), f"{turn.number}-{place}")


def answer_typed(view: View, text: str) -> bool:
    """Answers the open question of the last turn when ``text`` is the label of its yes or no button.

    Returns whether it did; otherwise the message is for the model. The model also gets a bare yes or no while two
    questions are open, and a bare yes while the user has ticked no line.
    """
    session, yes = view.session, _read_typed_decision(view.words, text)
    if session is None or view.job is not None or yes is None:
        return False
    turn = view.store.turn(session.id, session.turn_count)
    asks = open_asks(turn) if turn is not None else []
    if turn is None or len(asks) != 1:
        return False
    call, ask = asks[0]
    return _answer_ask(turn, ask, call, yes)


def _read_typed_decision(words: Words, text: str) -> bool | None:
    """Returns True for the label of the yes button, False for that of the no button, None for any other text."""
    decisions = {words(f"ask.{name}").casefold(): yes for name, yes in (("yes", True), ("no", False))}
    return decisions.get(text.strip().casefold())


def _list_ticked_lines(turn: TurnRow, ask: Ask, call: str) -> list[str] | None:
    """Returns the lines to forget: the ticked ones if the user picks among them, otherwise all. None for a value to
    remember."""
    if ask["tool"] != "forget":
        return None
    lines = ask["arguments"]["lines"]
    if not ask["arguments"].get("pick"):
        return lines
    place = next(index for index, step in enumerate(turn.steps) if step.get("call") == call)
    key = f"{turn.session_id}-{turn.branch}-{turn.number}-{place}"
    return [line for index, line in enumerate(lines) if st.session_state.get(_build_checkbox_key(key, index))]


def _render_ask(view: View, turn: TurnRow, ask: Ask, call: str, key: str) -> None:
    is_open = ask["answer"] is None
    with st.container(key=f"ask-{'open' if is_open else 'closed'}-{key}", gap="xsmall"):
        if not is_open:
            st.caption(_format_ask_decision(view.words, ask))
            return
        st.markdown(_format_ask(view.words, ask))
        if ask["tool"] == "forget":
            _draw_lines(ask, f"{turn.session_id}-{turn.branch}-{key}")
        with st.container(horizontal=True, gap="xsmall"):
            _draw_answers(view, turn, ask, call, key)


def _draw_answers(view: View, turn: TurnRow, ask: Ask, call: str, key: str) -> None:
    """Draws the yes and no buttons; both are disabled while the session answers, yes also while no line is chosen."""
    words, busy, none = view.words, view.job is not None, _list_ticked_lines(turn, ask, call) == []
    for yes, name, icon in ((True, "yes", "check"), (False, "no", "close")):
        st.button(
            words(f"ask.{name}"),
            key=f"ask-{name}-{key}",
            icon=f":material/{icon}:",
            on_click=_answer_pressed_ask,
            args=(turn, ask, call, yes),
            disabled=busy or (yes and none),
        )


def _draw_lines(ask: Forget, key: str) -> None:
    """Draws the lines in question, with checkboxes if the user picks among them."""
    lines = ask["arguments"]["lines"]
    if not ask["arguments"].get("pick"):
        st.markdown("\n".join(f"- {_format_ask_line(line)}" for line in lines))
        return
    for index, line in enumerate(lines):
        st.checkbox(_format_ask_line(line), key=_build_checkbox_key(key, index))


def _build_checkbox_key(key: str, at: int) -> str:
    """Returns the key of the checkbox beside line ``at`` of a question."""
    return f"ask-line-{key}-{at}"


def _answer_pressed_ask(turn: TurnRow, ask: Ask, call: str, yes: bool) -> None:
    _answer_ask(turn, ask, call, yes)


def _answer_ask(turn: TurnRow, ask: Ask, call: str, yes: bool) -> bool:
    """Answers the question with the lines that are ticked now: a tick may arrive together with the press. Returns False
    when there is no line to forget, or the answer could not be stored."""
    chosen = _list_ticked_lines(turn, ask, call)
    if yes and chosen == []:
        return False
    confirm = partial(resource.find_page_agent().confirm, turn.session_id, turn.number, call, yes)
    return try_page_action(partial(confirm, branch=turn.branch, lines=chosen))


def _format_ask(words: Words, ask: Ask) -> str:
    """Returns the question as one line of Markdown."""
    if ask["tool"] == "remember":
        return (
            f":material/bookmark_add: **{escape_markdown(words('ask.remember'))}** "
            f"{_format_kept_value(ask['arguments'])}"
        )
    return (
        ":material/bookmark_remove: **"
        f"{escape_markdown(words('ask.pick' if ask['arguments'].get('pick') else 'ask.forget'))}**"
    )


def _format_ask_decision(words: Words, ask: Ask) -> str:
    """Returns the decision and its subject as one line of Markdown."""
    decision = escape_markdown(words(f"ask.{ask['tool']}.{'yes' if ask['answer'] else 'no'}"))
    if ask["tool"] == "remember":
        subject = _format_kept_value(ask["arguments"])
    else:
        subject = " · ".join(_format_ask_line(line) for line in ask.get("chosen") or ask["arguments"]["lines"])
    return f":material/{'check' if ask['answer'] else 'close'}: {decision} {subject}"


def _format_kept_value(kept: KeptValue) -> str:
    return _format_ask_line(f"{kept['key']} = {kept['value']}")


def _format_ask_line(text: str) -> str:
    return escape_markdown(shorten_text(text, LINE_CHARS))
