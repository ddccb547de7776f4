"""Text as data in a frame of tags."""

from __future__ import annotations

import re

from text.clean import clean


def fenced(text: str, *tags: str) -> str:
    """The text as data: it can neither close nor open a frame of these tags."""
    return re.sub(rf"<(?=/?\s*(?:{'|'.join(tags)}))", "‹", clean(text), flags=re.IGNORECASE)
