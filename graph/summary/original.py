"""The source of a summary: the messages of its turns as text, facts, sentences and prompt; and the summary's record."""

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
from graph.context.prompt import RECALLING
from graph.state import SummaryRecord
from graph.summary.lost_facts import choose_told_facts, is_name, strip_formulas
from graph.summary.mark import LABEL, SUGGESTED
from retrieval.index.word import cut_text_words
from text import sentence
from text.clean import clean_text
from text.fact import fact, note, pack
from text.fence import fence_text
from text.language import Language, detect_language

SLACK = 1.3
"""A summary longer than this multiple of its target is rejected, if the target has more than ``SMALL`` characters."""
SMALL = 60
REPEATED = 0.6
"""A sentence that shares more than this part of its letter pairs with a message adds nothing new to the message."""
UNIQUE = frozenset({"name", "identifier", "email"})
"""Kinds of facts that identify somebody or something: nothing else in the text stands for them."""

UNCONFIRMED = 0.5
"""Weight of what the user did not state, beside 1 for what they did: facts of others, and new content of answers and of
questions. Of the sample dialogues' facts at rate 0.3, the user's kept are 107 of 108 so (99 at equal weights), the
others 68 of 109 (80). Of what the questions of ``evaluation/data`` ask for, summaries at 0.3 hold .853 of the words in
Korean and .715 in English so (.824, .650 where all new content weighs the same)."""
_MARKS = re.compile(r"^[\s>#*•·–-]+(?=\S)|\*\*|`")


@dataclass(frozen=True, slots=True)
class WriterDraft:
    """The result of a writer: the text, the model that wrote it ('' for none), and the cost of the model calls."""

    text: str
    model: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    exact: bool = True
    calls: int = 0
    cached_tokens: int = 0
    usd: float | None = None
    cache_usd: float = 0.0


