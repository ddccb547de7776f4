"""A summary in the model's own words: one request, and one more for what is missing or too long (design §5)."""

from __future__ import annotations

import threading

import prompt
from graph.summary.source import Draft, Source
from model.modelset import ModelSet
from model.talk import Talk
from text import fact, note, pack, sentence

LEAST_TARGET = 12
"""Characters that are asked for at least: a model makes nothing of a request for fewer."""


def write(source: Source, models: ModelSet, stop: threading.Event | None) -> Draft:
    """Plain text by the utility model; one repair when facts are missing, the length is passed or the end is.

    A reply that is still too long is cut to whole sentences that fit; its words are the model's in any case. Raises
    ``Stopped`` and the model's own errors.
    """
    talk = Talk(models, stop, source.opening(longest(source, models)))
    text = _text(source, talk)
    return Draft(text, models.side_name, talk.prompt_tokens, talk.answer_tokens, talk.exact, talk.calls)


def _text(source: Source, talk: Talk) -> str:
    target = max(source.room.target, LEAST_TARGET)
    first = _complete(talk, prompt.render("summary_text", source.language, target=target))
    lost, cut = _worth_asking(source, first), talk.cut
    if not cut and (not first or (not lost and len(first) <= source.limit)):
        return first
    missing = ", ".join(one.text for one in lost) or "–"
    request = prompt.render("summary_text_repair", source.language, length=len(first), target=target, lost=missing)
    return _better(source, first, _complete(talk, request))


def _complete(talk: Talk, request: str) -> str:
    """The reply; one that was cut off without the sentence that it ends in."""
    reply = talk.ask(request)
    return " ".join(sentence.split(reply)[:-1]) if talk.cut else reply


def _better(source: Source, first: str, second: str) -> str:
    """Of two versions, cut to whole sentences that fit, the one that keeps more facts; the second on a tie."""
    fitted = [text for text in (_whole(source, second), _whole(source, first)) if text]
    return max(fitted, key=lambda text: sum(fact.holds(text, one) for one in source.facts), default=second or first)


def _whole(source: Source, text: str) -> str:
    """The text, or when it is too long those of its sentences that fit and hold the most."""
    if len(text) <= source.limit:
        return text
    notes = [note.Note(piece, index) for index, piece in enumerate(sentence.split(text))]
    return pack.pack(notes, source.wanted, source.room)


def _worth_asking(source: Source, text: str) -> list[fact.Fact]:
    """The lost facts that may still find room: those that were said, in order, up to half the target's length."""
    lost, free = [], source.room.target / 2
    for one in (wanted.fact for wanted in source.wanted if wanted.weight >= 1):
        if len(one.text) <= free and not fact.holds(text, one):
            lost.append(one)
            free -= len(one.text) + 2
    return lost


def longest(source: Source, models: ModelSet) -> int:
    """Characters that each message may take in the prompt, so that all fit half of the model's context."""
    tokens = models.context_size // 2
    sizes = sorted(len(message.text) for message in source.messages)
    if sum(sizes) <= tokens:
        return max(sizes, default=0)
    left, free = len(sizes), float(tokens * len(source.original) / max(1, models.count(source.original)))
    for size in sizes:  # short messages whole, the rest shares what they leave
        if size > free / left:
            return int(free / left)
        free, left = free - size, left - 1
    return sizes[-1]
