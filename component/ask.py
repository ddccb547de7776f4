"""A question of a turn that waits for the user's yes: shall this be kept in memory, shall these lines be forgotten?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from component import resource
from component.catalogue import Words
from component.markdown import plain, short
from component.view import View, trying
from graph.confirm import CLOSED
from graph.tool.ask import Ask, Forget, Kept, asked
from store import Turn

LINE_CHARS = 300


def draw_asks(view: View, turn: Turn) -> None:
    """The questions under an answer, one below the other; an answered one says what was decided."""
    if turn.status not in CLOSED:
        return
    for place, step in enumerate(turn.steps):
        ask = asked(step.get("artifact"))
        if ask is not None:
            _draw(view, turn, ask, str(step["call"]), f"{turn.number}-{place}")


def _draw(view: View, turn: Turn, ask: Ask, call: str, key: str) -> None:
    is_open = ask["answer"] is None
    with st.container(key=f"ask-{'open' if is_open else 'closed'}-{key}", gap="xsmall"):
        if not is_open:
            st.caption(_decided(view.words, ask))
            return
        st.markdown(_asked(view.words, ask))
        chosen = _draw_lines(ask, f"{turn.session_id}-{turn.branch}-{key}") if ask["tool"] == "forget" else None
        with st.container(horizontal=True, gap="xsmall"):
            _draw_answers(view, turn, call, key, chosen)


def _draw_answers(view: View, turn: Turn, call: str, key: str, chosen: Sequence[str] | None) -> None:
    """Yes and no; not while the session answers, and no yes to nothing."""
    words, busy = view.words, view.job is not None
    none = chosen is not None and not chosen
    for yes, name, icon in ((True, "yes", "check"), (False, "no", "close")):
        st.button(
            words(f"ask.{name}"),
            key=f"ask-{name}-{key}",
            icon=f":material/{icon}:",
            on_click=_confirm,
            args=(turn, call, yes, chosen),
            disabled=busy or (yes and none),
        )


def _draw_lines(ask: Forget, key: str) -> list[str]:
    """The lines in question; where the user picks, those that are ticked."""
    lines = ask["arguments"]["lines"]
    if not ask["arguments"].get("pick"):
        st.markdown("\n".join(f"- {_line(each)}" for each in lines))
        return lines
    return [each for at, each in enumerate(lines) if st.checkbox(_line(each), key=f"ask-line-{key}-{at}")]


def _confirm(turn: Turn, call: str, yes: bool, chosen: Sequence[str] | None) -> None:
    confirm = partial(resource.agent().confirm, turn.session_id, turn.number, call, yes)
    trying(partial(confirm, branch=turn.branch, lines=chosen))


def _asked(words: Words, ask: Ask) -> str:
    """The question on one line of Markdown."""
    if ask["tool"] == "remember":
        return f":material/bookmark_add: **{plain(words('ask.remember'))}** {_value(ask['arguments'])}"
    return (
        f":material/bookmark_remove: **{plain(words('ask.pick' if ask['arguments'].get('pick') else 'ask.forget'))}**"
    )


def _decided(words: Words, ask: Ask) -> str:
    """What was decided, and about what, on one line of Markdown."""
    said = plain(words(f"ask.{ask['tool']}.{'yes' if ask['answer'] else 'no'}"))
    if ask["tool"] == "remember":
        about = _value(ask["arguments"])
    else:
        about = " · ".join(_line(each) for each in ask.get("chosen") or ask["arguments"]["lines"])
    waits = f" {plain(words('ask.waits'))}" if ask.get("waits") else ""
    return f":material/{'check' if ask['answer'] else 'close'}: {said} {about}{waits}"


def _value(kept: Kept) -> str:
    return _line(f"{kept['key']} = {kept['value']}")


def _line(text: str) -> str:
    return plain(short(text, LINE_CHARS))
