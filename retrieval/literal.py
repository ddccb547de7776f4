"""Text that stands in Markdown as what it is, not as marks.

What would begin a block gets a mark before it that ``retrieval.split`` takes out again: so no escape is ever shown.
"""

from __future__ import annotations

import re

MARK = "\ufdd0"
"""A code point that no text has: Unicode keeps it for use inside programs."""
_BLOCK = re.compile(r"^[ \t]*(?=[#<\[]|```|~~~|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def literal(text: str) -> str:
    """Paragraphs of text; none of their lines is a heading, a fence, HTML or a definition. Lists stay lists."""
    return _BLOCK.sub(rf"\g<0>{MARK}", text)


def escaped(text: str) -> str:
    """The words of a heading."""
    return _PUNCTUATION.sub(r"\\\1", text)
