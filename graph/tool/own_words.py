"""Tells whether the user's own message says something, for calls that would change memory after text of others."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from graph.choice.wish import is_forget_wish, is_wish
from memory.line import has_whole_value, letters_of
from text import sentence
from text.clean import clean_text, collapse_spaces
from text.sentence import is_question

LEAST_LETTERS = 2
"""Letters below which a text may stand in a message by chance."""


def is_stated(message: str, text: str) -> bool:
    """Returns whether the message says this text as a whole, in spellings that differ in case, width and spaces.

    A question says nothing, unless it asks for something to be kept: who asks «Is 9 Elm Road far?» gives no address.
    """
    return _is_told_by(text, (piece for piece in _split_sentences(message) if not is_question(piece) or is_wish(piece)))


def is_to_be_forgotten(message: str, text: str) -> bool:
    """Returns whether the message names this text in a sentence that asks to forget. To name it is not enough: who
    says «my address is 9 Elm Road now» wants nothing forgotten."""
    return _is_told_by(text, filter(is_forget_wish, _split_sentences(message)))


def _split_sentences(message: str) -> list[str]:
    return list(sentence.split_sentences(clean_text(message)))


def _is_told_by(text: str, pieces: Iterable[str]) -> bool:
    wanted = _normalize_spelling(text)
    return len(letters_of(wanted)) >= LEAST_LETTERS and any(
        has_whole_value(_normalize_spelling(piece), wanted) for piece in pieces
    )


def _normalize_spelling(text: str) -> str:
    return collapse_spaces(unicodedata.normalize("NFKC", clean_text(text)).casefold()).strip(" .!,;:。")
