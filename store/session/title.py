"""The automatic title of a session: the first line of its first question."""

from __future__ import annotations

from text.clean import clean_text, collapse_spaces
from text.cut import cut_graphemes
from text.fence import remove_frames

TITLE_CHARS = 60


def first_line(question: str) -> str:
    """Returns the user's words of a question as a title, in one line of at most ``TITLE_CHARS`` characters."""
    return cut_graphemes(collapse_spaces(clean_text(remove_frames(question))), TITLE_CHARS)
