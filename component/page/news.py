"""News from elsewhere while this page is idle: an answer in another tab, the end of an answer in another conversation,
a new title. The page runs anew when there is something to show, and only then."""

from __future__ import annotations

from typing import Any

from component.page.view import View
from component.sidebar.session_list import PAGE
from component.widget.wait import redraw_when
from component.work import resource
from errors import GieokError, SessionUnknown

BEAT = 3.0


def read_page_snapshot(view: View) -> tuple[Any, ...]:
    """Returns all data on the page that others can change, for comparison; empty when the store cannot be read."""
    session_id = view.session_id
    try:
        sessions = resource.find_user_agent().store.sessions(PAGE)
        current = view.store.session(session_id) if session_id else None
        running = [resource.find_user_jobs().of(session.id) for session in sessions]
        folders = resource.find_user_agent().store.folders.all()
        return (
            sessions,
            folders,
            current,
            running,
            view.jobs.of(session_id),
            view.jobs.list_queued(session_id),
            view.jobs.find_refused(session_id),
        )
    except SessionUnknown:  # erased in another tab
        return (session_id,)
    except GieokError:
        return ()


def look_out(view: View, drawn: tuple[Any, ...]) -> None:
    """Runs the page anew when a ``read_page_snapshot`` differs from ``drawn``; looks every ``BEAT`` seconds while the
    page is idle.

    ``drawn``: the glance taken before the page was drawn. Text that the user is typing lives in the browser and stays.
    Nothing looks out while a window is open (``app.py``).
    """

    def look() -> bool:
        now = read_page_snapshot(view)
        return bool(now) and now != drawn

    redraw_when(look, BEAT)
