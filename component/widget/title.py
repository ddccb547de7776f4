"""The title of a conversation where conversations are listed."""

from __future__ import annotations

from component.page.catalogue import Words
from component.widget.markdown import sanitize_text, shorten_text
from text.clean import collapse_spaces


def listed_title(words: Words, title: str, chars: int) -> str:
    """Returns the title on one line, at most ``chars`` long; «new chat» for a conversation without a title."""
    return sanitize_text(shorten_text(collapse_spaces(title), chars)) or words("session.new")
