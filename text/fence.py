"""Text as data inside a frame of tags."""

from __future__ import annotations

import re

from text.clean import clean


def fenced(text: str, *tags: str) -> str:
    """Returns the text as data that can neither close nor open a frame of these tags."""
    return re.sub(rf"<(?=\s*/?\s*(?:{'|'.join(tags)}))", "‹", clean(text), flags=re.IGNORECASE)
