"""The search over all conversations: titles, questions and answers."""

from __future__ import annotations

from typing import Any

from component.chat.jump import leap
from component.page.view import View, show
from component.widget.markdown import shown
from component.widget.title import listed_title
from component.work import resource
from store.path import branch_at
from store.search import TextHit, head, tail

MOST = 30
TITLE_CHARS = 60
AROUND = (12, 44)
"""Characters of the snippet before and after the match."""


def hits(view: View, query: str) -> dict[str, Any]:
    """Returns the results of a search as plain data."""
    results = resource.agent().store.search(query, limit=MOST + 1)
    rows, more = results[:MOST], len(results) > MOST
    about = view.words(f"search.found{'.more' * more}", count=len(rows)) if rows else view.words("search.none")
    return {"about": about, "rows": [_row(view, hit) for hit in rows]}


def _row(view: View, hit: TextHit) -> dict[str, Any]:
    title = listed_title(view.words, hit.title, TITLE_CHARS)
    before, after = tail(hit.before, AROUND[0]), head(hit.after, AROUND[1])
    return {
        "id": hit.session_id,
        "title": title,
        "number": hit.number,
        "branch": hit.branch,
        "before": shown(before),
        "match": shown(hit.match),
        "after": shown(after),
    }


def go(view: View, session_id: str, number: int, branch: int) -> None:
    """Opens the conversation at the turn, on the turn's branch. Raises ``SessionUnknown``, ``TurnUnknown``."""
    session = resource.agent().store.session(session_id)
    if branch_at(session.path, number) != branch:
        resource.agent().switch(session_id, number, branch)
        session = resource.agent().store.session(session_id)
    leap(session_id, number, session.turn_count)
    show(session_id)
