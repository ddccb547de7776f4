"""The automatic title of a session: the first line of its first question."""

from __future__ import annotations

from text.clean import clean

TITLE_CHARS = 60


def first_line(question: str) -> str:
    """Returns a question as a title, in one line of at most ``TITLE_CHARS`` characters."""
    return " ".join(clean(question).split())[:TITLE_CHARS]
