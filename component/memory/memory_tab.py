"""The memory tab: the profile, and what memory holds of this conversation, each with where it comes from.

Drawing the tab takes one or two short calls (``MemoryReader.read_view``); while the tab is closed, nothing here is
called.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from html import escape

import streamlit as st

from component.memory.all_memory import draw_takeout
from component.memory.entity import draw_entities
from component.memory.known import draw_known_entry
from component.memory.memory_change import Owner, draw_said, find_memory_owner, render_notice
from component.memory.profile import draw_user_profile
from component.memory.proposal import draw_proposal_note
from component.memory.rewrite import draw_rewrite
from component.memory.statement import draw_statements
from component.page.catalogue import Words
from component.page.view import View
from component.widget.moment import format_reader_moment
from component.work import resource
from errors import MemoryAway
from graph.turn.memory.long_term import build_fold_key
from memory import MemoryView


def draw_memory(view: View, prefix: str = "") -> None:
    """Draws the tab."""
    words, mine, limits = view.words, find_memory_owner(view), view.agent.prompting
    if mine is None:
        name = "private.memory" if view.is_private else "memory.off"
        render_notice(words(name), words(f"{name}.hint"))
        return
    seen = mine.look()
    draw_said(words, "memory")
    _render_memory_notices(words, seen)
    draw_proposal_note(view, mine, prefix)
    draw_known_entry(view, prefix)
    st.markdown(f"## {words('memory.profile')}", anchors=False)
    st.caption(words("memory.profile.about"))
    _draw_meter(words, "profile", seen.profile_tokens, limits.budget_profile)
    draw_user_profile(view, mine, seen, prefix)
    st.markdown(f"## {words('memory.title')}", anchors=False)
    _render_memory_head(view, seen)
    _draw_meter(words, "memory", seen.tokens, limits.budget_memory)
    draw_statements(view, mine, seen, prefix)
    draw_rewrite(view, prefix)
    _draw_life(words, mine)
    st.markdown(f"## {words('memory.entities')}", anchors=False)
    _draw_meter(words, "entities", seen.entity_tokens, limits.budget_entities)
    draw_entities(view, mine, seen, prefix)
    draw_takeout(view, mine, prefix)


def has_pending_fold(view: View) -> bool:
    """Returns whether a fold of this session is on the list of side work."""
    if view.session_id is None:
        return False
    fold = build_fold_key(view.session_id)
    return resource.find_page_agent().background.has(lambda work: work == fold)


def _render_memory_notices(words: Words, seen: MemoryView) -> None:
    if resource.find_user_agent().settings.memory_tool_only:
        st.caption(f":material/info: {words('memory.tool_only')}")
    if seen.rejection is not None:
        why = {**asdict(seen.rejection), **seen.rejection.why}
        message, hint = words.error("fold_rejected", seen.rejection.reason, why)
        render_notice(message, hint)
    if seen.apart:
        st.caption(f":material/link_off: {words('memory.apart')}")


def _render_memory_head(view: View, seen: MemoryView) -> None:
    """Draws the version of this memory, and the turns that the memory does not hold yet."""
    words = view.words
    if seen.version:
        st.caption(words("memory.version", number=seen.version, moment=format_reader_moment(seen.updated)))
    if seen.waiting:
        first, last = seen.waiting[0], seen.waiting[-1]
        st.caption(words("memory.waiting", turns=f"{first}-{last}" if first != last else str(first)))
    elif not seen.whole:
        st.caption(words("memory.none"))


def _draw_meter(words: Words, name: str, used: int, room: int) -> None:
    """Draws a bar of the tokens used of the budget."""
    rest = f'<span class="part-rest" style="flex:{room - used}"></span>' if used < room else ""
    label = escape(words("memory.tokens", used=used, room=room))
    bar = f'<span class="part-{name}" style="flex:{used}"></span>' if used else ""
    st.html(f'<div class="gieok-bar" role="img" aria-label="{label}">{bar}{rest}</div><p class="gieok-key">{label}</p>')


def _draw_life(words: Words, mine: Owner) -> None:
    """Draws how long the copy in Redis stays without being used, or that there is none now."""
    hours = resource.find_user_agent().settings.memory_ttl
    if mine.memory.away and not mine.memory.starting:
        st.caption(f":material/cloud_off: {words('memory.copy.away')}")
        return
    try:
        left = mine.memory.reader.read_ttl(mine.tenant, mine.session) if mine.session else None
    except MemoryAway:  # Redis went away a moment ago, or is starting
        return
    if hours and left is not None:
        st.caption(
            f":material/schedule: {words('memory.life', hours=hours, moment=format_reader_moment(time.time() + left))}"
        )
