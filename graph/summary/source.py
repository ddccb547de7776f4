"""What a summary is made of: the messages of its turns as text, facts, sentences and prompt, and its record."""

from __future__ import annotations

import json
import re
from bisect import bisect
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

import prompt
from errors import SummaryRejected
from graph.context import is_search
from graph.state import SummaryRecord
from text import fact, note, pack, sentence
from text.clean import clean
from text.fence import fenced
from text.language import Language, detect

SLACK = 1.3
"""A summary above this share of a target of more than ``SMALL`` characters is rejected."""
SMALL = 60
REPEATED = 0.6
"""A sentence that shares more of itself with a message says nothing new beside it."""
UNIQUE = frozenset({"name", "identifier", "email"})
"""Kinds of facts that say who and which: nothing else in the text stands for them."""

_LABEL = {"ko": {"human": "사용자", "tool": "도구", "ai": "AI"}, "en": {"human": "User", "tool": "Tool", "ai": "AI"}}
_MARKS = re.compile(r"^[\s>#*•·–-]+(?=\S)|\*\*|`")


@dataclass(frozen=True, slots=True)
class Draft:
    """What a writer gave: the text, the model that wrote it ('' for none), and what its calls took."""

    text: str
    model: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    exact: bool = True
    calls: int = 0


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
        return detect(self.spoken, self.default)

    @cached_property
    def facts(self) -> tuple[fact.Fact, ...]:
        """The facts that the summary should keep; no fact spans two messages."""
        return fact.facts("\n".join(message.text for message in self.messages))

    @cached_property
    def room(self) -> pack.Room:
        """The length to aim at, and the length that notes are packed to."""
        return pack.room(len(self.original), self.rate, self._new)

    @property
    def limit(self) -> int:
        """The longest summary that is accepted."""
        target = self.room.target
        return min(len(self.original), int(SLACK * target) if target > SMALL else len(self.original))

    def opening(self, most: int) -> list[AnyMessage]:
        """The prompt up to the request: the same for every length, so that a server reads it once.

        ``most``: characters of the longest message that is given whole; of a longer one, head and tail.
        """
        told = [(self.label(each), fenced(each.text, "dialogue")) for each in self.messages if each.text]
        lines = [f"[{label}] {_abridged(text, most)}" for label, text in told]
        dialogue = "<dialogue>\n" + "\n".join(lines) + "\n</dialogue>"
        return [SystemMessage(prompt.render("summary", self.language)), HumanMessage(dialogue)]

    def label(self, message: AnyMessage) -> str:
        """Who speaks: the user, the AI, or a tool by its name."""
        name = f" {message.name}" if isinstance(message, ToolMessage) and message.name else ""
        return _LABEL[self.language].get(message.type, message.type) + name

    @cached_property
    def wanted(self) -> tuple[pack.Wanted, ...]:
        """The facts by what they matter."""
        return tuple(pack.Wanted(each, self._weight(each)) for each in self.facts)

    def _weight(self, found: fact.Fact) -> float:
        """Who and which more than how much; half what only a tool said."""
        unique = 1.5 if found.kind in UNIQUE else 1.0
        return unique * (1.0 if self._said(found) else 0.5)

    @cached_property
    def _asked(self) -> list[str]:
        """What the user says, message by message."""
        return [clean(message.text) for message in self.messages if isinstance(message, HumanMessage)]

    def _said(self, found: fact.Fact) -> bool:
        """Whether the user or the assistant said this: it stands first in a message of theirs, or again in one."""
        return self._speaks(found.start) or fact.holds(self.spoken, found)

    def _speaks(self, position: int) -> bool:
        """Whether the message at this place of the joined text is no tool's."""
        return not isinstance(self.messages[bisect(self._ends, position)], ToolMessage)

    @cached_property
    def _ends(self) -> list[int]:
        """Where each message ends in the joined text."""
        return list(accumulate(len(message.text) + 1 for message in self.messages))

    @cached_property
    def spoken(self) -> str:
        """What the user and the assistant say."""
        return "\n".join(message.text for message in self.messages if not isinstance(message, ToolMessage))

    @cached_property
    def sentences(self) -> list[note.Note]:
        """Sentences and clauses of the original as candidates for notes; where passages were found tells nothing."""
        found, start = [], 0
        for message in self.messages:
            speaker = _LABEL[self.language].get(message.type, "")
            for piece in () if is_search(message) else note.clauses(clean(_plain(message.text))):
                said = note.tidy(_MARKS.sub("", piece).strip())
                own = isinstance(message, HumanMessage) or not self._repeats(said)
                if _says(said) and own:
                    at = start + max(0, message.text.find(piece))
                    found.append(note.Note(said, at, speaker))
            start += len(message.text)
        return found

    @cached_property
    def _new(self) -> int:
        """Characters of the original without sentences of the answers that say back what the user said."""
        size = len(self.original)
        if sum(map(len, self._asked)) > pack.SHORT:
            return size
        answers = (message.text for message in self.messages if isinstance(message, AIMessage))
        return size - sum(len(each) for text in answers for each in sentence.split(clean(text)) if self._echoes(each))

    def _echoes(self, said: str) -> bool:
        """Whether it says back a message of the user."""
        return max((note.shared(said, text) for text in self._asked), default=0) > REPEATED

    def _repeats(self, said: str) -> bool:
        """Whether a sentence of an answer or a tool asks the user, or in short turns says back what the user said."""
        return said.endswith(("?", "？")) or (self.room.short and self._echoes(said))

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

    def rejected(self, reason: str, code: str, **values: int) -> SummaryRejected:
        """The error that leaves the turns raw; ``code`` and its values: the reason, for translation."""
        return SummaryRejected(first=self.turns[0], last=self.turns[-1], reason=reason, reason_code=code, **values)


def _abridged(text: str, most: int) -> str:
    """Head and tail of a text that is longer than ``most`` characters, cut between words."""
    if len(text) <= most:
        return text
    head = note.shorten(text, most * 2 // 3)
    tail = text[len(text) - most // 3 :]
    return f"{head} […] {tail.split(' ', 1)[-1]}"


def _plain(text: str) -> str:
    """The text; of a JSON document its strings, a line each."""
    try:
        found = json.loads(text) if text.lstrip()[:1] in ("{", "[") else text
    except (ValueError, RecursionError):  # no JSON, or brackets thousands deep
        return text
    return found if isinstance(found, str) else "\n".join(_strings(found))


def _strings(value: object) -> list[str]:
    """The strings in a JSON value, in order; without recursion, for it may be nested deeper than Python goes."""
    found, left = [], [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict | list):
            left += reversed(each.values() if isinstance(each, dict) else each)
    return found


def _says(text: str) -> bool:
    """Whether a piece has words: not a formula, not a line of marks."""
    return 3 * sum(letter.isalpha() for letter in text) > len(text)