@dataclass(frozen=True)
class Original:
    """The turns that a summary is made from. ``known``: what their prompts showed as the user's own words of earlier
    turns (``graph.summary.known``). ``hint``: what the user wants the writer to look to, empty for nothing."""

    messages: tuple[AnyMessage, ...]
    turns: tuple[int, ...]
    rate: float
    default: Language
    known: str = ""
    hint: str = ""

    @cached_property
    def original(self) -> str:
        """Returns all contents, concatenated: the length is ``original_chars`` (specification 3.5)."""
        return "".join(message.text for message in self.messages)

    @cached_property
    def language(self) -> Language:
        """Returns the language of the user's and the assistant's messages."""
        return detect_language(self.spoken_text, self.default)

    @cached_property
    def facts(self) -> tuple[fact.Fact, ...]:
        """Returns the facts that the summary should keep; no fact spans two messages, none is only an operand."""
        return fact.find_facts("\n".join(strip_formulas(self.messages)))

    @cached_property
    def told_facts(self) -> tuple[fact.Fact, ...]:
        """Returns those of the facts that a warning may name."""
        return choose_told_facts(self.messages, self.facts, self.is_said)

    @cached_property
    def room(self) -> pack.TextRoom:
        """Returns the target length, and the length that notes are packed to."""
        return pack.compute_text_room(len(self.original), self.rate, self._count_new_chars)

    @property
    def limit(self) -> int:
        """Returns the length of the longest summary that is accepted."""
        target = self.room.target
        return min(len(self.original), int(SLACK * target) if target > SMALL else len(self.original))

    def build_opening(self, most: int) -> list[AnyMessage]:
        """Returns the prompt up to the request: the same for every target length, so that a server reads it once.

        ``most``: characters of the longest message that is given whole; a longer message is given as head and tail.
        """
        labelled = [
            (self.label(message), fence_text(message.text, "dialogue")) for message in self.messages if message.text
        ]
        lines = [f"[{label}] {_abridge_message_text(text, most)}" for label, text in labelled]
        dialogue = "<dialogue>\n" + "\n".join(lines) + "\n</dialogue>"
        return [SystemMessage(prompt.render_prompt("summary", self.language)), HumanMessage(dialogue)]

    def label(self, message: AnyMessage) -> str:
        """Returns who speaks: the user, the AI, or a tool by its name."""
        name = f" {message.name}" if isinstance(message, ToolMessage) and message.name else ""
        return LABEL[self.language].get(message.type, message.type) + name

    @cached_property
    def weighted_facts(self) -> tuple[pack.WantedFact, ...]:
        """Returns the facts with their weights."""
        return tuple(pack.WantedFact(item, self._weight(item)) for item in self.facts)

    def _weight(self, found: fact.Fact) -> float:
        """Returns 1.5 for kinds in ``UNIQUE``, else 1; times ``UNCONFIRMED`` for a fact that the user did not say."""
        unique = 1.5 if found.kind in UNIQUE else 1.0
        return unique * (1.0 if fact.has_fact_value(self._user_text, found) else UNCONFIRMED)

    @cached_property
    def _user_messages(self) -> list[str]:
        """Returns the user's messages."""
        return [clean_text(message.text) for message in self.messages if isinstance(message, HumanMessage)]

    @cached_property
    def _user_text(self) -> str:
        """Returns the user's messages, joined."""
        return "\n".join(self._user_messages)

    @cached_property
    def _given_text(self) -> str:
        """Returns what the user and the tools said, in these turns and before, joined."""
        given = (message.text for message in self.messages if not isinstance(message, AIMessage))
        return "\n".join((*given, self.known))

    @cached_property
    def unconfirmed_facts(self) -> tuple[fact.Fact, ...]:
        """Returns the facts that only the assistant gave; of names only those that surely are some."""
        return tuple(
            found
            for found in self.facts
            if not fact.has_fact_value(self._given_text, found)
            and (found.kind != "name" or is_name(found.text, english=False))
        )

    def _speaker(self, message: AnyMessage, clause: str) -> str:
        """Returns the label of a clause of the message in an extracted summary."""
        if isinstance(message, AIMessage) and any(
            not fact.has_fact_value(self._given_text, found) for found in fact.find_facts(clause)
        ):
            return SUGGESTED[self.language]
        return LABEL[self.language].get(message.type, "")

    def is_said(self, found: fact.Fact) -> bool:
        """Returns whether the user or the assistant said the fact: it first stands in their message, or they repeat
        it."""
        return self._is_spoken_at(found.start) or fact.has_fact_value(self.spoken_text, found)

    def _is_spoken_at(self, position: int) -> bool:
        """Returns whether the message at this place of the joined text is not a tool's."""
        return not isinstance(self.messages[bisect(self._ends, position)], ToolMessage)

    @cached_property
    def _ends(self) -> list[int]:
        """Returns where each message ends in the joined text."""
        return list(accumulate(len(message.text) + 1 for message in self.messages))

    @cached_property
    def spoken_text(self) -> str:
        """Returns the messages of the user and the assistant, joined."""
        return "\n".join(message.text for message in self.messages if not isinstance(message, ToolMessage))

    @cached_property
    def sentences(self) -> list[note.SummaryNote]:
        """Returns the sentences and clauses of the original as candidates for notes; leaves out results of documents
        and memory."""
        notes, start = [], 0
        for message in self.messages:
            for piece in () if _looked_up(message) else note.split_clauses(clean_text(strip_json(message.text))):
                clause = note.tidy_clause(_MARKS.sub("", piece).strip())
                is_new = isinstance(message, HumanMessage) or not self._repeats(clause)
                if _has_enough_letters(clause) and is_new:
                    at = start + max(0, message.text.find(piece))
                    is_told = isinstance(message, HumanMessage) and not sentence.ends_in_question_mark(clause)
                    weight = 1.0 if is_told else UNCONFIRMED
                    notes.append(note.SummaryNote(clause, at, self._speaker(message, clause), weight))
            start += len(message.text)
        return notes

    @cached_property
    def _count_new_chars(self) -> int:
        """Counts the characters of the original without those answer sentences that repeat the user."""
        size = len(self.original)
        if sum(map(len, self._user_messages)) > pack.SHORT:
            return size
        answers = (message.text for message in self.messages if isinstance(message, AIMessage))
        return size - sum(
            len(piece)
            for text in answers
            for piece in sentence.split_sentences(clean_text(text))
            if self._echoes(piece)
        )

    def _echoes(self, said: str) -> bool:
        """Returns whether the text repeats a message of the user."""
        return max((note.measure_shared_pairs(said, text) for text in self._user_messages), default=0) > REPEATED

    def _repeats(self, said: str) -> bool:
        """Returns whether a sentence of an answer or a tool asks the user or, in short turns, repeats the user."""
        return sentence.ends_in_question_mark(said) or (self.room.short and self._echoes(said))

    def has_fact(self, piece: str) -> bool:
        """Returns whether a piece of a summary holds a fact of the original or begins with the name of a speaker."""
        speakers = {name.casefold() for labels in LABEL.values() for name in labels.values()}
        begins = piece.lstrip("#*- ").casefold().startswith(tuple(speakers))
        return begins or any(fact.has_fact_value(piece, source_fact) for source_fact in self.facts)

    def is_about(self, piece: str) -> bool:
        """Returns whether a piece of a summary holds a fact or a content word of the original."""
        return self.has_fact(piece) or not self.content.isdisjoint(cut_text_words(piece, "ngram"))

    @cached_property
    def content(self) -> frozenset[str]:
        """Returns the content words of the original."""
        return frozenset(cut_text_words(self.original, "ngram"))

    def record(self, thread_id: str, summary: str) -> SummaryRecord:
        """Returns the record with exactly the keys of specification 3.4."""
        return SummaryRecord(
            thread_id=thread_id,
            turns=list(self.turns),
            turn_length=len(self.turns),
            original_chars=len(self.original),
            summary_chars=len(summary),
            compression_rate=self.rate,
            summary=summary,
        )

    def make_rejection(self, reason: str, code: str, **values: int) -> SummaryRejected:
        """Returns the error that leaves the turns raw; ``code`` and ``values`` give the reason for translation."""
        return SummaryRejected(first=self.turns[0], last=self.turns[-1], reason=reason, reason_code=code, **values)


