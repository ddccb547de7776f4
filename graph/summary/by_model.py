"""A summary in the model's own words: one request, and a second one for what is missing or too long (design 5.2)."""

from __future__ import annotations

import threading

import prompt
from graph.summary.original import Original, WriterDraft, strip_json
from model.call.talk import Talk
from model.modelset import ModelSet
from text import sentence
from text.answer.reply import strip_around, strip_fences, strip_thoughts
from text.fact import fact, note, pack

LEAST_TARGET = 12
"""Fewest characters that a request asks for: a model cannot follow a request for fewer."""


def write_model_summary(source: Original, models: ModelSet, stop: threading.Event | None) -> WriterDraft:
    """Writes plain text with the utility model. Asks for one repair when facts are missing, the text is too long or its
    end is cut off.

    Cuts a reply that is still too long to whole sentences that fit; the words are the model's in any case. Raises
    ``Stopped`` and the model's own errors.
    """
    talk = Talk(models, stop, source.build_opening(compute_message_limit(source, models)))
    text = _ask_summary_text(source, talk)
    counted = (talk.prompt_tokens, talk.answer_tokens, talk.exact, talk.calls, talk.cached_tokens)
    return WriterDraft(text, models.side_name, *counted, talk.usd, talk.cache_usd)


def _ask_summary_text(source: Original, talk: Talk) -> str:
    target = max(source.room.target, LEAST_TARGET)
    wish = prompt.render_prompt("summary_text_hint", source.language, hint=source.hint) if source.hint else ""
    request = prompt.render_prompt("summary_text", source.language, target=target)
    first = _ask_clean_reply(source, talk, "\n".join(filter(None, (request, wish))))
    lost, cut = _worth_asking(source, first), talk.cut
    if not cut and (not first or (not lost and len(first) <= source.limit)):
        return first
    missing = ", ".join(loss.text for loss in lost) or "–"
    request = prompt.render_prompt(
        "summary_text_repair", source.language, length=len(first), target=target, lost=missing
    )
    return _choose_better_text(source, first, _ask_clean_reply(source, talk, "\n".join(filter(None, (request, wish)))))


def _ask_clean_reply(source: Original, talk: Talk, request: str) -> str:
    """Returns the reply without what stands around it; drops the last sentence of a reply that was cut off."""
    reply = strip_json(strip_fences(strip_thoughts(talk.ask(request))))
    reply = strip_around(reply, source.has_fact, source.is_about)
    return " ".join(sentence.split_sentences(reply)[:-1]) if talk.cut else reply


def _choose_better_text(source: Original, first: str, second: str) -> str:
    """Returns the version that keeps more facts, cut to whole sentences that fit; the second version on a tie."""
    fitted = [text for text in (fit_sentences(source, second), fit_sentences(source, first)) if text]
    return max(
        fitted,
        key=lambda text: sum(fact.has_fact_value(text, source_fact) for source_fact in source.facts),
        default=second or first,
    )


def fit_sentences(source: Original, text: str) -> str:
    """Returns the text; of a text that is too long, the sentences that fit and hold the most."""
    if len(text) <= source.limit:
        return text
    notes = [note.SummaryNote(piece, index) for index, piece in enumerate(sentence.split_sentences(text))]
    return pack.pack_notes(notes, source.weighted_facts, source.room)


def _worth_asking(source: Original, text: str) -> list[fact.Fact]:
    """Returns the lost facts that may still find room: those that the user or the assistant said, in order, up to half
    the target's length."""
    lost, free = [], source.room.target / 2
    for candidate in filter(source.is_said, source.facts):
        if len(candidate.text) <= free and not fact.has_fact_value(text, candidate):
            lost.append(candidate)
            free -= len(candidate.text) + 2
    return lost


def compute_message_limit(source: Original, models: ModelSet) -> int:
    """Returns how many characters a message may take in the prompt, so that all messages fit half of the model's
    context."""
    tokens = models.context_size // 2
    sizes = sorted(len(message.text) for message in source.messages)
    if sum(sizes) <= tokens:
        return max(sizes, default=0)
    left, free = len(sizes), float(tokens * len(source.original) / max(1, models.count(source.original)))
    for size in sizes:  # short messages stay whole, longer ones share the rest
        if size > free / left:
            return int(free / left)
        free, left = free - size, left - 1
    return sizes[-1]
