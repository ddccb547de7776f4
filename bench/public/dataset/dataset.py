"""What every data set becomes: conversations that can be played, and questions about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, pairwise
from typing import Literal

from evaluation.scenario import RecordedTurn
from text.language import Language

LANGUAGE: Language = "en"
"""The language of the data sets that a user names by their files."""
TEXT_LIMIT = 20_000
"""Characters of the longest question or answer of a recorded turn; the rest of a longer one is cut off."""
NO_ANSWER = "OK."
"""Stands for the answer where the data has none."""

Scoring = Literal["whole", "parts", "refusal"]
"""How an answer is compared (``bench.public.f1``): as a whole, part by part, or by whether it says that the
conversation does not tell."""


@dataclass(frozen=True, slots=True)
class DatasetQuestion:
    """One question about a conversation.

    ``answers``: every accepted one; none where the data has none. ``gold``: the recorded words that hold the answer,
    one text for each line of the recording. ``adversarial``: the conversation does not tell the answer, and the
    question pretends that it does. ``asked_at``: when this question is asked; None: with all others. ``writer``: who
    wrote it, where that is told.
    """

    name: str
    text: str
    answers: tuple[str, ...]
    category: str
    gold: tuple[str, ...]
    adversarial: bool = False
    scoring: Scoring = "whole"
    asked_at: datetime | None = None
    writer: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A recorded conversation and its questions.

    ``user``, ``other``: the names of the two speakers. ``asked_at``: when the questions are asked; None: now.
    ``unknown_gold``: how many turns the data names as evidence that the conversation does not have. ``starts``: the
    turns (from 0) that each begin a separate conversation of the same user, and then the questions are asked in a new
    one; empty: all turns are one conversation, which the questions continue.
    """

    name: str
    user: str
    other: str
    turns: tuple[RecordedTurn, ...]
    questions: tuple[DatasetQuestion, ...]
    asked_at: datetime | None = None
    unknown_gold: int = 0
    language: Language = LANGUAGE
    starts: tuple[int, ...] = ()

    @property
    def sessions(self) -> tuple[tuple[RecordedTurn, ...], ...]:
        """The turns of every separate conversation, in order."""
        edges = [*(self.starts or (0,)), len(self.turns)]
        return tuple(self.turns[first:end] for first, end in pairwise(edges))

    @property
    def shortened_count(self) -> int:
        """How many turns were longer than ``TEXT_LIMIT``."""
        return sum(max(len(turn.user), len(turn.answer)) >= TEXT_LIMIT for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Gold:
    """What is known about the mistakes of a data set's own answers: ``wrong`` of ``questions`` are wrong, so that a
    score above ``1 - wrong / questions`` means nothing."""

    wrong: int
    questions: int
    source: str

    @property
    def ceiling(self) -> float:
        return round(1 - self.wrong / self.questions, 4)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The conversations of one data set. ``gold``: None where nobody has counted its mistakes."""

    name: str
    conversations: tuple[Conversation, ...]
    gold: Gold | None = None

    def limit_questions(self, questions: int) -> Dataset:
        """Returns the data set with at most this many questions, spread evenly over all of them."""
        every = [(talk, question) for talk in self.conversations for question in talk.questions]
        if len(every) <= questions:
            return self
        chosen = [every[index * len(every) // questions] for index in range(questions)]
        conversations = [
            replace(talk, questions=tuple(question for _, question in pairs))
            for talk, pairs in (
                (self._find_conversation(name), list(pairs)) for name, pairs in groupby(chosen, _talk_name)
            )
        ]
        return replace(self, conversations=tuple(conversations))

    def _find_conversation(self, name: str) -> Conversation:
        return next(talk for talk in self.conversations if talk.name == name)


def _talk_name(pair: tuple[Conversation, DatasetQuestion]) -> str:
    return pair[0].name


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """What one of the two speakers said."""

    by_user: bool
    text: str


def pair_lines(lines: Sequence[SpokenLine], user: str, other: str, at: datetime | None) -> Iterator[RecordedTurn]:
    """Yields the turns of one session: the user's lines, and the other speaker's lines after them as the answer.

    Several lines of one speaker in a row are joined. What the other speaker says before the user's first line stands
    at the head of the first turn, with both names, for an answer needs something to answer.
    """
    told = [line for line in lines if line.text.strip()]
    blocks = [
        (by_user, "\n".join(line.text.strip() for line in block))
        for by_user, block in groupby(told, lambda line: line.by_user)
    ]
    if blocks and not blocks[0][0]:
        opening, *rest = blocks
        first = f"{other}: {opening[1]}"
        blocks = [(True, f"{first}\n{user}: {rest[0][1]}" if rest else first), *rest[1:]]
    for at_block in range(0, len(blocks), 2):
        question = blocks[at_block][1]
        answer = blocks[at_block + 1][1] if at_block + 1 < len(blocks) else NO_ANSWER
        yield RecordedTurn(user=question[:TEXT_LIMIT], answer=answer[:TEXT_LIMIT], at=at)
