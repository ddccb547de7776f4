"""Drafting a summary with the utility model: plain text, or notes that code packs; one repair each (design §5)."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

import prompt
from graph.source import Source
from memory.stated import contradicted
from model.modelset import ModelSet
from model.stream import complete, cut_off, usage
from text import fact, note, pack, sentence
from text.clean import clean

NOTE = {"ko": 45, "en": 90}
"""Characters of a usual note, by language."""
MOST_NOTES, MOST_REPAIRED = 24, 3
MOST_TOKENS = 3000
"""Prompt tokens of the embedded model's summaries: about a minute and a half of reading on two cores."""
ASKED = 0.8
"""Notes are asked for this share of the target; sentences of the original fill what they leave."""
COPIED = 0.85
"""A note that shares this much with a sentence of the original is that sentence, and its speaker's words."""


@dataclass
class Talk:
    """One exchange with the utility model: a repair goes on where the first call ended, so its prefix is cached.

    ``cut``: the last reply ended because its tokens were used up.
    """

    models: ModelSet
    stop: threading.Event | None
    messages: list[AnyMessage]
    prompt_tokens: int = 0
    answer_tokens: int = 0
    exact: bool = True
    calls: int = 0
    cut: bool = False

    def ask(self, request: str, **bind: Any) -> str:
        """The model's reply to a further request."""
        last = self.messages[-1]
        if isinstance(last, HumanMessage):  # one user message: the dialogue, then the request
            self.messages[-1] = HumanMessage(f"{last.text}\n\n{request}")
        else:
            self.messages.append(HumanMessage(request))
        answer = complete(self.models.utility, list(self.messages), stop=self.stop, **bind)
        self._count(answer)
        self.cut = cut_off(answer)
        said = clean(answer.text).strip()
        self.messages.append(AIMessage(said))
        return said

    def _count(self, answer: AIMessage) -> None:
        asked, _, answered, exact = usage(answer)
        self.calls += 1
        self.exact = self.exact and exact
        self.prompt_tokens += asked if exact else sum(self.models.count(each.text) for each in self.messages)
        self.answer_tokens += answered if exact else self.models.count(answer.text)


def prose(source: Source, talk: Talk) -> str:
    """Plain text, for models that write well; one repair when facts are missing, the length is passed or the end is."""
    aim = max(source.room.target, 12)
    first = _complete(talk, prompt.render("summary_text", source.language, target=aim))
    lost, cut = _worth_asking(source, first), talk.cut
    if not cut and (not first or (not lost and len(first) <= source.limit)):
        return first
    missing = ", ".join(each.text for each in lost) or "–"
    request = prompt.render("summary_text_repair", source.language, length=len(first), target=aim, lost=missing)
    return _better(source, first, _complete(talk, request))


def _complete(talk: Talk, request: str) -> str:
    """The reply; one that was cut off without the sentence that it ends in."""
    said = talk.ask(request)
    return " ".join(sentence.split(said)[:-1]) if talk.cut else said


def _better(source: Source, first: str, second: str) -> str:
    """Of two versions, cut to whole sentences that fit, the one that keeps more facts; the second on a tie."""
    fitted = [text for text in (_whole(source, second), _whole(source, first)) if text]
    return max(fitted, key=lambda text: sum(fact.holds(text, each) for each in source.facts), default=second or first)


def _whole(source: Source, text: str) -> str:
    """The text, or when it is too long those of its sentences that fit and hold the most."""
    if len(text) <= source.limit:
        return text
    notes = [note.Note(piece, index) for index, piece in enumerate(sentence.split(text))]
    return pack.pack(notes, source.wanted, source.room)


def notes(source: Source, talk: Talk) -> str:
    """Short notes in a constrained shape, packed to the length, for models that cannot count."""
    written = _first_notes(source, talk)
    held = [*written, *source.sentences] if source.room.short else written
    lost = _worth_asking(source, pack.pack(held, source.wanted, source.room))
    if lost:
        written += _repair_notes(source, talk, lost[:MOST_REPAIRED])
    if not any(_read(each.text) for each in talk.messages if isinstance(each, AIMessage)):
        raise source.rejected("the model wrote no note", "no_note")
    return pack.pack([*written, *source.sentences], source.wanted, source.room) or _clause(source, written)


def _clause(source: Source, written: Sequence[note.Note]) -> str:
    """For targets that no whole note fits: the beginning of the first, up to the end of a word."""
    short = (note.shorten(each.text, source.room.most) for each in written)
    return next((text for text in short if text), "")


