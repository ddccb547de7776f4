"""A model's reply without what stands around it: thoughts, code fences, lines that announce it or say goodbye.

Found by their form and place, not by phrases: whatever holds nothing of what the model was to write about.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from text.answer.thought_name import INNER_NAMES

_THOUGHT = rf"(?:{'|'.join(INNER_NAMES)})"
_OPENED = re.compile(rf"\A\s*<({_THOUGHT})>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CLOSED = re.compile(rf"\A.*?</{_THOUGHT}>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^\s*(?:```|~~~).*$", re.MULTILINE)
_HEADING = re.compile(r"#.*|\*\*[^*]+\*\*|.*[:：]\W*")


def strip_thoughts(reply: str) -> str:
    """Returns the reply without the thoughts that it begins with. Thoughts that never end are all of the reply."""
    while (rest := _OPENED.sub("", reply, count=1)) != reply:
        reply = rest
    return _CLOSED.sub("", reply, count=1).strip()


def strip_fences(reply: str) -> str:
    """Returns the reply without the lines that open or close a block of code."""
    return _FENCE.sub("", reply).strip()


def strip_around(reply: str, has_fact: Callable[[str], bool], is_about: Callable[[str], bool]) -> str:
    """Returns the reply without announcing lines before it and idle paragraphs around it.

    An announcing line ends in a colon or is a heading, and holds no fact. An idle paragraph holds nothing of the
    matter. ``has_fact``, ``is_about``: whether a piece holds a fact, or anything, of what the reply is about. A reply
    that is idle as a whole stays as it is.
    """
    head, _, rest = reply.partition("\n")
    while rest.strip() and _HEADING.fullmatch(head.strip()) and not has_fact(head):
        reply = rest.strip()
        head, _, rest = reply.partition("\n")
    paragraphs = re.split(r"\n\s*\n", reply)
    while len(paragraphs) > 1 and not is_about(paragraphs[0]):
        del paragraphs[0]
    while len(paragraphs) > 1 and not is_about(paragraphs[-1]):
        del paragraphs[-1]
    return "\n\n".join(paragraphs).strip()
