"""Text as data inside a frame of tags."""

from __future__ import annotations

import re

from text.clean import clean_text, collapse_spaces
from text.cut import cut_graphemes


def fence_text(text: str, *tags: str) -> str:
    """Returns the text as data that can neither close nor open a frame of these tags."""
    return re.sub(rf"<(?=\s*/?\s*(?:{'|'.join(tags)}))", "‹", clean_text(text), flags=re.IGNORECASE)


OUTSIDE = "outside"
"""The tag of what a client sends along with a message: a file's text, or data. The user did not write it."""
_FRAME = re.compile(rf'<{OUTSIDE} name="(?P<name>[^"<>\n]*)">\n(?P<text>.*?)\n</{OUTSIDE}>', re.DOTALL)


def frame_outside_text(name: str, text: str, note: str) -> str:
    """Returns text from outside in a frame that it cannot leave. ``note``: what the model must know of it."""
    label = collapse_spaces(fence_text(name, OUTSIDE).replace('"', "'").replace("<", "‹").replace(">", "›"))
    return f'<{OUTSIDE} name="{cut_graphemes(label, 200)}">\n{note}\n\n{fence_text(text, OUTSIDE)}\n</{OUTSIDE}>'


def has_frame(text: str) -> bool:
    """Returns whether a message holds text from outside."""
    return _FRAME.search(text) is not None


def remove_frames(text: str) -> str:
    """Returns what the user said, without what was sent along."""
    return _FRAME.sub("", text).strip() if has_frame(text) else text


def find_words(text: str) -> str:
    """Returns what a message is known and compared by: what the user said, or all of it where the user said nothing."""
    return remove_frames(text) or text


def reword_message(text: str, words: str) -> str:
    """Returns a message with other words of the user; what was sent along stays, in front of them."""
    return "\n\n".join([*(frame[0] for frame in _FRAME.finditer(text)), words])


def list_frames(text: str) -> list[tuple[str, str]]:
    """Returns the names and the texts of what was sent along with a message, in order."""
    return [(frame["name"], frame["text"]) for frame in _FRAME.finditer(text)]
