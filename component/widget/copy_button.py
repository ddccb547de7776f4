"""A button that copies a text as it was written; Streamlit has none (design 8.4)."""

from __future__ import annotations

import json

import streamlit as st

from component.page.catalogue import Words
from component.widget.markdown import sanitize_text

_SCRIPT = """
export default function (component) {
  const { parentElement } = component;
  const data = JSON.parse(new TextDecoder().decode(component.data));
  let button = parentElement.querySelector("button");
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    button.className = "gieok-copy";
    parentElement.appendChild(button);
  }
  const name = (label, sign) => {
    button.setAttribute("aria-label", label);
    button.title = label;
    button.textContent = sign;
  };
  const put = (text) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    document.body.appendChild(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    return Promise.resolve();
  };
  name(data.label, "content_copy");
  button.onclick = () => put(data.text).then(() => {
    name(data.done, "check");
    setTimeout(() => name(data.label, "content_copy"), 1500);
  });
}
"""

_component = st.components.v2.component("gieok_copy", js=_SCRIPT, isolate_styles=False)


def copy_button(words: Words, text: str, key: str) -> None:
    """Draws the button; on a page that is not secure (plain http on another host), it copies by ``execCommand``."""
    data = {"text": sanitize_text(text), "label": words("turn.copy"), "done": words("turn.copied")}
    sent = json.dumps(data, ensure_ascii=False).encode()  # a dict would be escaped: six bytes per Korean letter
    _component(key=key, width="content", data=sent)
