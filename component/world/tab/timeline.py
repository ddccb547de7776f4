"""What happened, turn by turn, the newest first; the way back to any turn."""

from __future__ import annotations

import streamlit as st

from component.chat.jump import jump_to_turn
from component.widget.markdown import escape_markdown, shorten_text
from component.world.correction import draw_pages
from component.world.view import WorldView, look_back
from store.world.record import Episode, StoryNode

TURNS = 30
"""Turns on one page."""
QUESTION_CHARS = 80


def draw_timeline(shown: WorldView, prefix: str = "") -> None:
    """Draws the tab: the turns up to the one that is shown."""
    words, node = shown.view.words, shown.node
    if node is None:
        st.caption(words("world.timeline.none"))
        return
    pages = max(1, -(-node.turn // TURNS))
    key = f"{prefix}world-timeline-page-{shown.world.id}-{node.id}"
    page = min(int(st.session_state.get(key, 1)), pages)
    nodes = load_timeline_turns(shown, page, pages)
    told = shown.engine.store.worlds.episodes(shown.world.id, [one.id for one in nodes])
    with st.container(key=f"{prefix}world-timeline", gap="small"):
        for one in nodes:
            _draw_turn(shown, one, told.get(one.id), f"{prefix}world-turn-{one.id}")
        if page == pages:
            _draw_beginning(shown, prefix)
    draw_pages(pages, key)


def load_timeline_turns(shown: WorldView, page: int, pages: int) -> list[StoryNode]:
    """Returns the turns of a page, the newest first; the last page has the greeting (turn 0), too."""
    assert shown.node is not None
    skip = (page - 1) * TURNS
    count = TURNS + 1 if page == pages else TURNS
    return shown.engine.store.worlds.path(shown.node, count, skip)[::-1]


def _draw_turn(shown: WorldView, node: StoryNode, episode: Episode | None, key: str) -> None:
    words, current = shown.view.words, shown.node is not None and node.id == shown.node.id
    line = episode.description if episode else shorten_text(node.question or node.answer, QUESTION_CHARS)
    facts = [episode.location] if episode and episode.location else []
    if episode is not None and episode.importance > 0:
        facts.append(words("world.timeline.importance", value=f"{episode.importance:.2g}"))
    if episode is None:
        facts.append(words(f"world.timeline.{'raw' if node.status == 'raw' else 'nothing'}"))
    if node.origin == "user":
        facts.append(words("world.timeline.corrected"))
    name = escape_markdown(words("world.timeline.turn", turn=node.turn))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=key):
        about = f"  \n:small[:gray[{escape_markdown(' · '.join(facts))}]]" if facts else ""
        st.markdown(f"**{name}** {escape_markdown(line)}{about}", width="stretch")
        _draw_way(shown, f"{key}-show", words("world.timeline.show_turn", turn=node.turn), node, current)


def _draw_beginning(shown: WorldView, prefix: str) -> None:
    words, key = shown.view.words, f"{prefix}world-turn-begin"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key=key):
        st.markdown(f"**{escape_markdown(words('world.timeline.begin'))}**", width="stretch")
        _draw_way(shown, f"{key}-show", words("world.timeline.show_begin"), None, False)


def _leap_back(shown: WorldView, node: StoryNode | None) -> None:
    """Shows a turn with what was so after it."""
    session = shown.view.session
    if session is not None:
        look_back(session.id, node.id if node is not None else 0)
        if node is not None and node.turn:
            jump_to_turn(session.id, node.turn, session.turn_count)


def _draw_way(shown: WorldView, key: str, about: str, node: StoryNode | None, disabled: bool) -> None:
    st.button(
        shown.view.words("world.timeline.show"), key=key, icon=":material/history:", type="tertiary", help=about,
        disabled=disabled,
        on_click=_leap_back, args=(shown, node),
    )  # fmt: skip
