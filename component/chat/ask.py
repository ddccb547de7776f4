"""Questions of a turn that the user must confirm: keep this value in memory, or forget these lines?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.catalogue import Words
from component.page.view import View, tried
from component.widget.markdown import plain, short
from component.work import resource
from graph.tool.ask import Ask, Forget, KeptValue, asked
from graph.turn.confirm import CLOSED, open_asks
from store import Turn

LINE_CHARS = 300


def draw_asks(view: View, turn: Turn) -> None:
    """Draws the questions under an answer, one below the other; an answered question shows the decision."""
    if turn.status not in CLOSED:
        return
    for place, step in enumerate(turn.steps):
        ask = asked(step.get("artifact"))
        if ask is not None:
            _draw(view, turn, ask, str(step["call"]), f"{turn.number}-{place}")


def answer_typed(view: View, text: str) -> bool:
    """Answers the open question of the last turn when ``text`` is the label of its yes or no button.

    Returns whether it did; otherwise the message is for the model. The model also gets a bare yes or no while two
    questions are open, and a bare yes while the user has ticked no line.
    """
    session, yes = view.session, _decision(view.words, text)
    if session is None or view.job is not None or yes is None:
        return False
    turn = view.store.turn(session.id, session.turn_count)
    asks = open_asks(turn) if turn is not None else []
    if turn is None or len(asks) != 1:
        return False
    call, ask = asks[0]
    return _decide(turn, ask, call, yes)


def _decision(words: Words, text: str) -> bool | None:
    """Returns True for the label of the yes button, False for that of the no button, None for any other text."""
    decisions = {words(f"ask.{name}").casefold(): yes for name, yes in (("yes", True), ("no", False))}
    return decisions.get(text.strip().casefold())


def _ticked(turn: Turn, ask: Ask, call: str) -> list[str] | None:
    """Returns the lines to forget: the ticked ones if the user picks among them, otherwise all. None for a value to
    remember."""
    if ask["tool"] != "forget":
        return None
    lines = ask["arguments"]["lines"]
    if not ask["arguments"].get("pick"):
        return lines
    place = next(index for index, step in enumerate(turn.steps) if step.get("call") == call)
    key = f"{turn.session_id}-{turn.branch}-{turn.number}-{place}"
    return [line for index, line in enumerate(lines) if st.session_state.get(_box(key, index))]


def _draw(view: View, turn: Turn, ask: Ask, call: str, key: str) -> None:
    is_open = ask["answer"] is None
    with st.container(key=f"ask-{'open' if is_open else 'closed'}-{key}", gap="xsmall"):
        if not is_open:
            st.caption(_decided(view.words, ask))
            return
        st.markdown(_asked(view.words, ask))
        if ask["tool"] == "forget":
            _draw_lines(ask, f"{turn.session_id}-{turn.branch}-{key}")
        with st.container(horizontal=True, gap="xsmall"):
            _draw_answers(view, turn, ask, call, key)


def _draw_answers(view: View, turn: Turn, ask: Ask, call: str, key: str) -> None:
    """Draws the yes and no buttons; both are disabled while the session answers, yes also while no line is chosen."""
    words, busy, none = view.words, view.job is not None, _ticked(turn, ask, call) == []
    for yes, name, icon in ((True, "yes", "check"), (False, "no", "close")):
        st.button(
            words(f"ask.{name}"),
            key=f"ask-{name}-{key}",
            icon=f":material/{icon}:",
            on_click=_press,
            args=(turn, ask, call, yes),
            disabled=busy or (yes and none),
        )


def _draw_lines(ask: Forget, key: str) -> None:
    """Draws the lines in question, with checkboxes if the user picks among them."""
    lines = ask["arguments"]["lines"]
    if not ask["arguments"].get("pick"):
        st.markdown("\n".join(f"- {_line(line)}" for line in lines))
        return
    for index, line in enumerate(lines):
        st.checkbox(_line(line), key=_box(key, index))


def _box(key: str, at: int) -> str:
    """Returns the key of the checkbox beside line ``at`` of a question."""
    return f"ask-line-{key}-{at}"


def _press(turn: Turn, ask: Ask, call: str, yes: bool) -> None:
    _decide(turn, ask, call, yes)


def _decide(turn: Turn, ask: Ask, call: str, yes: bool) -> bool:
    """Answers the question with the lines that are ticked now: a tick may arrive together with the press. Returns False
    when there is no line to forget, or the answer could not be stored."""
    chosen = _ticked(turn, ask, call)
    if yes and chosen == []:
        return False
    confirm = partial(resource.here().confirm, turn.session_id, turn.number, call, yes)
    return tried(partial(confirm, branch=turn.branch, lines=chosen))


def _asked(words: Words, ask: Ask) -> str:
    """Returns the question as one line of Markdown."""
    if ask["tool"] == "remember":
        return f":material/bookmark_add: **{plain(words('ask.remember'))}** {_value(ask['arguments'])}"
    return (
        f":material/bookmark_remove: **{plain(words('ask.pick' if ask['arguments'].get('pick') else 'ask.forget'))}**"
    )


def _decided(words: Words, ask: Ask) -> str:
    """Returns the decision and its subject as one line of Markdown."""
    decision = plain(words(f"ask.{ask['tool']}.{'yes' if ask['answer'] else 'no'}"))
    if ask["tool"] == "remember":
        subject = _value(ask["arguments"])
    else:
        subject = " · ".join(_line(line) for line in ask.get("chosen") or ask["arguments"]["lines"])
    return f":material/{'check' if ask['answer'] else 'close'}: {decision} {subject}"


def _value(kept: KeptValue) -> str:
    return _line(f"{kept['key']} = {kept['value']}")


def _line(text: str) -> str:
    return plain(short(text, LINE_CHARS))
