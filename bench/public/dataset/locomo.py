"""LoCoMo (Maharana et al., 2024, arXiv 2402.17753): two people write to each other over months.

``speaker_a`` is the user, the lines of ``speaker_b`` are the answers. The data is under CC BY-NC 4.0: for measuring
only, none of it may come with Gieok.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bench.public.dataset.dataset import (
    Conversation,
    Dataset,
    DatasetQuestion,
    Gold,
    Scoring,
    SpokenLine,
    pair_lines,
)
from bench.public.dataset.read import raise_bad_dataset, read_json
from evaluation.scenario import RecordedTurn

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
GOLD = Gold(wrong=99, questions=1540, source="dial481/locomo-audit")
DATE = "%I:%M %p on %d %B, %Y"
"""For example «1:56 pm on 8 May, 2023»."""

_SESSION = re.compile(r"session_(\d+)")
_SESSION_DATE = re.compile(r"session_\d+_date_time")
_DIALOGUE_ID = re.compile(r"D:?(\d+):(\d+)")


class _LocomoLine(BaseModel):
    model_config = ConfigDict(extra="ignore")

    speaker: str
    dia_id: str
    text: str
    blip_caption: str = ""

    @property
    def spoken_text(self) -> str:
        """The text, and what the image shows."""
        return f"{self.text} [{self.blip_caption}]".strip() if self.blip_caption else self.text


class _Talk(BaseModel):
    model_config = ConfigDict(extra="ignore")

    speaker_a: str
    speaker_b: str
    sessions: dict[str, list[_LocomoLine]]
    dates: dict[str, str]

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, value: Any) -> Any:
        """Puts the numbered fields into two mappings: ``session_1``, ``session_1_date_time``, ``session_2``, …"""
        if not isinstance(value, dict):
            return value
        sessions = {key: lines for key, lines in value.items() if _SESSION.fullmatch(str(key))}
        if not sessions:
            raise ValueError("it has no field session_1")
        dates = {key: date for key, date in value.items() if _SESSION_DATE.fullmatch(str(key))}
        return {**value, "sessions": sessions, "dates": dates}


class _LocomoQuestion(BaseModel):
    model_config = ConfigDict(extra="ignore")

    question: str = Field(min_length=1)
    category: int = Field(ge=1, le=5)
    evidence: list[str] = Field(default_factory=list)
    answer: str | int | float | None = None
    adversarial_answer: str | int | float | None = None

    @model_validator(mode="after")
    def _check_answered(self) -> _LocomoQuestion:
        if self.category != ADVERSARIAL and self.answer is None:
            raise ValueError("it has no answer")
        return self


class _LocomoSample(BaseModel):
    model_config = ConfigDict(extra="ignore")

    sample_id: str | int = ""
    conversation: _Talk
    qa: list[_LocomoQuestion]


def load_locomo(path: Path) -> Dataset:
    """Returns the conversations of a file of the data set. Raises ``BadDataset`` and ``BadTextFile``."""
    samples = read_json(path, list[_LocomoSample], own=("sessions", "dates"))
    return Dataset(
        "locomo", tuple(_build_locomo_conversation(sample, at, path.name) for at, sample in enumerate(samples)), GOLD
    )


def _build_locomo_conversation(sample: _LocomoSample, index: int, file: str) -> Conversation:
    talk, name = sample.conversation, str(sample.sample_id or f"conversation {index}")
    turns = tuple(_build_locomo_turns(talk, index, file))
    if not turns:
        raise_bad_dataset(file, [index, "conversation"], "nobody says anything")
    said = {_turn_key(line.dia_id): line.spoken_text for lines in talk.sessions.values() for line in lines}
    questions = [_build_locomo_question(item, number, said) for number, item in enumerate(sample.qa)]
    named = [key for item in sample.qa for key in _list_evidence_turns(item)]
    return Conversation(
        name,
        talk.speaker_a,
        talk.speaker_b,
        turns,
        tuple(questions),
        asked_at=turns[-1].at,
        unknown_gold=sum(key not in said for key in named),
    )


def _build_locomo_turns(talk: _Talk, index: int, file: str) -> Iterator[RecordedTurn]:
    """Yields the turns of all sessions by number. A session without a date has that of the session before it."""
    at = None
    for key in sorted(talk.sessions, key=lambda name: int(name.removeprefix("session_"))):
        place: tuple[int | str, ...] = (index, "conversation", key)
        date = f"{key}_date_time"
        if date in talk.dates:
            at = _parse_locomo_date(talk.dates[date], (index, "conversation", date), file)
        for number, line in enumerate(talk.sessions[key]):
            if line.speaker not in (talk.speaker_a, talk.speaker_b):
                raise_bad_dataset(
                    file, [*place, number, "speaker"], f"{line.speaker!r} is neither speaker_a nor speaker_b"
                )
        lines = [SpokenLine(line.speaker == talk.speaker_a, line.spoken_text) for line in talk.sessions[key]]
        yield from pair_lines(lines, talk.speaker_a, talk.speaker_b, at)


def _parse_locomo_date(text: str, place: Sequence[int | str], file: str) -> datetime:
    try:
        return datetime.strptime(text.strip(), DATE)
    except ValueError:
        raise_bad_dataset(file, place, f"{text!r} is no date such as '1:56 pm on 8 May, 2023'")


def _build_locomo_question(item: _LocomoQuestion, number: int, said: dict[tuple[int, int], str]) -> DatasetQuestion:
    """Returns a question. As in LoCoMo's own evaluation, only what stands before a semicolon is the answer of an
    open-domain question, and the answers of a multi-hop question are compared part by part."""
    answer = "" if item.answer is None else str(item.answer)
    kinds: dict[int, Scoring] = {1: "parts", ADVERSARIAL: "refusal"}
    return DatasetQuestion(
        str(number),
        item.question,
        tuple(filter(None, [answer.split(";")[0].strip() if item.category == 3 else answer])),
        CATEGORIES[item.category],
        tuple(said[key] for key in dict.fromkeys(_list_evidence_turns(item)) if key in said),
        adversarial=item.category == ADVERSARIAL,
        scoring=kinds.get(item.category, "whole"),
    )


def _list_evidence_turns(item: _LocomoQuestion) -> list[tuple[int, int]]:
    """Returns the turns that the data names as evidence. Some entries of it hold several («D8:6; D9:17»)."""
    return [(int(session), int(turn)) for entry in item.evidence for session, turn in _DIALOGUE_ID.findall(entry)]


def _turn_key(text: str) -> tuple[int, int]:
    matching = _DIALOGUE_ID.fullmatch(text.strip())
    return (int(matching[1]), int(matching[2])) if matching else (0, 0)
