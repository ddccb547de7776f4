"""What a page says without showing it: its language and colour scheme, names, an answer's start and end.

A small component of our own, because Streamlit keeps ``<html lang="en">``, has no live region (facts: ui.md §1.6), and
draws dialogs outside the element that knows whether the page is dark. On a phone it closes the sidebar after a choice.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from component.action import edit
from component.catalogue import Words
from component.job import Job
from component.view import to_newest
from graph.event import Done, Failed
from store import Turn

_SCRIPT = """
export default function (component) {
  const { data } = component;
  document.documentElement.lang = data.lang;
  const write = (tries) => {
    const draft = document.querySelector('[class*="st-key-draft-"] textarea');
    if (draft) {
      draft.focus();
      draft.setSelectionRange(draft.value.length, draft.value.length);
    } else if (tries) setTimeout(write, 100, tries - 1);
  };
  window.gieokEdit = () => component.setTriggerValue("edit", Date.now());
  if (!window.gieokKeys) {
    window.gieokKeys = true;
    addEventListener("keydown", (event) => {  // Esc that is meant for a field or a composition stops no answer
      const field = event.target.closest?.("input, textarea");
      const elsewhere = field && !field.closest('[data-testid="stChatInput"]');
      if (event.key === "Escape" && (elsewhere || event.isComposing || event.keyCode === 229)) {
        if (!event.target.closest('[role="dialog"]')) event.stopImmediatePropagation();
      }
    }, true);
    document.addEventListener("keydown", (event) => {
      const input = event.target.closest?.('[data-testid="stChatInput"] textarea');
      if (event.key === "ArrowUp" && input && !input.value && !event.isComposing) {
        event.preventDefault();
        window.gieokEdit();
        write(50);
      } else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        document.querySelector('[data-testid="stExpandSidebarButton"]')?.click();
        setTimeout(() => document.querySelector(".st-key-search input")?.focus(), 150);
      }
    });
  }
  const [jump, turn] = data.jump;
  if (jump && window.gieokJump !== jump) {
    let moved = false;
    const stay = () => { moved = true; };
    const seek = (tries, again) => {
      const found = document.querySelector(`.st-key-question-${turn}`);
      if (moved) return;
      if (found) {
        found.scrollIntoView({ block: "start" });
        window.gieokJump = jump;
        if (again) setTimeout(seek, 250, 0, again - 1);  // the list scrolls to its end while it is being filled
      } else if (tries) setTimeout(seek, 100, tries - 1, again);
    };
    for (const kind of ["wheel", "touchmove", "keydown"]) addEventListener(kind, stay, { once: true, passive: true });
    setTimeout(seek, 300, 50, 6);
  }
  const scheme = () => {
    const app = document.querySelector(".stApp");
    const now = app ? getComputedStyle(app).colorScheme : "";
    if (document.documentElement.style.colorScheme !== now) document.documentElement.style.colorScheme = now;
  };
  const name = () => {
    scheme();
    for (const [selector, label] of Object.entries(data.names)) {
      for (const each of document.querySelectorAll(selector)) {
        if (each.getAttribute("aria-label") !== label) each.setAttribute("aria-label", label);
      }
    }
    for (const each of document.querySelectorAll('[data-testid="stFileUploaderDropzone"] button p')) {
      if (each.dataset.label !== data.choose) each.dataset.label = data.choose;
    }
    for (const [selector, label] of Object.entries(data.regions)) {
      for (const each of document.querySelectorAll(selector)) {
        if (each.getAttribute("aria-label") === label) continue;
        each.setAttribute("role", "region");
        each.setAttribute("tabindex", "0");
        each.setAttribute("aria-label", label);
      }
    }
  };
  name();
  if (window.gieokNames) window.gieokNames.disconnect();
  if (!window.gieokCloses) {
    window.gieokCloses = true;
    document.addEventListener("click", (event) => {
      const open = '.st-key-sessions :is([class*="st-key-open-"], [class*="st-key-go-"]) button';
      const leads = `${open}, .st-key-new-chat button, .st-key-documents-open button`;
      if (innerWidth > 768 || !event.target.closest(leads)) return;
      document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
    });
  }
  let planned = false;
  window.gieokNames = new MutationObserver(() => {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => { planned = false; name(); });
  });
  window.gieokNames.observe(document.body, { childList: true, subtree: true });
}
"""

_SAY = """
export default function (component) {
  const { data } = component;
  let region = document.getElementById("gieok-live");
  if (!region) {
    region = document.createElement("div");
    region.id = "gieok-live";
    region.setAttribute("role", "status");
    region.setAttribute("aria-live", "polite");
    region.className = "gieok-unseen";
    document.body.appendChild(region);
  }
  if (region.dataset.serial !== data.serial) {
    region.dataset.serial = data.serial;
    region.textContent = data.say;
  }
}
"""

_component = st.components.v2.component("gieok_announce", js=_SCRIPT)
_say = st.components.v2.component("gieok_say", js=_SAY)  # apart: what stays the same is sent once (config.toml)

# What Streamlit gives no name, or an English one.
NAMES = {
    '[data-testid="stChatInputSubmitButton"]': "a11y.send",
    '[data-testid="stSidebarCollapseButton"] button': "a11y.sidebar.close",
    '[data-testid="stExpandSidebarButton"]': "a11y.sidebar.open",
    ".st-key-open-panel button": "panel.open",
    '[class*="st-key-session-menu-"] button': "session.menu",
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
    '[data-testid="stTextInputRootElement"] button': "a11y.key",
    '[data-testid="stPagination"] > [role="navigation"]': "a11y.pages",
    '[data-testid="stPaginationPrev"]': "a11y.pages.earlier",
    '[data-testid="stPaginationNext"]': "a11y.pages.later",
    '[data-testid="stFeedback"] > [role="radiogroup"]': "a11y.rating",
    '[class*="st-key-again-"] button': "turn.again",
    '[class*="st-key-more-"]:not(.st-key-more-sessions, .st-key-more-summaries) button': "turn.more",
    '[role="dialog"] > button': "a11y.close",
    '[class*="st-key-question-"] [data-testid="stChatMessageContent"]': "a11y.question",
    '[class*="st-key-answer-"] [data-testid="stChatMessageContent"]': "a11y.answer",
    '.st-key-live [data-testid="stChatMessageContent"]': "a11y.answer",
    '[class*="st-key-earlier-"] button': "turn.earlier",
    '[class*="st-key-later-"] button': "turn.later",
    '[class*="st-key-memory-pin-"] button': "memory.pin",
    '[class*="st-key-memory-unpin-"] button': "memory.unpin",
    '[class*="st-key-entity-menu-"] button': "memory.entity.menu",
    '[class*="st-key-thumb-"] button:first-of-type': "turn.up",
    '[class*="st-key-thumb-"] button:last-of-type': "turn.down",
}

# What scrolls must be reached with the keyboard.
_REGIONS = {
    '[class*="st-key-chat-"]': "a11y.chat",
    ".st-key-panel": "panel.title",
    '[data-testid="stLayoutWrapper"]:has(> .st-key-documents)': "documents.title",
    '[data-testid="stLayoutWrapper"]:has(> .st-key-sessions)': "session.list",
}


def announce(words: Words, session_id: str | None, job: Job | None, last: Turn | None) -> bool:
    """Tells a screen reader when an answer starts and how it has ended; Up edits the question of the ``last`` turn.

    Ctrl/⌘+K leads to the search. Returns whether an answer of this page has just been completed.
    """
    before, serial, say = st.session_state.get("announced", (None, 0, ""))
    here = before if before is not None and before.session == session_id else None
    news = changes(here, job)
    if news:
        serial, say = serial + 1, " ".join(words(f"a11y.{each}") for each in news)
    st.session_state["announced"] = (job, serial, say)
    jump = st.session_state.get("jump", (0, 0))
    data: dict[str, object] = {"jump": list(jump), "lang": words.language}
    data["names"] = {selector: words(key) for selector, key in NAMES.items()}
    data["choose"] = words("documents.choose")
    data["regions"] = {selector: words(key) for selector, key in _REGIONS.items()}
    with st.container(key="announce"):
        _component(key="announcer", data=data, on_edit_change=partial(_edit, last, job is not None))
        _say(key="say", data={"say": say, "serial": str(serial)})
    return "done" in news


def changes(before: Job | None, now: Job | None) -> list[str]:
    """What there is to say, by the job of a conversation in the last run of the page and now: how the one ended, that
    the other started."""
    if before is now:
        return []
    return [*([_outcome(before)] if before else []), *(["started"] if now else [])]


def _outcome(job: Job) -> str:
    match job.progress.end:
        case Done(stopped=stopped):
            return "stopped" if stopped else "done"
        case Failed():
            return "failed"
    return "refused"


def _edit(last: Turn | None, running: bool) -> None:
    if last is not None and not running:
        to_newest(last.session_id)  # it may be out of sight
        edit(last)
