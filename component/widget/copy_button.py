"""A button that copies a text as it was written; Streamlit has none (design 8.4)."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from component.page.catalogue import Words
from component.widget.markdown import sanitize_text

_component = st.components.v2.component(
    "gieok_copy", js=Path(__file__).with_suffix(".js").read_text("utf-8"), isolate_styles=False
)


def copy_button(words: Words, text: str, key: str) -> None:
    """Draws the button; on a page that is not secure (plain http on another host), it copies by ``execCommand``."""
    data = {"text": sanitize_text(text), "label": words("turn.copy"), "done": words("turn.copied")}
    sent = json.dumps(data, ensure_ascii=False).encode()  # a dict would be escaped: six bytes per Korean letter
    _component(key=key, width="content", data=sent)