def _first_notes(source: Source, talk: Talk) -> list[note.Note]:
    """An array of notes that together have about the target's length."""
    usual, chars = NOTE[source.language], int(source.room.target * ASKED)
    count = min(MOST_NOTES, max(1, round(chars / usual)))
    longest = int(usual * 1.6) if count > 1 else max(16, min(int(usual * 1.6), chars))
    each = {"type": "string", "minLength": min(8, longest), "maxLength": longest}
    shape = {"type": "array", "items": each, "minItems": max(1, math.ceil(count * 0.6)), "maxItems": count}
    request = prompt.render("summary_notes", source.language, count=count, length=int(longest * 0.75))
    return _said(source, talk.ask(request, **_shaped(shape, count * (longest + 8))), longest)


def _repair_notes(source: Source, talk: Talk, lost: Sequence[fact.Fact]) -> list[note.Note]:
    """An object with a note for each lost fact: its name before the note is what makes a small model speak of it."""
    longest = int(NOTE[source.language] * 1.2)
    names = list(dict.fromkeys(clean(each.text) for each in lost))
    notes = {
        name: {"type": "string", "minLength": min(len(name) + 10, longest), "maxLength": longest} for name in names
    }
    shape = {"type": "object", "properties": notes, "required": names, "additionalProperties": False}
    request = prompt.render("summary_notes_repair", source.language, lost=", ".join(names), length=int(longest * 0.75))
    answer = talk.ask(request, **_shaped(shape, sum(longest + len(name) + 8 for name in names)))
    return _said(source, answer, longest)


def _shaped(schema: dict[str, Any], tokens: int) -> dict[str, Any]:
    """What holds llama.cpp to a shape letter by letter, and to a length if its grammar fails."""
    form = {"type": "json_schema", "json_schema": {"name": "notes", "strict": True, "schema": schema}}
    return {"response_format": form, "max_tokens": tokens + 16}


def _said(source: Source, answer: str, longest: int) -> list[note.Note]:
    """The usable notes of an answer. One after a note that the shape cut off goes on in mid-word: it is left out."""
    raw = _read(answer)
    cut = [len(said) >= longest for said in raw]
    word = longest >= source.room.target  # the whole summary has no more room than this note
    made = []
    for said, is_cut, after_cut in zip(note.unprefixed(raw), cut, [False, *cut], strict=False):
        whole = note.shorten(said, len(said) - 1, word=word) if is_cut else said
        if whole and not after_cut and (each := _note(source, whole)):
            made.append(each)
    return [each for each in made if not note.polite(each.text)]


def _read(answer: str) -> list[str]:
    """The notes of an answer: the strings of a JSON array or object, even of one cut off; else its sentences."""
    try:
        read = json.loads(answer)
    except (ValueError, RecursionError):
        strings = re.findall(r'"((?:[^"\\\n]|\\.)*)"(\s*:)?', answer)
        read = [_unescaped(text) for text, name in strings if not name] or sentence.split(answer)
    found = list(read.values()) if isinstance(read, dict) else read if isinstance(read, list) else []
    return [" ".join(said.split()) for said in found if isinstance(said, str) and said.strip()]


def _unescaped(text: str) -> str:
    """The inside of a JSON string as text; as it is where it is none («C:\\Users»)."""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _note(source: Source, said: str) -> note.Note | None:
    """A note with its place in the original; None when it is unusable.

    That is, when it is a fact without a sentence, or states a number, date or identifier that is not in the original,
    is another subject's there, or was replaced.
    """
    speaker, text = source.speaker(said)
    facts = fact.facts(text)
    if any(each.kind != "name" and not fact.holds(source.original, each) for each in facts):
        return None
    if len(text) < 4 + max((len(each.text) for each in facts), default=0):
        return None
    if source.is_outdated(text) or contradicted(text, (each.text for each in source.sentences)):
        return None
    near = note.place(text, source.sentences)
    copied = near is not None and note.shared(text, near.text) > COPIED
    return note.Note(text, near.position if near else 0, speaker=speaker or (near.speaker if near and copied else ""))


def _worth_asking(source: Source, text: str) -> list[fact.Fact]:
    """The lost facts that may still find room: those that were said, in order, up to half the target's length."""
    lost, free = [], source.room.target / 2
    for each in (wanted.fact for wanted in source.wanted if wanted.weight >= 1):
        if len(each.text) <= free and not fact.holds(text, each):
            lost.append(each)
            free -= len(each.text) + 2
    return lost


def longest(source: Source, models: ModelSet) -> int:
    """Characters that each message may take in the prompt, so that all fit the model (and a small one's patience)."""
    tokens = models.context_size // 2
    tokens = min(tokens, MOST_TOKENS) if models.constrained else tokens
    sizes = sorted(len(each.text) for each in source.messages)
    if sum(sizes) <= tokens:
        return max(sizes, default=0)
    left, free = len(sizes), float(tokens * len(source.original) / max(1, models.count(source.original)))
    for size in sizes:  # short messages whole, the rest shares what they leave
        if size > free / left:
            return int(free / left)
        free, left = free - size, left - 1
    return sizes[-1]
