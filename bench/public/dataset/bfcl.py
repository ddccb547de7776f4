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

from bench.public.dataset.dataset import Conversation, Dataset, DatasetQuestion, SpokenLine, pair_lines
from bench.public.dataset.read import raise_bad_dataset, read_lines, validate_dataset_value
from bench.public.evidence import fold_evidence_words, is_held_verbatim
from evaluation.scenario import RecordedTurn

_GAP = re.compile(r"\.{3,}|…")


class _BfclMessage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "assistant"]
    content: str


class _History(BaseModel):
    model_config = ConfigDict(extra="ignore")

    scenario: str = Field(min_length=1)
    question: list[list[_BfclMessage]]


class _BfclQuestion(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str = Field(min_length=1)
    scenario: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answers: list[str] = Field(min_length=1)
    source: str = ""


def load_bfcl(paths: Sequence[Path]) -> Dataset:
    """Returns one conversation for each scenario of the files, the histories of a scenario in the order of the files.

    Raises ``BadDataset``, also when a scenario with questions has no history, and ``BadTextFile``.
    """
    histories: defaultdict[str, list[_History]] = defaultdict(list)
    asked: defaultdict[str, list[_BfclQuestion]] = defaultdict(list)
    places: dict[str, str] = {}
    for path in paths:
        for number, row in read_lines(path):
            place = [f"line {number}"]
            if _is_history(row):
                history = validate_dataset_value(row, _History, path.name, place)
                histories[history.scenario].append(history)
            else:
                question = validate_dataset_value(row, _BfclQuestion, path.name, place)
                asked[question.scenario].append(question)
                places.setdefault(question.scenario, path.name)
    names = ", ".join(path.name for path in paths)
    if not asked:
        raise_bad_dataset(names, (), "there is no file with questions and their answers among these")
    for scenario in asked:
        if scenario not in histories:
            raise_bad_dataset(places[scenario], (), f"no file with the history of {scenario!r} is among {names}")
    return Dataset("bfcl", tuple(_build_bfcl_conversation(name, histories[name], asked[name], names) for name in asked))


def _is_history(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("question"), list)


def _build_bfcl_conversation(
    name: str, histories: list[_History], asked: list[_BfclQuestion], files: str
) -> Conversation:
    turns = [turn for history in histories for turn in _build_bfcl_turns(history)]
    if not turns:
        raise_bad_dataset(files, (), f"the history of {name!r} says nothing")
    questions = [
        DatasetQuestion(item.id, item.question, tuple(item.answers), name, _find_bfcl_gold(item.source, turns))
        for item in asked
    ]
    return Conversation(name, "user", "assistant", tuple(turns), tuple(questions))


def _build_bfcl_turns(history: _History) -> list[RecordedTurn]:
    """Returns a turn for every exchange."""
    exchanges = ([SpokenLine(said.role == "user", said.content) for said in exchange] for exchange in history.question)
    return [turn for lines in exchanges for turn in pair_lines(lines, "user", "assistant", None)]


def _find_bfcl_gold(source: str, turns: Sequence[RecordedTurn]) -> tuple[str, ...]:
    """Returns the words that the data quotes, cut where it leaves something out; where it does not quote word for word,
    what the user said in the turn that shares most of its words."""
    quoted = [piece.strip() for piece in _GAP.split(source) if fold_evidence_words(piece).strip()]
    if not quoted or all(any(is_held_verbatim(piece, turn.user) for turn in turns) for piece in quoted):
        return tuple(quoted)
    wanted = set(fold_evidence_words(source).split())
    return (max(turns, key=lambda turn: len(wanted & set(fold_evidence_words(turn.user).split()))).user,)
