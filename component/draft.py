"""What is typed and not sent stays with its conversation; Streamlit's one input would carry it into the next."""

from __future__ import annotations

import streamlit as st

from component.view import CREATED, on_documents

_SCRIPT = """
export default function (component) {
  const { session, created } = component.data;
  const area = () => document.querySelector('[data-testid="stChatInput"] textarea');
  if (!window.gieokDrafts) {
    window.gieokDrafts = { now: session, created, kept: {} };
    const keep = () => setTimeout(() => {  // after the input has been emptied by sending
      if (area()) window.gieokDrafts.kept[window.gieokDrafts.now] = area().value;
    });
    for (const kind of ["input", "keyup", "click"]) addEventListener(kind, keep);
  }
  const drafts = window.gieokDrafts;
  if (drafts.now === session) return;
  if (area()) drafts.kept[drafts.now] = area().value;
  if (created === session && drafts.created !== created) {  // by the message that was sent: what is typed belongs here
    drafts.kept[session] = drafts.kept[drafts.now] ?? "";
    drafts.kept[drafts.now] = "";
  }
  Object.assign(drafts, { now: session, created });
  const text = drafts.kept[session] ?? "";
  const put = (tries) => {
    if (drafts.now !== session) return;
    if (!area()) { if (tries) setTimeout(put, 100, tries - 1); return; }
    if (area().value === text) return;
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(area(), text);
    area().dispatchEvent(new Event("input", { bubbles: true }));
  };
  put(50);
}
"""

_component = st.components.v2.component("gieok_draft", js=_SCRIPT)


def keep_draft(session_id: str | None) -> None:
    """Changes what stands in the input with the conversation; a new chat and the documents are places of their own."""
    place = "documents" if on_documents() else session_id or "new"
    _component(key="draft", data={"session": place, "created": st.session_state.get(CREATED, "")})
