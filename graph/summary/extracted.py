"""A summary of sentences of the original, which code chooses in milliseconds (design 5.2)."""

from __future__ import annotations

import threading

from graph.summary.original import SMALL, Original, WriterDraft
from model.modelset import ModelSet
from text.clean import clean_text, collapse_spaces
from text.cut import cut_graphemes
from text.fact import pack


def write_extracted_summary(source: Original, models: ModelSet, stop: threading.Event | None) -> WriterDraft:
    """Returns the sentences that hold the most facts and the most new text. Returns the beginning of the original when
    the original is tiny or no sentence fits. Calls no model. The text is '' only for an original without any sign."""
    return WriterDraft(extract_text(source))


def extract_text(source: Original) -> str:
    """Returns the text of ``write_extracted_summary``, for which no model need be there."""
    return _pack_original_sentences(source) or _cut_original_beginning(source)


def _pack_original_sentences(source: Original) -> str:
    if len(source.original) <= SMALL:
        return ""
    return pack.pack_notes(source.sentences, source.weighted_facts, source.room)


def _cut_original_beginning(source: Original) -> str:
    """Returns the original up to the end of a word within the room; all of a tiny original."""
    text = collapse_spaces(clean_text(" ".join(message.text for message in source.messages)))
    most = len(source.original) if len(source.original) <= SMALL else source.room.most
    if len(text) <= most:
        return text
    return text[: most + 1].rpartition(" ")[0] or cut_graphemes(text, most)
