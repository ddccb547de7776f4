"""Gieok's own data set: what six made-up people told an assistant over a year, and questions about it
(``bench/data/own/README.md``).

A folder for each person: ``conversations.jsonl`` and one file of questions for each of ``WRITERS``.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from bench.public.dataset.dataset import Conversation, Dataset, DatasetQuestion
from bench.public.dataset.read import read_lines, validate_dataset_value
from bench.public.share import share_words
from evaluation.scenario import RecordedTurn
from text.language import Language

FOLDER = Path(__file__).parents[2] / "data" / "own"
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
    return [validate_dataset_value(row, OwnTurn, path.name, [f"line {number}"]) for number, row in read_lines(path)]


def read_own_questions(folder: Path, writer: str) -> list[OwnQuestion]:
    """Returns the questions that a writer asked about a person; none where the file is missing."""
    path = folder / f"questions_{writer}.jsonl"
    if not path.exists():
        return []
    return [validate_dataset_value(row, OwnQuestion, path.name, [f"line {number}"]) for number, row in read_lines(path)]


def _make_own_question(item: OwnQuestion, writer: str, turns: dict[str, OwnTurn]) -> DatasetQuestion:
    return DatasetQuestion(
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
