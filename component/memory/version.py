"""The window of the memory's versions: what a version changed, its source turns, and buttons to undo or restore it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from component.memory.memory_change import Owner, draw_said, find_memory_owner, run_reported_action
from component.page import window
from component.page.view import View
from component.widget.markdown import escape_markdown, sanitize_text
from component.widget.marked import render_marked_facts
from component.widget.moment import format_reader_moment
from memory import Entity, MemoryVersion
from memory.view.recollect import Difference, compare_memory_texts
from model.embedded.catalogue import show_name

NAME = "versions"


def versions_button(view: View, prefix: str) -> None:
    """Draws the button that opens the window."""
    st.button(
        view.words("memory.versions"),
        key=f"{prefix}memory-versions",
        icon=":material/difference:",
        on_click=window.open_page_window,
        args=(NAME,),
    )


def render_memory_versions(view: View, about: object = None) -> None:
    """Draws the window."""
    mine = find_memory_owner(view)
    if mine is None or not mine.session:
        window.close_page_window()
        return
    window.render_page_window(
        view.words("memory.versions"), lambda: _render_version_comparison(view, mine), width="large"
    )


def _render_version_comparison(view: View, mine: Owner) -> None:
    words, versions = view.words, mine.memory.reader.read_versions(mine.tenant, mine.session)
    draw_said(words, "version")
    if not versions:
        st.caption(words("memory.versions.none"))
        return
    numbers = [version.number for version in reversed(versions)]
    by_number = {version.number: version for version in versions}
    chosen = st.selectbox(
        words("memory.versions.which"),
        numbers,
        format_func=lambda number: _format_version_label(view, by_number[number]),
        key=f"memory-version-{numbers[0]}",
    )
    selected = by_number[chosen]
    before = by_number.get(numbers[numbers.index(chosen) + 1]) if chosen != numbers[-1] else None
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(words("memory.versions.source"))
        st.html(f'<div class="gieok-marked">{_render_version_sources(view, mine, selected)}</div>')
    with right:
        since = words("memory.versions.since", number=before.number) if before else words("memory.versions.first")
        st.caption(since)
        st.html(
            '<div class="gieok-marked">'
            f"{render_difference_lines(compare_memory_texts(before.text if before else '', selected.text))}</div>"
        )
        _draw_entities(view, selected)
    st.caption(escape_markdown(_format_version_cost(view, selected)))
    _render_version_ways(view, mine, selected, newest=chosen == numbers[0])


def _format_version_label(view: View, version: MemoryVersion) -> str:
    """Returns the label of a version: number, source turns, time and origin."""
    words = view.words
    parts = [f"M{version.number}"]
    if version.first:
        first, last = version.first, version.last
        parts.append(
            words("memory.turn", turn=first) if first == last else words("memory.turns", first=first, last=last)
        )
    parts += [format_reader_moment(version.created), words(f"memory.origin.{version.origin}")]
    return " · ".join(parts)


def _render_version_sources(view: View, mine: Owner, version: MemoryVersion) -> str:
    """Returns the HTML of the turns that this version took in; the facts that it kept and lost are marked."""
    if not version.first:
        return f"<p>{escape(view.words('memory.versions.by_hand'))}</p>"
    user, ai = view.words("revision.user"), view.words("revision.ai")
    return "".join(
        f"<h4>{turn.number}</h4><p><b>{user}</b> {render_marked_facts(turn.question, version.kept, version.lost)}</p>"
        f"<p><b>{ai}</b> {render_marked_facts(turn.answer, version.kept, version.lost)}</p>"
        for turn in mine.memory.reader.read_sources(mine.tenant, mine.session, version)
    )


def render_difference_lines(found: Sequence[Difference]) -> str:
    """Returns the HTML of the sentences; new and removed sentences are marked."""
    tags = {"new": "ins", "gone": "del", "same": "span"}
    return "".join(f"<p><{tags[kind]}>{escape(sanitize_text(line))}</{tags[kind]}></p>" for kind, line in found)


def _draw_entities(view: View, version: MemoryVersion) -> None:
    """Draws the entities that this version set or dropped."""
    dropped = [entity for entity in version.before if entity not in version.after]
    added = [entity for entity in version.after if entity not in version.before]
    if dropped or added:
        st.caption(view.words("memory.entities"))
        differences = [*_list_entity_differences("gone", dropped), *_list_entity_differences("new", added)]
        st.html(f'<div class="gieok-marked">{render_difference_lines(differences)}</div>')


def _list_entity_differences(kind: str, entities: Sequence[Entity]) -> list[Difference]:
    mark = "gone" if kind == "gone" else "new"
    return [(mark, entity.line) for entity in entities]  # type: ignore[misc]


def _format_version_cost(view: View, version: MemoryVersion) -> str:
    """Returns what making this version cost, in words; empty for a change by hand."""
    cost = version.cost
    if not cost.get("calls"):
        return ""
    tokens = int(cost.get("prompt_tokens", 0)) + int(cost.get("answer_tokens", 0))
    seconds = f"{float(cost.get('seconds', 0)):.1f}"
    model = show_name(str(cost.get("model", "")))
    text = view.words("memory.cost", calls=cost["calls"], tokens=tokens, seconds=seconds, model=model)
    return f"{text} · {view.words('memory.facts', kept=len(version.kept), lost=len(version.lost))}"


def _render_version_ways(view: View, mine: Owner, version: MemoryVersion, newest: bool) -> None:
    words = view.words
    if newest:
        action = partial(mine.memory.writer.undo, mine.tenant, mine.session, user=mine.user)
        label, message = words("memory.undo"), "memory.undone"
        st.caption(words("memory.undo.about"))
    else:
        action = partial(mine.memory.writer.edit, mine.tenant, mine.session, version.text, user=mine.user)
        label, message = words("memory.versions.use"), "memory.saved"
    st.button(
        label,
        key=f"memory-back-{version.number}",
        icon=":material/undo:",
        on_click=_apply_version,
        args=(action, message),
    )


def _apply_version(back: partial[object], done: str) -> None:
    run_reported_action("version", back, done)
