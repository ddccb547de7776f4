"""The memory's versions looked at closely: what each changed, the turns it was made from, and the ways back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from component import window
from component.markdown import plain, shown
from component.marked import marked
from component.owner import Owner, attempt, draw_said, owner
from component.session import moment
from component.view import View
from memory import Entity, Version
from memory.recollect import Difference, difference

NAME = "versions"


def versions_button(view: View, prefix: str) -> None:
    """The button that opens the window."""
    st.button(
        view.words("memory.versions"),
        key=f"{prefix}memory-versions",
        icon=":material/difference:",
        on_click=window.ask,
        args=(NAME,),
    )


def draw_versions(view: View, about: object = None) -> None:
    """The window."""
    mine = owner(view)
    if mine is None or not mine.session:
        window.shut()
        return
    window.draw(view.words("memory.versions"), lambda: _draw(view, mine), width="large")


def _draw(view: View, mine: Owner) -> None:
    words, versions = view.words, mine.memory.versions(mine.tenant, mine.session)
    draw_said(words, "version")
    if not versions:
        st.caption(words("memory.versions.none"))
        return
    numbers = [each.number for each in reversed(versions)]
    known = {each.number: each for each in versions}
    chosen = st.selectbox(
        words("memory.versions.which"),
        numbers,
        format_func=lambda number: _name(view, known[number]),
        key=f"memory-version-{numbers[0]}",
    )
    now = known[chosen]
    before = known.get(numbers[numbers.index(chosen) + 1]) if chosen != numbers[-1] else None
    left, right = st.columns(2, gap="medium")
    with left:
        st.caption(words("memory.versions.source"))
        st.html(f'<div class="gieok-marked">{_source(view, now)}</div>')
    with right:
        since = words("memory.versions.since", number=before.number) if before else words("memory.versions.first")
        st.caption(since)
        st.html(f'<div class="gieok-marked">{lines(difference(before.text if before else "", now.text))}</div>')
        _draw_entities(view, now)
    st.caption(plain(_cost(view, now)))
    _draw_ways(view, mine, now, newest=chosen == numbers[0])


def _name(view: View, version: Version) -> str:
    """Number, source turns, time, and how it came about."""
    words, turns = view.words, version.turns
    parts = [f"M{version.number}"]
    if turns:
        parts.append(words("memory.turns", first=turns[0].number, last=turns[-1].number))
    parts += [moment(version.created), words(f"memory.origin.{version.origin}")]
    return " · ".join(parts)


def _source(view: View, version: Version) -> str:
    """The turns that this version took in, with the facts that it kept and lost."""
    if not version.turns:
        return f"<p>{escape(view.words('memory.versions.by_hand'))}</p>"
    user, ai = view.words("revision.user"), view.words("revision.ai")
    return "".join(
        f"<h4>{turn.number}</h4><p><b>{user}</b> {marked(turn.question, version.kept, version.lost)}</p>"
        f"<p><b>{ai}</b> {marked(turn.answer, version.kept, version.lost)}</p>"
        for turn in version.turns
    )


def lines(found: Sequence[Difference]) -> str:
    """HTML of the sentences: what came and what went are marked."""
    tags = {"new": "ins", "gone": "del", "same": "span"}
    return "".join(f"<p><{tags[kind]}>{escape(shown(line))}</{tags[kind]}></p>" for kind, line in found)


def _draw_entities(view: View, version: Version) -> None:
    """The values that this version set or dropped."""
    gone = [each for each in version.before if each not in version.after]
    come = [each for each in version.after if each not in version.before]
    if gone or come:
        st.caption(view.words("memory.entities"))
        st.html(f'<div class="gieok-marked">{lines([*_rows("gone", gone), *_rows("new", come)])}</div>')


def _rows(kind: str, entities: Sequence[Entity]) -> list[Difference]:
    mark = "gone" if kind == "gone" else "new"
    return [(mark, each.line) for each in entities]  # type: ignore[misc]


def _cost(view: View, version: Version) -> str:
    """What making it took; nothing for a change by hand."""
    cost = version.cost
    if not cost.get("calls"):
        return ""
    tokens = int(cost.get("prompt_tokens", 0)) + int(cost.get("answer_tokens", 0))
    seconds = f"{float(cost.get('seconds', 0)):.1f}"
    said = view.words("memory.cost", calls=cost["calls"], tokens=tokens, seconds=seconds, model=cost.get("model", ""))
    return f"{said} · {view.words('memory.facts', kept=len(version.kept), lost=len(version.lost))}"


def _draw_ways(view: View, mine: Owner, version: Version, newest: bool) -> None:
    words = view.words
    if newest:
        back = partial(mine.memory.undo, mine.tenant, mine.session, user=mine.user)
        label, done = words("memory.undo", number=version.number), "memory.undone"
        st.caption(words("memory.undo.about"))
    else:
        back = partial(mine.memory.edit, mine.tenant, mine.session, version.text, user=mine.user)
        label, done = words("memory.versions.use"), "memory.saved"
    st.button(label, key=f"memory-back-{version.number}", icon=":material/undo:", on_click=_act, args=(back, done))


def _act(back: partial[object], done: str) -> None:
    attempt("version", back, done)
