"""The memory part of BFCL v4 (Berkeley Function-Calling Leaderboard): people tell an assistant about themselves over
several conversations; the assistant's answers are not recorded.

Two kinds of lines in JSONL files: histories (``scenario``, and ``question``, lists of messages) and questions (``id``,
``scenario``, ``question``, ``answers``, ``source``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from evaluation.public.dataset import Conversation, Dataset, Line, Question, paired
from evaluation.public.evidence import held, words
from evaluation.public.read import checked, read_lines, refuse
from evaluation.scenario import RecordedTurn

_GAP = re.compile(r"\.{3,}|…")


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "assistant"]
    content: str


class _History(BaseModel):
    model_config = ConfigDict(extra="ignore")

    scenario: str = Field(min_length=1)
    question: list[list[_Message]]


class _Question(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str = Field(min_length=1)
    scenario: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answers: list[str] = Field(min_length=1)
    source: str = ""


def load(paths: Sequence[Path]) -> Dataset:
    """Returns one conversation for each scenario of the files, the histories of a scenario in the order of the files.

    Raises ``BadDataset``, also when a scenario with questions has no history, and ``BadTextFile``.
    """
    histories: defaultdict[str, list[_History]] = defaultdict(list)
    asked: defaultdict[str, list[_Question]] = defaultdict(list)
    places: dict[str, str] = {}
    for path in paths:
        for number, row in read_lines(path):
            place = [f"line {number}"]
            if _is_history(row):
                history = checked(row, _History, path.name, place)
                histories[history.scenario].append(history)
            else:
                question = checked(row, _Question, path.name, place)
                asked[question.scenario].append(question)
                places.setdefault(question.scenario, path.name)
    names = ", ".join(path.name for path in paths)
    if not asked:
        refuse(names, (), "there is no file with questions and their answers among these")
    for scenario in asked:
        if scenario not in histories:
            refuse(places[scenario], (), f"no file with the history of {scenario!r} is among {names}")
    return Dataset("bfcl", tuple(_conversation(name, histories[name], asked[name], names) for name in asked))


def _is_history(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("question"), list)


def _conversation(name: str, histories: list[_History], asked: list[_Question], files: str) -> Conversation:
    turns = [turn for history in histories for turn in _turns(history)]
    if not turns:
        refuse(files, (), f"the history of {name!r} says nothing")
    questions = [
        Question(item.id, item.question, tuple(item.answers), name, _gold(item.source, turns)) for item in asked
    ]
    return Conversation(name, "user", "assistant", tuple(turns), tuple(questions))


def _turns(history: _History) -> list[RecordedTurn]:
    """Returns a turn for every exchange."""
    exchanges = ([Line(said.role == "user", said.content) for said in exchange] for exchange in history.question)
    return [turn for lines in exchanges for turn in paired(lines, "user", "assistant", None)]


def _gold(source: str, turns: Sequence[RecordedTurn]) -> tuple[str, ...]:
    """Returns the words that the data quotes, cut where it leaves something out; where it does not quote word for word,
    what the user said in the turn that shares most of its words."""
    quoted = [piece.strip() for piece in _GAP.split(source) if words(piece).strip()]
    if not quoted or all(any(held(piece, turn.user) for turn in turns) for piece in quoted):
        return tuple(quoted)
    wanted = set(words(source).split())
    return (max(turns, key=lambda turn: len(wanted & set(words(turn.user).split()))).user,)
