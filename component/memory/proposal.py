"""The window of a memory that waits for the user's yes: what it would change, line by line."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.memory.memory_change import Owner, draw_said, find_memory_owner, run_reported_action
from component.memory.version import render_difference_lines
from component.page import window
from component.page.view import View
from component.panel.summary_history import describe_turns
from memory.view.proposal import Proposal
from memory.view.recollect import Difference

NAME = "proposal"
UNTAKEN = "proposal-untaken"
"""Session-state key: why an answer was not carried out, a key of the catalogue that the window shows once."""


def draw_asks_first(view: View, mine: Owner, prefix: str) -> None:
    """Draws the switch whether an update of memory waits for the user's yes."""
    on = mine.memory.reader.asks_first(mine.tenant, mine.user)
    label, about = view.words("proposal.first"), view.words("proposal.first.about")
    change = partial(_set_asks_first, mine, not on)
    st.toggle(label, on, key=f"{prefix}memory-first-{on}", help=about, on_change=change)


def _set_asks_first(mine: Owner, on: bool) -> None:
    run_reported_action("takeout", partial(mine.memory.writer.set_asks_first, mine.tenant, on, mine.user))


def draw_proposal_note(view: View, mine: Owner, prefix: str) -> None:
    """Draws that an update waits, with the button that opens it; nothing where none waits."""
    proposal = mine.memory.folds.find_proposal(mine.tenant, mine.session) if mine.session else None
    if proposal is None:
        return
    with st.container(border=True, gap="xsmall", key=f"{prefix}proposal"):
        turns = describe_turns(view.words, proposal.turns[0], proposal.turns[-1])
        st.caption(f":material/rule: {view.words('change.proposed', turns=turns)}")
        st.button(
            view.words("change.look"), key=f"{prefix}proposal-look", on_click=window.open_page_window, args=(NAME,)
        )


def draw_proposal(view: View, about: object = None) -> None:
    """Draws the window."""
    mine = find_memory_owner(view)
    if mine is None or not mine.session:
        window.close_page_window()
        return
    window.render_page_window(view.words("proposal.title"), lambda: _draw_proposed(view, mine), width="large")


def _draw_proposed(view: View, mine: Owner) -> None:
    words, proposal = view.words, mine.memory.folds.find_proposal(mine.tenant, mine.session)
    draw_said(words, NAME)
    if untaken := st.session_state.pop(UNTAKEN, None):
        st.warning(words(untaken), icon=":material/info:")
    if proposal is None:
        st.caption(words("proposal.none"))
        return
    turns = describe_turns(words, proposal.turns[0], proposal.turns[-1])
    st.caption(words("proposal.about", turns=turns))
    st.html(f'<div class="gieok-marked">{render_difference_lines(proposal.changes)}</div>')
    if values := list_values(proposal):
        st.caption(words("memory.entities"))
        st.html(f'<div class="gieok-marked">{render_difference_lines(values)}</div>')
    with st.container(horizontal=True, gap="small"):
        for yes, name, icon in ((True, "yes", "check"), (False, "no", "close")):
            st.button(
                words(f"proposal.{name}"), key=f"proposal-{name}", icon=f":material/{icon}:",
                type="primary" if yes else "secondary", on_click=_answer_proposal, args=(view, mine, yes),
            )  # fmt: skip


def list_values(proposal: Proposal) -> list[Difference]:
    """Returns the values and facts that would be new."""
    values = [*proposal.entities, *(each for each in proposal.profile if each not in proposal.entities)]
    return [("new", each.line) for each in values]


def _answer_proposal(view: View, mine: Owner, yes: bool) -> None:
    """Carries out the answer and closes the window; where nothing was carried out, the window stays and says why."""
    language = view.session.language if view.session else "ko"
    models = view.status.models
    if models is None:
        st.session_state[UNTAKEN] = "proposal.wait"
        return
    is_taken = list[bool]()

    def answer() -> None:
        folds = mine.memory.folds
        is_taken.append(folds.answer_proposal(mine.tenant, mine.session, yes, models=models, language=language))

    if not run_reported_action(NAME, answer):
        return
    if is_taken == [True]:
        window.close_page_window()
    else:
        st.session_state[UNTAKEN] = "proposal.outdated"
