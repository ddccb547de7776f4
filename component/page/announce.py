"""What the page tells the browser and screen readers: language, colour scheme, names, an answer's start and end, what a
lost connection means.

A small component of our own, because Streamlit keeps ``<html lang="en">``, has no live region (design 8.4), and
draws dialogs outside the element that knows whether the page is dark. On a phone the component closes the sidebar after
a choice. Elsewhere it puts the cursor into the input when the page opens and when a new chat begins.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import assert_never

import streamlit as st

from component.answer.turn_editor import OPENED, open_turn_editor
from component.page.catalogue import Words
from component.page.view import BEGUN, GIVEN_BACK, PAGE, SESSION, build_page_view, to_newest
from component.work.job import Job
from graph.turn.event import Done, Failed, TurnQuestions

_FOLDER = Path(__file__).parent
_component = st.components.v2.component("gieok_announce", js=(_FOLDER / "announce.js").read_text("utf-8"))
# apart, so that _component's data is sent once (config.toml)
_say = st.components.v2.component("gieok_say", js=(_FOLDER / "say.js").read_text("utf-8"))

_OPENER = ".st-key-open-panel button"
# Selector → catalogue key of the accessible name, for controls that Streamlit names in English or not at all.
NAMES = {
    '[data-testid="stChatInputSubmitButton"]': "a11y.send",
    '[data-testid="stSidebarCollapseButton"] button': "a11y.sidebar.close",
    '[data-testid="stExpandSidebarButton"]': "a11y.sidebar.open",
    _OPENER: "panel.open",
    '[class*="st-key-document-menu-"] button': "documents.menu",
    '[data-testid="stFileUploaderDropzone"] button:not([data-testid="stFileChipDeleteBtn"] *)': "documents.choose",
    '[data-testid="stChatInputFileUploadButton"] button': "documents.choose",
    '[data-testid="stFileChipDeleteBtn"] button': "a11y.file.remove",
    '[data-testid="stSkipToContent"]': "a11y.skip",
    '[data-testid="stSidebar"]': "a11y.sidebar",
    '[data-testid="stTooltipIcon"] button:not([data-testid])': "a11y.help",
    '[data-testid="stCode"] [data-testid="stElementToolbarButton"] button': "a11y.copy",
    '[data-testid="stNumberInputStepDown"]': "a11y.less",
    '[data-testid="stNumberInputStepUp"]': "a11y.more",
    '[data-testid="stSelectbox"] button[aria-haspopup="listbox"]': "a11y.choices",
    '[data-testid="stTextInputRootElement"] button': "a11y.key",
    '[data-testid="stPagination"] > [role="navigation"]': "a11y.pages",
    '[data-testid="stPaginationPrev"]': "a11y.pages.earlier",
    '[data-testid="stPaginationNext"]': "a11y.pages.later",
    '[data-testid="stFeedback"] > [role="radiogroup"]': "a11y.rating",
    ".st-key-new-private button": "private.create",
    ".st-key-documents-open button": "documents.title",
    ".st-key-worlds-open button": "world.title",
    '[class*="world-imported-close"] button': "a11y.close",
    '[class*="st-key-again-"] button': "turn.again",
    '[class*="st-key-edit-question-"] button': "turn.edit",
    '[class*="st-key-more-"]:not(.st-key-more-summaries) button': "turn.more",
    '[role="dialog"] > button': "a11y.close",
    '[class*="st-key-question-"] [data-testid="stChatMessageContent"]': "a11y.question",
    '[class*="st-key-answer-"] [data-testid="stChatMessageContent"]': "a11y.answer",
    '.st-key-live [data-testid="stChatMessageContent"]': "a11y.answer",
    '[class*="st-key-earlier-"] button': "turn.earlier",
    '[class*="st-key-later-"] button': "turn.later",
    '[class*="st-key-memory-pin-"] button': "memory.pin",
    '[class*="st-key-memory-unpin-"] button': "memory.unpin",
    '[class*="st-key-profile-forget-"] button': "memory.profile.forget",
    '[class*="st-key-known-change-"] button': "known.change",
    '[class*="st-key-known-forget-"] button': "memory.profile.forget",
    '[class*="st-key-entity-menu-"] button': "memory.entity.menu",
    '[class*="st-key-thumb-"] button:first-of-type': "turn.up",
    '[class*="st-key-thumb-"] button:last-of-type': "turn.down",
}

# Scrolling areas, with the catalogue keys of their names: the script makes them reachable with the keyboard.
_REGIONS = {
    '[class*="st-key-chat-"]': "a11y.chat",
    ".st-key-panel": "panel.title",
    '[data-testid="stLayoutWrapper"]:has(> .st-key-documents)': "documents.title",
    '[data-testid="stLayoutWrapper"]:has(> .st-key-worlds)': "world.title",
    '[data-testid="stLayoutWrapper"]:has(> .st-key-sessions)': "session.list",
}


def render_announcer(words: Words, session_id: str | None, job: Job | None, panel: str = "panel.title") -> None:
    """Tells a screen reader when an answer starts and how it ended, and sends the page's language and names. ``panel``:
    the key of the panel's name.

    Also sets a key: Up edits the question of the last turn.
    """
    before, serial, say = st.session_state.get("announced", (None, 0, ""))
    previous = before if before is not None and before.session == session_id else None
    news = list_job_events(previous, job)
    if news:
        serial, say = serial + 1, " ".join(words(f"a11y.{event}") for event in news)
    st.session_state["announced"] = (job, serial, say)
    jump = st.session_state.get("jump", (0, 0))
    data: dict[str, object] = {"jump": list(jump), "lang": words.language}
    data["editor"], data["begun"] = list(st.session_state.get(OPENED, (0, ""))), st.session_state.get(BEGUN, 0)
    mark, text, address = st.session_state.get(GIVEN_BACK, ("", "", ""))
    data["back"] = [mark, text] if address == st.query_params.get(SESSION, "") else ["", ""]
    data["names"] = {selector: words(key) for selector, key in {**NAMES, _OPENER: panel}.items()}
    data["menu"] = words("a11y.menu")
    data["choose"], data["lost"] = words("documents.choose"), words("page.lost", since="{since}")
    data["regions"] = {selector: words(key) for selector, key in {**_REGIONS, ".st-key-panel": panel}.items()}
    with st.container(key="announce"):
        _component(key="announcer", data=data, on_edit_change=partial(_edit_newest_turn, words))
        _say(key="say", data={"say": say, "serial": str(serial)})


def list_job_events(before: Job | None, now: Job | None) -> list[str]:
    """Returns the events to announce, given the job of a conversation in the last page run and its job now.

    The events are the outcome of the old job and «started» for the new one.
    """
    if before is now:
        return []
    return [*([_classify_job_outcome(before)] if before else []), *(["started"] if now else [])]


def _classify_job_outcome(job: Job) -> str:
    match job.progress.end:
        case Done(stopped=stopped):
            return "stopped" if stopped else "done"
        case Failed():
            return "failed"
        case TurnQuestions():
            return "waiting"
        case None:
            return "refused"
        case end:
            assert_never(end)


def _edit_newest_turn(words: Words) -> None:
    """Opens the editor of the last turn, unless an answer is running at the time of the key; only in a conversation.

    The page run that set the key up may be older: the answer stands on the page before that run has ended.
    """
    if PAGE in st.query_params:
        return
    view = build_page_view(words)
    turns = view.store.turns(view.session_id, limit=1) if view.session_id and view.job is None else []
    for turn in turns:
        if not turn.number:  # a story's greeting is nobody's question
            return
        to_newest(turn.session_id)  # the last turn may be out of view
        open_turn_editor(turn)
