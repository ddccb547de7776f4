"""A summary of sentences of the original, chosen by code in milliseconds (design §5)."""

from __future__ import annotations

import threading

from graph.summary.source import SMALL, Draft, Source
from model.modelset import ModelSet
from text import pack
from text.clean import clean


def write(source: Source, models: ModelSet, stop: threading.Event | None) -> Draft:
    """The sentences that hold the most facts and the most that is new; the beginning of the original where it is tiny
    or no sentence fits. Calls no model. '' only for an original without a sign."""
    return Draft(_packed(source) or _beginning(source))


def _packed(source: Source) -> str:
    if len(source.original) <= SMALL:
        return ""
    return pack.pack(source.sentences, source.wanted, source.room)


def _beginning(source: Source) -> str:
    """The original up to the end of a word within the room; a tiny original whole."""
    text = " ".join(clean(" ".join(message.text for message in source.messages)).split())
    most = len(source.original) if len(source.original) <= SMALL else source.room.most
    if len(text) <= most:
        return text
    return text[: most + 1].rpartition(" ")[0] or text[:most]
