"""Making one chunk summary: prompt, checks, the single repair (context-managing.md «요약 생성 규칙», design §5).

Knows neither LangGraph nor the store. Models that need help write short notes in a constrained shape, and code packs
them to the length; others write plain text. The same checks hold for both.
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

import prompt
from errors import SummaryRejected
from graph.state import SummaryRecord
from model.modelset import ModelSet
from model.stream import complete, usage
from text import fact, pack, sentence
from text.clean import clean
from text.language import Language, detect

SLACK = 1.3
"""A summary above this share of a target of more than ``SMALL`` characters is rejected."""
SMALL = 60
NOTE = {"ko": 34, "en": 70}
"""Characters of a usual note, by language."""
MOST_NOTES = 24
MOST_TOKENS = 3000
"""Prompt tokens of the embedded model's summaries: about a minute and a half of reading on two cores."""

UNIQUE = frozenset({"name", "identifier", "email"})
ASKED = 1.1
"""Notes are asked for this share of the target; sentences of the original fill what they leave."""
COPIED = 0.85
"""A note that shares this much with a sentence of the original is that sentence, and its speaker's words."""

_LABEL = {"ko": {"human": "사용자", "tool": "도구", "ai": "AI"}, "en": {"human": "User", "tool": "Tool", "ai": "AI"}}
_MARKS = re.compile(r"^[\s>#*•·–-]+(?=\S)|\*\*|`")


@dataclass(frozen=True, slots=True)
class Made:
    """A summary that may replace its turns, and what it cost. ``lost``, ``kept``: facts as the original writes them."""

    record: SummaryRecord
    lost: tuple[str, ...]
    kept: tuple[str, ...]
    seconds: float
    prompt_tokens: int
    answer_tokens: int
    calls: int
    model: str


def make(
    messages: list[AnyMessage],
    turns: list[int],
    *,
    thread_id: str,
    rate: float,
    models: ModelSet,
    language: str,
    stop: threading.Event | None,
) -> Made:
    """Summarise all messages of the given turns to ``int(original_chars * rate)`` characters.

    The summary is in the conversation's language; ``language`` (``ko`` or ``en``) decides when it shows none.
    Raises ``SummaryRejected`` when the result is empty or too long, ``Stopped`` when ``stop`` was set, and the model's
    own errors.
    """
    begun = time.monotonic()
    source = Source(tuple(messages), tuple(turns), rate, "ko" if language == "ko" else "en")
    talk = _Talk(models, stop, source.opening(_fitting(source, models)))
    text = _notes(source, talk) if models.constrained else _prose(source, talk)
    _check(text, source)
    return Made(
        record=source.record(thread_id, text),
        lost=tuple(each.text for each in source.facts if not fact.holds(text, each)),
        kept=tuple(each.text for each in source.facts if fact.holds(text, each)),
        seconds=time.monotonic() - begun,
        prompt_tokens=talk.prompt_tokens,
        answer_tokens=talk.answer_tokens,
        calls=talk.calls,
        model=models.name,
    )