def _abridge_message_text(text: str, most: int) -> str:
    """Returns the text; of one longer than ``most`` characters, head and tail, cut between words."""
    if len(text) <= most:
        return text
    head = note.shorten_to_clause(text, most * 2 // 3)
    tail = text[len(text) - most // 3 :]
    return f"{head} […] {tail.split(' ', 1)[-1]}"


def strip_json(text: str) -> str:
    """Returns the text; of a JSON document its strings, one per line."""
    try:
        document = json.loads(text) if text.lstrip()[:1] in ("{", "[") else text
    except (ValueError, RecursionError):  # not JSON, or nested thousands deep
        return text
    return document if isinstance(document, str) else "\n".join(_list_json_strings(document))


def _list_json_strings(value: object) -> list[str]:
    """Returns the strings in a JSON value, in order; without recursion, because the value may be nested deeper than
    Python goes."""
    strings, nodes = [], [value]
    while nodes:
        node = nodes.pop()
        if isinstance(node, str):
            strings.append(node)
        elif isinstance(node, dict | list):
            nodes += reversed(node.values() if isinstance(node, dict) else node)
    return strings


def _looked_up(message: AnyMessage) -> bool:
    """Returns whether the message is a result of documents or memory."""
    return isinstance(message, ToolMessage) and message.name in RECALLING


def _has_enough_letters(text: str) -> bool:
    """Returns whether a piece has words: not a formula, not a line of marks."""
    return 3 * sum(letter.isalpha() for letter in text) > len(text)
