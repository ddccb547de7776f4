"""An error on the page: what failed, what to do, and the button to try again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import streamlit as st

from component.page.catalogue import Words
from component.widget.markdown import escape_markdown
from errors import GieokError

_ADDRESS = re.compile(r"(\b[a-z]+://[\w.:/%?=&@\[\]-]*[\w/])", re.ASCII)


def draw_error(words: Words, error: GieokError) -> None:
    """Draws the box of an error."""
    draw_box(words, error.code, error.text(), error.values)


@contextmanager
def render_raised_error(words: Words) -> Iterator[None]:
    """Draws a ``GieokError`` of the ``with`` block in the place of the block.

    For windows: a window draws itself again without the page around it, which shows errors otherwise.
    """
    try:
        yield
    except GieokError as error:
        draw_error(words, error)


def draw_turn_error(words: Words, error: dict[str, Any]) -> None:
    """Draws the box of a turn's stored error (``code``, ``message``, ``values``)."""
    draw_box(words, str(error.get("code")), str(error.get("message", "")), error.get("values") or {})


def draw_box(words: Words, code: str, message: str, values: dict[str, Any]) -> None:
    """Draws a box that says in bold what failed, and below what to do."""
    st.error(_format_error(*words.error(code, message, values)), icon=":material/error:")


def show_error_toast(words: Words, error: GieokError) -> None:
    """Shows over the page, for some seconds, what failed and what to do: where a box would stand out of sight."""
    st.toast(
        _format_error(*words.error(error.code, error.text(), error.values)), icon=":material/error:", duration="long"
    )


def _format_error(said: str, hint: str) -> str:
    return f"**{quote_addresses(said)}**" + (f"  \n{quote_addresses(hint)}" if hint else "")


def quote_addresses(text: str) -> str:
    """Returns plain text with addresses as code: Markdown would make links of them, Korean particles included."""
    parts = _ADDRESS.split(text)
    return "".join(f"`{part}`" if index % 2 else escape_markdown(part) for index, part in enumerate(parts))


def retry_button(label: str, key: str, action: Callable[[], None], promising: bool = True) -> None:
    """Draws the button under an error; ``promising`` is False when the user must change something first."""
    kind: Literal["secondary", "tertiary"] = "secondary" if promising else "tertiary"
    st.button(label, key=key, icon=":material/refresh:", type=kind, on_click=action)