@dataclass(frozen=True)
class Source:
    """What is summarised."""

    messages: tuple[AnyMessage, ...]
    turns: tuple[int, ...]
    rate: float
    default: Language

    @cached_property
    def original(self) -> str:
        """All contents, concatenated: its length is ``original_chars`` (context-managing.md «summary_node 동작»)."""
        return "".join(message.text for message in self.messages)

    @cached_property
    def language(self) -> Language:
        """The language of what the user and the assistant say."""
        said = " ".join(message.text for message in self.messages if not isinstance(message, ToolMessage))
        return detect(said, self.default)

    @cached_property
    def facts(self) -> tuple[fact.Fact, ...]:
        """The facts that the summary should keep; no fact spans two messages."""
        return fact.facts("\n".join(message.text for message in self.messages))

    @cached_property
    def room(self) -> pack.Room:
        """The length to aim at, and the length that notes are packed to."""
        return pack.room(len(self.original), self.rate)

    @property
    def limit(self) -> int:
        """The longest summary that is accepted."""
        target = self.room.target
        return min(len(self.original), int(SLACK * target) if target > SMALL else len(self.original))

    def opening(self, most: int) -> list[AnyMessage]:
        """The prompt up to the request: the same for every length, so that a server reads it once.

        ``most``: characters of the longest message that is given whole; of a longer one, head and tail.
        """
        lines = [f"[{self.label(each)}] {_abridged(_fenced(each.text), most)}" for each in self.messages if each.text]
        dialogue = "<dialogue>\n" + "\n".join(lines) + "\n</dialogue>"
        return [SystemMessage(prompt.render("summary", self.language)), HumanMessage(dialogue)]

    def label(self, message: AnyMessage) -> str:
        """Who speaks: the user, the AI, or a tool by its name."""
        name = f" {message.name}" if isinstance(message, ToolMessage) and message.name else ""
        return _LABEL[self.language].get(message.type, message.type) + name

    @cached_property
    def wanted(self) -> tuple[pack.Wanted, ...]:
        """The facts by what they matter: who and which more than how much, and half as much what only a tool said."""
        said = "\n".join(message.text for message in self.messages if not isinstance(message, ToolMessage))
        weights = (
            (1.5 if each.kind in UNIQUE else 1.0) * (1.0 if fact.holds(said, each) else 0.5) for each in self.facts
        )
        return tuple(map(pack.Wanted, self.facts, weights))

    @cached_property
    def sentences(self) -> list[pack.Note]:
        """Sentences and clauses of the original as candidates for notes."""
        found, start = [], 0
        for message in self.messages:
            speaker = _LABEL[self.language].get(message.type, "")
            for piece in pack.clauses(clean(_plain(message.text))):
                said = pack.tidy(_MARKS.sub("", piece).strip())
                if _says(said) and (isinstance(message, HumanMessage) or not said.endswith(("?", "？"))):
                    at = start + max(0, message.text.find(piece))
                    found.append(pack.Note(said, at, pack.SOURCE, speaker))
            start += len(message.text)
        return found

    def record(self, thread_id: str, summary: str) -> SummaryRecord:
        """The record with exactly the specified keys."""
        return SummaryRecord(
            thread_id=thread_id,
            turns=list(self.turns),
            turn_length=len(self.turns),
            original_chars=len(self.original),
            summary_chars=len(summary),
            compression_rate=self.rate,
            summary=summary,
        )

    def rejected(self, reason: str) -> SummaryRejected:
        """The error that leaves the turns raw."""
        return SummaryRejected(first=self.turns[0], last=self.turns[-1], reason=reason)


@dataclass
class _Talk:
    """One exchange with the utility model: a repair goes on where the first call ended, so its prefix is cached."""

    models: ModelSet
    stop: threading.Event | None
    messages: list[AnyMessage]
    prompt_tokens: int = 0
    answer_tokens: int = 0
    calls: int = field(default=0)

    def ask(self, request: str, **bind: Any) -> str:
        """The model's reply to a further request."""
        last = self.messages[-1]
        if isinstance(last, HumanMessage):  # one user message: the dialogue, then the request
            self.messages[-1] = HumanMessage(f"{last.text}\n\n{request}")
        else:
            self.messages.append(HumanMessage(request))
        answer = complete(self.models.utility, list(self.messages), stop=self.stop, **bind)
        self._count(answer)
        said = clean(answer.text).strip()
        self.messages.append(AIMessage(said))
        return said

    def _count(self, answer: AIMessage) -> None:
        asked, _, answered, exact = usage(answer)
        self.calls += 1
        self.prompt_tokens += asked if exact else sum(self.models.count(each.text) for each in self.messages)
        self.answer_tokens += answered if exact else self.models.count(answer.text)


def _prose(source: Source, talk: _Talk) -> str:
    """Plain text, for models that write well; one repair when facts are missing or the length is passed."""
    aim = max(source.room.target, 12)
    first = talk.ask(prompt.render("summary_text", source.language, target=aim))
    lost = _worth_asking(source, first)
    if not first or (not lost and len(first) <= source.limit):
        return first
    missing = ", ".join(each.text for each in lost) or "–"
    request = prompt.render("summary_text_repair", source.language, length=len(first), target=aim, lost=missing)
    return _better(source, first, talk.ask(request))


def _better(source: Source, first: str, second: str) -> str:
    """Of two versions, cut to whole sentences that fit, the one that keeps more facts; the second on a tie."""
    fitted = [text for text in (_whole(source, second), _whole(source, first)) if text]
    return max(fitted, key=lambda text: sum(fact.holds(text, each) for each in source.facts), default=second or first)


def _whole(source: Source, text: str) -> str:
    """The text, or when it is too long those of its sentences that fit and hold the most."""
    if len(text) <= source.limit:
        return text
    notes = [pack.Note(piece, index) for index, piece in enumerate(sentence.split(text))]
    return pack.pack(notes, source.wanted, source.room)


def _notes(source: Source, talk: _Talk) -> str:
    """Short notes in a constrained shape, packed to the length, for models that cannot count."""
    written = _ask_notes(source, talk, "summary_notes", source.room.target * ASKED)
    text = pack.pack(written, source.wanted, source.room)
    lost = _worth_asking(source, text)
    if lost:
        missing = ", ".join(each.text for each in lost)
        written += _ask_notes(source, talk, "summary_notes_repair", 12 + 3.0 * len(missing), lost=missing)
    if not written:
        raise source.rejected("the model wrote no usable note")
    return pack.pack([*written, *source.sentences], source.wanted, source.room) or _clause(source, written)


