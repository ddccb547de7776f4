"""The memory part of BFCL: histories of one user in several files, questions in another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.public.dataset import bfcl
from bench.public.dataset.dataset import NO_ANSWER
from bench.public.dataset.read import BadDataset
from tests.bench.public.files import bfcl_history, bfcl_question, written_lines
from tests.table import table

TOLD = (
    "I study law.",
    "My cat is called Pixel. In fact she is 4 years old.",
    "Shopping:\nMilk. Pay the vet on Friday.",
)


def files(folder: Path, *questions: dict[str, Any]) -> list[Path]:
    return [
        written_lines(folder / "questions.jsonl", questions),
        written_lines(folder / "first.jsonl", [bfcl_history("student", 0, *TOLD[:1])]),
        written_lines(folder / "second.jsonl", [bfcl_history("student", 1, *TOLD[1:])]),
    ]


def test_the_histories_of_a_scenario_are_one_conversation(tmp_path: Path) -> None:
    (talk,) = bfcl.load_bfcl(files(tmp_path, bfcl_question())).conversations
    assert [(turn.user, turn.answer, turn.at) for turn in talk.turns] == [(text, NO_ANSWER, None) for text in TOLD]
    (question,) = talk.questions
    assert question.answers == ("Pixel", "pixel the cat")
    assert question.category == "student"


@table(
    "source, gold",
    [
        ("My cat is called Pixel... she is 4 years old", ("My cat is called Pixel", "she is 4 years old")),
        ("…my cat is called “Pixel”", ("my cat is called “Pixel”",)),
        ("Shopping: Pay the vet on Friday.", (TOLD[2],)),
        ("", ()),
    ],
)
def test_gold_is_what_the_data_quotes_or_the_turn_that_it_shortens(
    source: str, gold: tuple[str, ...], tmp_path: Path
) -> None:
    (talk,) = bfcl.load_bfcl(files(tmp_path, bfcl_question(source=source))).conversations
    assert talk.questions[0].gold == gold


@table(
    "question, place, reason",
    [
        (bfcl_question(answers=[]), "line 2.answers", "at least 1"),
        (bfcl_question(question=None), "line 2.question", "string"),
        (bfcl_question(scenario="pilot"), "the whole file", "'pilot'"),
    ],
)
def test_another_shape_names_file_and_line(question: dict[str, Any], place: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadDataset) as caught:
        bfcl.load_bfcl(files(tmp_path, bfcl_question(), question))
    assert caught.value.values["file"] == "questions.jsonl"
    assert caught.value.values["place"] == place
    assert reason in caught.value.values["reason"]


def test_histories_without_questions(tmp_path: Path) -> None:
    with pytest.raises(BadDataset, match="no file with questions"):
        bfcl.load_bfcl(files(tmp_path)[1:])
