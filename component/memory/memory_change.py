"""The owner of the memory that the page shows, and changes to this memory with their outcome shown in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from component.page.catalogue import Words
from component.page.help import PANEL
from component.page.point import PagePlace, point_at
from component.page.view import APART_NEW, View
from component.widget.failure import draw_error
from component.widget.markdown import escape_markdown
from errors import GieokError
from memory import Memory, MemoryView, Rooms
from memory.view.view import Count
from model.call.token import estimate_tokens


@dataclass(frozen=True, slots=True)
class Owner:
    """The memory behind one page. ``session`` is empty for a conversation that has not begun; ``count``,
    ``rooms``: see ``MemoryReader.read_view``."""

    memory: Memory
    tenant: str
    user: str
    session: str
    count: Count
    rooms: Rooms

    def look(self) -> MemoryView:
        """Returns the memory now; for a conversation that has not begun, the memory that it would start from."""
        if not self.session and st.session_state.get(APART_NEW):
            return MemoryView(apart=True)
        return self.memory.reader.read_view(
            self.tenant, self.session, user=self.user, count=self.count, rooms=self.rooms
        )


def find_memory_owner(view: View) -> Owner | None:
    """Returns the owner of the memory that this page shows; None when the settings turn memory off."""
    agent, models = view.agent, view.status.models
    if agent.memory is None:
        return None
    count, limits = models.count if models is not None else estimate_tokens, agent.prompting
    rooms = Rooms(limits.budget_memory, limits.budget_entities, limits.budget_profile)
    return Owner(agent.memory, agent.tenant, agent.user, view.session_id or "", count, rooms)


def run_reported_action(place: str, action: Callable[[], object], done: str = "") -> bool:
    """Runs the action; returns False on a ``GieokError``. The next run shows at ``place`` the error, or on success the
    text of ``done``, a key of the catalogue."""
    try:
        action()
    except GieokError as error:
        st.session_state[f"said-{place}"] = error
        return False
    st.session_state[f"said-{place}"] = done
    return True


def show_pinned() -> None:
    """Brings the newest pin into view with the next page run: pins stand first in the profile."""
    point_at(PagePlace(f'{PANEL} [class*="st-key-statement-pinned"]', tab=1))


def draw_said(words: Words, place: str) -> None:
    """Draws once the outcome that ``run_reported_action`` stored for ``place``."""
    outcome = st.session_state.pop(f"said-{place}", None)
    if isinstance(outcome, GieokError):
        draw_error(words, outcome)
    elif outcome:
        st.success(words(outcome), icon=":material/check:")


def render_notice(text: str, hint: str = "") -> None:
    """Draws a notice; ``hint`` explains below the notice what it means for the user."""
    st.warning(
        f"**{escape_markdown(text)}**" + (f"  \n{escape_markdown(hint)}" if hint else ""), icon=":material/info:"
    )
