"""Escaping of text that must stay literal in Markdown.

A mark goes before each character that would begin a block, and ``retrieval.read.split`` removes the mark again, so no
escape is ever shown.
"""

from __future__ import annotations

import re

MARK = "\ufdd0"
"""A code point that occurs in no text: Unicode reserves it for use inside programs."""
_BLOCK = re.compile(r"^[ \t]*(?=[#<\[]|```|~~~|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def escape_blocks(text: str) -> str:
    """Returns paragraphs of text in which no line is a heading, a fence, HTML or a definition. Lists stay lists."""
    return _BLOCK.sub(rf"\g<0>{MARK}", text)


def escape_heading(text: str) -> str:
    """Returns the words of a heading with their punctuation escaped."""
    return _PUNCTUATION.sub(r"\\\1", text)
