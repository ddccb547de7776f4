"""LongMemEval (Wu et al., 2024, arXiv 2410.10813): every question has a history of dated chat sessions of its own."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bench.public.dataset.dataset import Conversation, Dataset, DatasetQuestion, SpokenLine, pair_lines
from bench.public.dataset.read import raise_bad_dataset, read_json

ABSTENTION = "_abs"
"""Ends the id of a question whose answer the history does not tell."""
DATE = "%Y/%m/%d %H:%M"
"""For example «2023/05/20 (Sat) 02:21», without its day of the week."""


class _LongmemevalMessage(BaseModel):
    model_config = ConfigDict(extra="ignore")

    role: Literal["user", "assistant"]
    content: str
    has_answer: bool | None = False


class _Instance(BaseModel):
    model_config = ConfigDict(extra="ignore")

    question_id: str = Field(min_length=1)
    question_type: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answer: str | int | float
    question_date: str = ""
    haystack_dates: list[str]
    haystack_sessions: list[list[_LongmemevalMessage]] = Field(min_length=1)

    @model_validator(mode="after")
    def _check_dated(self) -> _Instance:
        dates, sessions = len(self.haystack_dates), len(self.haystack_sessions)
        if dates not in (0, sessions):
            raise ValueError(f"haystack_dates has {dates} entries, haystack_sessions {sessions}")
        return self


def load_longmemeval(path: Path) -> Dataset:
    """Returns one conversation for each question of a file. Raises ``BadDataset`` and ``BadTextFile``."""
    instances = read_json(path, list[_Instance])
    return Dataset(
        "longmemeval", tuple(_build_longmemeval_conversation(item, at, path.name) for at, item in enumerate(instances))
    )


def _build_longmemeval_conversation(item: _Instance, index: int, file: str) -> Conversation:
    """Returns the history of a question, its sessions by date."""
    dates = [
        _parse_longmemeval_date(text, [index, "haystack_dates", number], file)
        for number, text in enumerate(item.haystack_dates)
    ]
    sessions = list(zip(dates or [None] * len(item.haystack_sessions), item.haystack_sessions, strict=True))
    if all(date is not None for date in dates):
        sessions.sort(key=lambda pair: pair[0] or datetime.min)
    turns = [
        turn
        for at, messages in sessions
        for turn in pair_lines(
            [SpokenLine(said.role == "user", said.content) for said in messages], "user", "assistant", at
        )
    ]
    if not turns:
        raise_bad_dataset(file, [index, "haystack_sessions"], "nobody says anything")
    gold = [said.content.strip() for _, messages in sessions for said in messages if said.has_answer]
    absent = item.question_id.endswith(ABSTENTION)
    question = DatasetQuestion(
        item.question_id,
        item.question,
        (str(item.answer),),
        "abstention" if absent else item.question_type,
        tuple(filter(None, gold)),
        adversarial=absent,
        scoring="refusal" if absent else "whole",
    )
    asked_at = _parse_longmemeval_date(item.question_date, [index, "question_date"], file)
    return Conversation(item.question_id, "user", "assistant", tuple(turns), (question,), asked_at=asked_at)


def _parse_longmemeval_date(text: str, place: list[int | str], file: str) -> datetime | None:
    """Returns the moment of a date; None for an empty one."""
    day, _, clock = text.strip().partition(" ")
    if not day:
        return None
    try:
        return datetime.strptime(f"{day} {clock.rpartition(' ')[2]}", DATE)
    except ValueError:
        raise_bad_dataset(file, place, f"{text!r} is no date such as '2023/05/20 (Sat) 02:21'")
