"""Reads the training files.

``LANGUAGE_NAME.txt``: a conversation of ours, «NUMBER. QUESTION // ANSWER» under headings with the day.
``question.tsv``: conversation, kind, the turns that answer, question; turns are numbers of ours from 1, positions in
the data sets from 0, or «@WORD» for those that say it.
``unrelated.txt``: messages that ask for nothing of these conversations; ``asking.txt``: for something of others.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from model.call.token import estimate_tokens
from model.embedding import Embedder
from retrieval.past.row import pack_turn
from retrieval.past.turn_table import TurnTable
from store.search.turn_index import IndexedTurn, PastTurn, TurnKey
from text.language import has_korean

TRAINING = Path(__file__).with_name("past_data")
DIALOGUES = 36
"""Dialogues of each Korean file that make a corpus."""
FEW = 8
"""Turns of a conversation that has only begun."""
SCENARIOS = ("customer", "finance", "notetaker")
_LINE = re.compile(r"(\d+)\. (.*?) // (.*)")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question about the conversation ``source``. ``right``: the positions of the turns that answer it."""

    source: str
    text: str
    right: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Conversations that are searched together. ``starts``: the position of each conversation's first turn;
    ``tokens``: of every turn; ``now``: when the questions are asked."""

    language: str
    starts: dict[str, int]
    table: TurnTable
    tokens: list[int]
    now: datetime

    @property
    def is_joined(self) -> bool:
        return len(self.starts) > 1

    def holds(self, question: TrainingQuestion) -> bool:
        return question.source in self.starts and all(0 <= at < len(self.table) for at in self.positions(question))

    def positions(self, question: TrainingQuestion) -> list[int]:
        return [self.starts[question.source] + at for at in question.right]


def read_corpora(data: Path, embedder: Embedder) -> list[Corpus]:
    """Returns a corpus for each conversation and for each few turns of it, and one for all conversations of each
    language."""
    every = _read_training_conversations(data)
    packed = {name: [(turn, *pack_turn(turn, embedder)) for turn in turns] for name, turns in every.items()}
    corpora = [_build_corpus({name: rows}) for name, rows in packed.items()]
    for name, rows in packed.items():
        corpora += [_build_corpus({name: rows[first : first + FEW]}, first) for first in range(0, len(rows), FEW)]
    for language in ("en", "ko"):
        own = {name: rows for name, rows in packed.items() if _language_of_turns(every[name]) == language}
        corpora.append(_build_corpus(own))
    return corpora


def read_questions(data: Path) -> list[TrainingQuestion]:
    """Returns our own questions, and those of BFCL."""
    turns, own = _read_training_conversations(data), list[TrainingQuestion]()
    for line in (TRAINING / "question.tsv").read_text("utf-8").splitlines():
        source, _, right, text = line.split("\t")
        own.append(
            TrainingQuestion(source, text, tuple(_find_right_positions(right, turns[source], is_own=":" not in source)))
        )
    for row in _read_json_lines(data / "memory" / "bfcl_questions.jsonl"):
        source = f"bfcl:{row['scenario']}"
        if quoted := _find_quoted(row["source"], turns[source]):
            own.append(TrainingQuestion(source, row["question"], quoted))
    return own


def read_asking() -> list[str]:
    """Returns messages that ask for something of the past, of no conversation here."""
    file = TRAINING / "asking.txt"
    return file.read_text("utf-8").splitlines() if file.exists() else []


def read_unrelated(language: str) -> list[str]:
    lines = (TRAINING / "unrelated.txt").read_text("utf-8").splitlines()
    return [line for line in lines if has_korean(line) == (language == "ko")]


def _build_corpus(conversations: dict[str, list[tuple[PastTurn, bytes, bytes]]], first: int = 0) -> Corpus:
    """Returns a corpus of these turns; ``first``: the position in its conversation of the first one."""
    table, starts, tokens = TurnTable(), dict[str, int](), list[int]()
    last = 0.0
    for name, rows in conversations.items():
        starts[name] = len(table) - first
        for turn, vector, words in rows:
            table.add([IndexedTurn(f"{name} {turn.key.session_id}", 0, turn.key.number, vector, words)])
            tokens.append(estimate_tokens(turn.question) + estimate_tokens(turn.answer))
            last = max(last, turn.at)
    for session in {f"{name} {turn.key.session_id}" for name, rows in conversations.items() for turn, _, _ in rows}:
        table.set_path(session, {0: range(1, sys.maxsize)})
    language = _language_of_turns([turn for rows in conversations.values() for turn, _, _ in rows])
    return Corpus(language, starts, table, tokens, datetime.fromtimestamp(last).astimezone() + timedelta(days=1))


def _language_of_turns(turns: Sequence[PastTurn]) -> str:
    return "ko" if has_korean(turns[0].question) else "en"


def _read_training_conversations(data: Path) -> dict[str, list[PastTurn]]:
    found = {file.stem: list(_read_own(file)) for file in sorted(TRAINING.glob("??_*.txt"))}
    korean = data / "dialogue" / "ko"
    for name, file in (("manual", "hgtods_manual_dev.jsonl"), ("music", "hgtods_music_dev.jsonl")):
        rows = _read_json_lines(korean / file)[:DIALOGUES]
        found[f"hgtods:{name}"] = [turn for row in rows for turn in _read_dialogue(row["id"], row["turns"])]
    airline = _read_json_lines(data / "dialogue" / "en" / "taubench_airline_gpt4o_success.jsonl")
    found["tau:airline"] = [turn for row in airline for turn in _read_dialogue(str(row["task_id"]), row["messages"])]
    for name in SCENARIOS:
        days = _read_json_lines(data / "memory" / f"memory_{name}.jsonl")
        said = [message["content"] for day in days for messages in day["question"] for message in messages]
        found[f"bfcl:{name}"] = [_make_turn("", number, 0.0, text, "OK.") for number, text in enumerate(said, 1)]
    return found


def _read_own(file: Path) -> Iterator[PastTurn]:
    day, number = "", 0
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("# "):
            day, number = line[2:], 0
        elif said := _LINE.fullmatch(line):
            number += 1
            yield _make_turn(day, number, datetime.fromisoformat(day).timestamp(), said[2], said[3])


def _read_dialogue(session: str, messages: Sequence[dict[str, Any]]) -> Iterator[PastTurn]:
    """Yields the turns of a dialogue: a user's message and the first answer to it in words."""
    number, asked = 0, None
    for message in messages:
        if "assistant" in message:  # the music dialogues have both sides in one entry
            number += 1
            yield _make_turn(session, number, 0.0, message["user"], message["assistant"].replace("NULL", ""))
            continue
        text = message.get("text") or message.get("content")
        if not isinstance(text, str) or not text or message["role"] not in ("user", "assistant", "system"):
            continue
        if message["role"] == "user":
            if asked is not None:
                number += 1
                yield _make_turn(session, number, 0.0, asked, "")
            asked = text.replace("###STOP###", "").strip()
        elif asked is not None:
            number += 1
            yield _make_turn(session, number, 0.0, asked, text)
            asked = None
    if asked:
        yield _make_turn(session, number + 1, 0.0, asked, "")


def _make_turn(session: str, number: int, at: float, question: str, answer: str) -> PastTurn:
    return PastTurn(TurnKey(session, 0, number), at, question, answer)


def _find_right_positions(right: str, turns: Sequence[PastTurn], *, is_own: bool) -> list[int]:
    if not right.startswith("@"):
        return [int(number) - is_own for number in right.split(",")]
    marks = [mark.removeprefix("@") for mark in right.split(",")]
    return [at for at, turn in enumerate(turns) if any(mark in f"{turn.question}\n{turn.answer}" for mark in marks)]


def _find_quoted(source: str, turns: Sequence[PastTurn]) -> tuple[int, ...]:
    """Returns the turns that say the pieces which BFCL quotes, or the one that shares most of their words."""
    said = [_plain_words(turn.question) for turn in turns]
    pieces = [piece for part in re.split(r"\.{3,}|…", source) if (piece := _plain_words(part)).strip()]
    if pieces and all(any(piece in text for text in said) for piece in pieces):
        return tuple(at for at, text in enumerate(said) if any(piece in text for piece in pieces))
    wanted = set(_plain_words(source).split())
    shared = [len(wanted & set(text.split())) for text in said]
    return (int(np.argmax(shared)),)


def _plain_words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _read_json_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]
