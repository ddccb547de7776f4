"""The search over all conversations: titles, questions and answers."""

from __future__ import annotations

from typing import Any

from component.chat.jump import jump_to_turn
from component.page.view import View, show_session
from component.widget.markdown import sanitize_text
from component.widget.title import listed_title
from component.work import resource
from store.path import branch_at
from store.search.text_search import TextHit, cut_head, cut_tail

MOST = 30
TITLE_CHARS = 60
AROUND = (12, 44)
"""Characters of the snippet before and after the match."""


def find_session_hits(view: View, query: str) -> dict[str, Any]:
    """Returns the results of a search as plain data."""
    results = resource.find_user_agent().store.search(query, limit=MOST + 1)
    rows, more = results[:MOST], len(results) > MOST
    about = view.words(f"search.found{'.more' * more}", count=len(rows)) if rows else view.words("search.none")
    return {"about": about, "rows": [_build_session_hit(view, hit) for hit in rows]}


def _build_session_hit(view: View, hit: TextHit) -> dict[str, Any]:
    title = listed_title(view.words, hit.title, TITLE_CHARS)
    before, after = cut_tail(hit.before, AROUND[0]), cut_head(hit.after, AROUND[1])
    return {
        "id": hit.session_id,
        "title": title,
        "number": hit.number,
        "branch": hit.branch,
        "before": sanitize_text(before),
        "match": sanitize_text(hit.match),
        "after": sanitize_text(after),
    }


def open_found_turn(view: View, session_id: str, number: int, branch: int) -> None:
    """Opens the conversation at the turn, on the turn's branch. Raises ``SessionUnknown``, ``TurnUnknown``."""
    session = resource.find_user_agent().store.session(session_id)
    if branch_at(session.path, number) != branch:
        resource.find_user_agent().switch(session_id, number, branch)
        session = resource.find_user_agent().store.session(session_id)
    jump_to_turn(session_id, number, session.turn_count)
    show_session(session_id)
