"""What the curator keeps of a story: its notebook and what it noticed, with the user's word on both."""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.page.catalogue import Words
from component.page.view import run_page_action, store_page_error
from component.widget.markdown import escape_markdown
from component.world.correction import draw_pages, place_of, set_field_default, slice_list_page
from component.world.view import WorldView
from errors import TooLong
from store.world.record import CuratedBlock, FindingStatus, StoryFinding, StoryNode
from text.clean import clean_text
from world.curator.desk import EVERY
from world.curator.notebook import LIMIT

_ICONS = {"open": "warning", "accepted": "check_circle", "dismissed": "do_not_disturb_on"}
_COLOURS = {"open": "orange", "accepted": "red", "dismissed": "gray"}
FINDINGS = 200


def draw_curator(shown: WorldView, prefix: str = "") -> None:
    """Draws the tab: when the curator looks next, what it noticed, its notebook, and what blocks were refused."""
    words, node = shown.view.words, shown.node
    if node is None:
        st.caption(words("world.curator.none"))
        return
    block = shown.engine.store.worlds.block(node, "narrative_memory")
    st.caption(escape_markdown(words("world.curator.next", turn=find_curator_turn(shown, node, block))))
    _draw_findings(shown, node, prefix)
    _draw_notebook(shown, block, prefix)
    _render_block_refusals(shown, node)


def find_curator_turn(shown: WorldView, node: StoryNode, block: CuratedBlock | None) -> int:
    """Returns the number of the turn after which the curator looks next: every tenth after it has looked last."""
    after = shown.engine.store.worlds.node(block.node).turn if block is not None else 0
    return max(after + EVERY, node.turn + 1)


def _draw_findings(shown: WorldView, node: StoryNode, prefix: str) -> None:
    words = shown.view.words
    st.markdown(f"## {words('world.curator.findings')}", anchors=False)
    findings = shown.engine.store.worlds.findings(node, limit=FINDINGS)
    if not findings:
        st.caption(words("world.curator.findings.none"))
        return
    ordered = sorted(findings, key=lambda one: one.status != "open")
    key = f"{prefix}world-findings-page-{shown.world.id}"
    rows, pages = slice_list_page(ordered, key)
    for one in rows:
        _draw_finding(shown, one, f"{prefix}world-finding-{one.id}")
    draw_pages(pages, key)


def _draw_finding(shown: WorldView, one: StoryFinding, key: str) -> None:
    words = shown.view.words
    mark = f":{_COLOURS[one.status]}[:material/{_ICONS[one.status]}:]"
    facts = [words(f"world.finding.{one.kind}"), words("world.timeline.turn", turn=one.turn)]
    ended = "undone" if one.mend and one.status == "dismissed" else one.status
    facts += [] if one.status == "open" else [words(f"world.finding.{ended}")]
    with st.container(key=key, gap="xsmall"):
        st.markdown(
            f"{mark} **{escape_markdown(one.subject)}** {escape_markdown(one.text)}  \n:small[:gray["
            f"{escape_markdown(' · '.join(facts))}]]"
        )
        if one.mend is not None and one.status == "open":
            label, about = words("world.curator.undo"), words("world.curator.undo.help")
            undo = partial(shown.engine.undo_mend, one)
            st.button(
                label, key=f"{key}-undo", icon=":material/undo:", help=about, on_click=run_page_action, args=(undo,)
            )
            _draw_single_undos(shown, one, key)
        elif one.status == "open":
            with st.container(horizontal=True, gap="small"):
                _draw_word(shown, one, "accepted", f"{key}-accept", "check")
                _draw_word(shown, one, "dismissed", f"{key}-dismiss", "do_not_disturb_on")


def _draw_single_undos(shown: WorldView, one: StoryFinding, key: str) -> None:
    """Draws a button for each value that the curator has put right, where there are several."""
    words, values = shown.view.words, shown.engine.list_mended_values(one)
    for at, value in enumerate(values if len(values) > 1 else ()):
        name = " → ".join(map(str, value.key)) or one.subject
        label = words("world.curator.undo.single", name=name, value=words(f"world.curator.value.{value.name}"))
        undo = partial(shown.engine.undo_mend, one, value)
        st.button(
            escape_markdown(label), key=f"{key}-undo-{at}", type="tertiary", on_click=run_page_action, args=(undo,)
        )


def _draw_word(shown: WorldView, one: StoryFinding, status: FindingStatus, key: str, icon: str) -> None:
    words, worlds = shown.view.words, shown.engine.store.worlds
    label, about = words(f"world.curator.{status}"), words(f"world.curator.{status}.help")
    st.button(
        label, key=key, icon=f":material/{icon}:", help=about,
        on_click=run_page_action, args=(partial(worlds.set_finding, one.id, status),),
    )  # fmt: skip


def _draw_notebook(shown: WorldView, block: CuratedBlock | None, prefix: str) -> None:
    """Draws the text of the notebook as it is at this turn, in a field of its own for every version."""
    words, version = shown.view.words, (block.node, block.version) if block else (0, 0)
    st.markdown(f"## {words('world.curator.notebook')}", anchors=False)
    st.caption(_describe_notebook(words, shown, block))
    typed = f"{prefix}world-typed-notebook-{place_of(shown)}-{version[0]}-{version[1]}"
    set_field_default(typed, block.text if block else "")
    st.text_area(
        words("world.curator.notebook"), key=typed, height=200, label_visibility="collapsed", on_change="ignore",
        persist_state="page",
    )  # fmt: skip
    save = partial(_save_notebook, shown, typed)
    st.button(words("world.save"), key=f"{prefix}world-notebook-save", on_click=save)


def _describe_notebook(words: Words, shown: WorldView, block: CuratedBlock | None) -> str:
    if block is None:
        return escape_markdown(words("world.curator.notebook.none"))
    turn = shown.engine.store.worlds.node(block.node).turn
    return escape_markdown(words("world.curator.notebook.version", version=block.version, turn=turn))


def _save_notebook(shown: WorldView, typed: str) -> None:
    text = clean_text(str(st.session_state.get(typed) or "")).strip()
    if len(text) > LIMIT:
        store_page_error(TooLong(what="notebook", size=len(text), limit=LIMIT))
    elif shown.node is not None:
        run_page_action(partial(shown.engine.store.worlds.put_block, shown.node, "narrative_memory", text))


def _render_block_refusals(shown: WorldView, node: StoryNode) -> None:
    """Draws what of the last answers' state blocks was not taken, and why."""
    words = shown.view.words
    st.markdown(f"## {words('world.refusals')}", anchors=False)
    nodes = shown.engine.store.worlds.path(node, EVERY)[::-1]
    lines = [(one.turn, text) for one in nodes for text in one.refusals]
    if not lines:
        st.caption(escape_markdown(words("world.refusals.none", count=EVERY)))
        return
    st.markdown(
        "\n".join(
            f"- {escape_markdown(words('world.timeline.turn', turn=turn))}: {escape_markdown(text)}"
            for turn, text in lines
        )
    )
