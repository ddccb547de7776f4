"""Whose long-term memory the page shows, and changing it so that the outcome is told where it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from component.catalogue import Words
from component.failure import draw_box
from component.markdown import plain
from component.view import View
from errors import GieokError
from memory import Memory, MemoryView
from memory.view import Count
from model.token import estimate


@dataclass(frozen=True, slots=True)
class Owner:
    """The memory behind one page. ``session`` is empty for a conversation that has not begun; ``count``,
    ``rooms``: see ``Memory.context``."""

    memory: Memory
    tenant: str
    user: str
    session: str
    count: Count
    rooms: tuple[int, int]

    def look(self) -> MemoryView:
        """The memory now; a conversation that has not begun shows what it would start from."""
        return self.memory.context(self.tenant, self.session, user=self.user, count=self.count, rooms=self.rooms)


def owner(view: View) -> Owner | None:
    """The owner of what this page shows; None when the settings turn memory off."""
    agent, models = view.agent, view.status.models
    if agent.memory is None:
        return None
    count, limits = models.count if models is not None else estimate, agent.prompting
    rooms = (limits.budget_memory, limits.budget_entities)
    return Owner(agent.memory, agent.tenant, agent.user, view.session_id or "", count, rooms)


def attempt(place: str, action: Callable[[], object], done: str = "") -> bool:
    """Does it; the next run tells at ``place`` what went wrong, or ``done``, a key of the catalogue."""
    try:
        action()
    except GieokError as error:
        st.session_state[f"said-{place}"] = error
        return False
    st.session_state[f"said-{place}"] = done
    return True


def draw_said(words: Words, place: str) -> None:
    """What is to be told at ``place``, once."""
    said = st.session_state.pop(f"said-{place}", None)
    if isinstance(said, GieokError):
        draw_memory_error(words, said)
    elif said:
        st.success(words(said), icon=":material/check:")


def draw_memory_error(words: Words, error: GieokError) -> None:
    """The box of an error of memory, its values in words too."""
    values = dict(error.values)
    if f"memory.what.{values.get('what')}" in words:
        values["what"] = words(f"memory.what.{values['what']}")
    draw_box(words, error.code, error.text(), values)


def warn(text: str, hint: str = "") -> None:
    """Something to know, and below it what it means."""
    st.warning(f"**{plain(text)}**" + (f"  \n{plain(hint)}" if hint else ""), icon=":material/info:")