def _clause(source: Source, notes: Sequence[pack.Note]) -> str:
    """For targets that no whole note fits: the beginning of the first, up to the end of a word."""
    short = (pack.shorten(note.text, source.room.most) for note in notes)
    return next((text for text in short if text), "")


def _ask_notes(source: Source, talk: _Talk, name: str, chars: float, **variables: object) -> list[pack.Note]:
    """Ask for notes of about so many characters together."""
    usual = NOTE[source.language]
    count = min(MOST_NOTES, max(1, round(chars / usual)))
    length = int(usual * 1.6) if count > 1 else max(16, min(int(usual * 1.6), int(chars)))
    if name == "summary_notes":
        variables["length"] = int(length * 0.75)
    answer = talk.ask(
        prompt.render(name, source.language, count=count, **variables),
        response_format=_shape(count, length),
        max_tokens=count * (length + 8) + 16,
    )
    return [note for said in _read(answer) if (note := _note(source, said, length))]


def _shape(count: int, length: int) -> dict[str, Any]:
    """``response_format`` for an array of notes; llama.cpp holds the model to it, letter by letter."""
    note = {"type": "string", "minLength": min(8, length), "maxLength": length}
    schema = {"type": "array", "items": note, "minItems": max(1, math.ceil(count * 0.6)), "maxItems": count}
    return {"type": "json_schema", "json_schema": {"name": "notes", "strict": True, "schema": schema}}


def _read(answer: str) -> list[str]:
    """The notes of an answer: a JSON array, also one that was cut off, else its sentences."""
    try:
        read = json.loads(answer)
    except ValueError:
        read = [json.loads(part) for part in re.findall(r'"(?:[^"\\\n]|\\.)*"', answer)] or sentence.split(answer)
    if isinstance(read, dict):
        read = next((value for value in read.values() if isinstance(value, list)), [])
    return [" ".join(said.split()) for said in read if isinstance(said, str) and said.strip()]


def _note(source: Source, said: str, length: int) -> pack.Note | None:
    """A note with its place in the original; None when it states a number, date or identifier that is not there."""
    if len(said) >= length:
        said = pack.shorten(said, length - 1)
    exact = [each for each in fact.facts(said) if each.kind != "name"]
    if not said or any(not fact.holds(source.original, each) for each in exact):
        return None
    near = pack.place(said, source.sentences)
    copied = near is not None and pack.shared(said, near.text) > COPIED
    return pack.Note(said, near.position if near else 0, speaker=near.speaker if near and copied else "")


def _worth_asking(source: Source, text: str) -> list[fact.Fact]:
    """The lost facts that may still find room: those that were said, in order, up to half the target's length."""
    lost, free = [], source.room.target / 2
    for each in (wanted.fact for wanted in source.wanted if wanted.weight >= 1):
        if len(each.text) <= free and not fact.holds(text, each):
            lost.append(each)
            free -= len(each.text) + 2
    return lost


def _check(text: str, source: Source) -> None:
    """Raise ``SummaryRejected`` for what must not replace its turns."""
    if not text:
        raise source.rejected("it is empty")
    if len(text) > source.limit:
        target, original = source.room.target, len(source.original)
        raise source.rejected(f"it has {len(text)} characters, for a target of {target} and an original of {original}")


def _fitting(source: Source, models: ModelSet) -> int:
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


def _abridged(text: str, most: int) -> str:
    """Head and tail of a text that is longer than ``most`` characters, cut between words."""
    if len(text) <= most:
        return text
    head = pack.shorten(text, most * 2 // 3)
    tail = text[len(text) - most // 3 :]
    return f"{head} […] {tail.split(' ', 1)[-1]}"


def _plain(text: str) -> str:
    """The text; of a JSON document its strings, a line each."""
    try:
        found = json.loads(text) if text.lstrip()[:1] in ("{", "[") else text
    except ValueError:
        return text
    return found if isinstance(found, str) else "\n".join(_strings(found))


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]


def _says(text: str) -> bool:
    """Whether a piece has words: not a formula, not a line of marks."""
    return 3 * sum(letter.isalpha() for letter in text) > len(text)


def _fenced(text: str) -> str:
    """The text as data: it cannot close the frame it stands in."""
    return re.sub(r"<(?=/?\s*dialogue)", "‹", clean(text), flags=re.IGNORECASE)
