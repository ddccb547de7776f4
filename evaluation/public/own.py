"""Gieok's own data set: what six made-up people told an assistant over a year, and questions about it
(``evaluation/data/README.md``).

A folder for each person: ``conversations.jsonl`` and one file of questions for each of ``WRITERS``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from evaluation.public.dataset import Conversation, Dataset, Question
from evaluation.public.read import checked, read_lines
from evaluation.public.share import share_words
from evaluation.scenario import RecordedTurn
from text.language import Language

FOLDER = Path(__file__).parents[1] / "data"
LANGUAGES: tuple[Language, ...] = ("ko", "en")
WRITERS = ("author", "stranger")
"""Who wrote the questions: the author of the conversations, and somebody who did not know the product."""
Kind = Literal["one_place", "several_places", "time", "changed_value", "contradiction", "never_told"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NEVER_TOLD: Kind = "never_told"
BEGINS = time(9)
"""When a conversation begins on its day; its turns follow minute by minute."""


class OwnTurn(BaseModel):
    """One line of ``conversations.jsonl``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    conversation: str = Field(pattern=r"^c\d\d$")
    day: date
    turn: int = Field(ge=1)
    user: str = Field(min_length=1)
    assistant: str = Field(min_length=1)

    @property
    def place(self) -> str:
        return f"{self.conversation}:{self.turn}"


class OwnQuestion(BaseModel):
    """One line of a file of questions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    kind: Kind
    question: str = Field(min_length=1)
    asked_on: date
    answer: str
    gold: list[str]


def load_own_sets(folder: Path = FOLDER) -> list[Dataset]:
    """Returns a data set for each language that has people. Raises ``BadDataset`` and ``BadTextFile``."""
    found = ((language, find_people(folder, language)) for language in LANGUAGES)
    return [
        Dataset(language, tuple(load_person(person, language) for person in people))
        for language, people in found
        if people
    ]


def find_people(folder: Path, language: Language) -> list[Path]:
    """Returns the folders of the people who speak a language, by name."""
    return sorted(path.parent for path in (folder / language).glob("*/conversations.jsonl"))


def load_person(folder: Path, language: Language) -> Conversation:
    """Returns what a person told, one conversation after the other, and all questions about it."""
    lines = read_own_turns(folder)
    turns = tuple(
        RecordedTurn(user=line.user, answer=line.assistant, at=_moment_of_turn(line.day, line.turn)) for line in lines
    )
    starts = tuple(at for at, line in enumerate(lines) if line.turn == 1)
    by_place = {line.place: line for line in lines}
    questions = [
        _make_own_question(item, writer, by_place) for writer in WRITERS for item in read_own_questions(folder, writer)
    ]
    asked_at = max((item.asked_at for item in questions if item.asked_at), default=None)
    return Conversation(
        folder.name, "user", "assistant", turns, tuple(questions), asked_at, language=language, starts=starts
    )


def read_own_turns(folder: Path) -> list[OwnTurn]:
    """Returns the lines of a person's conversations."""
    path = folder / "conversations.jsonl"
    return [checked(row, OwnTurn, path.name, [f"line {number}"]) for number, row in read_lines(path)]


def read_own_questions(folder: Path, writer: str) -> list[OwnQuestion]:
    """Returns the questions that a writer asked about a person; none where the file is missing."""
    path = folder / f"questions_{writer}.jsonl"
    if not path.exists():
        return []
    return [checked(row, OwnQuestion, path.name, [f"line {number}"]) for number, row in read_lines(path)]


def find_faults(folder: Path) -> Iterator[str]:
    """Yields what is wrong with a person's files, without a word of what they say: turns out of order, gold that does
    not exist, questions whose gold does not fit their kind."""
    lines = read_own_turns(folder)
    yield from _order_faults(lines)
    days = {line.place: line.day for line in lines}
    for writer in WRITERS:
        items = read_own_questions(folder, writer)
        for name, times in Counter(item.id for item in items).items():
            if times > 1:
                yield f"{writer} {name}: {times} questions have this id"
        for item in items:
            yield from (f"{writer} {item.id}: {fault}" for fault in _question_faults(item, days))


def _order_faults(lines: Sequence[OwnTurn]) -> Iterator[str]:
    if lines and (lines[0].conversation, lines[0].turn) != ("c01", 1):
        yield f"{lines[0].place}: the first line is not c01:1"
    for before, line in pairwise(lines):
        number = int(line.conversation[1:]) - int(before.conversation[1:])
        if (number, line.turn) not in ((0, before.turn + 1), (1, 1)):
            yield f"{line.place}: it follows {before.place}"
        elif number == 0 and line.day != before.day:
            yield f"{line.place}: its day is not that of its conversation"
        elif number == 1 and line.day <= before.day:
            yield f"{line.place}: its day does not follow that of the conversation before"


def _question_faults(item: OwnQuestion, days: dict[str, date]) -> Iterator[str]:
    for place in item.gold:
        if place not in days:
            yield f"gold {place} does not exist"
        elif days[place] > item.asked_on:
            yield f"it is asked before {place} was said"
    if len(set(item.gold)) < len(item.gold):
        yield "the same gold stands twice"
    if (item.kind == NEVER_TOLD) != (not item.gold) or (item.kind == NEVER_TOLD) != (not item.answer):
        yield f"{item.kind} with {len(item.gold)} gold turns and {'an' if item.answer else 'no'} answer"
    least, most = {"one_place": (1, 1), "several_places": (2, 5), "changed_value": (1, 1), "contradiction": (2, 2)}.get(
        item.kind, (0, len(item.gold))
    )
    if not least <= len(item.gold) <= most:
        yield f"{item.kind} with {len(item.gold)} gold turns"


def _make_own_question(item: OwnQuestion, writer: str, turns: dict[str, OwnTurn]) -> Question:
    return Question(
        f"{writer} {item.id}",
        item.question,
        (item.answer,) if item.answer else (),
        item.kind,
        tuple(_telling_side(turns[place], item.answer) for place in item.gold if place in turns),
        adversarial=item.kind == NEVER_TOLD,
        asked_at=_moment_of_turn(item.asked_on, 0),
        writer=writer,
    )


def _telling_side(turn: OwnTurn, answer: str) -> str:
    """Returns what the user said, unless only the assistant's side of the turn says the answer."""
    said, replied = (share_words([answer], text) or 0.0 for text in (turn.user, turn.assistant))
    return turn.assistant if replied > said else turn.user


def _moment_of_turn(day: date, minute: int) -> datetime:
    return datetime.combine(day, BEGINS) + timedelta(minutes=minute)
