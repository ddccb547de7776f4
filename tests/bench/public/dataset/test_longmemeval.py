"""LongMemEval: every question has sessions of its own, by date."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bench.public.dataset import longmemeval
from bench.public.dataset.dataset import NO_ANSWER, TEXT_LIMIT
from bench.public.dataset.read import BadDataset
from tests.bench.public.files import longmemeval_instance, written
from tests.table import table


def test_sessions_by_date_become_turns(tmp_path: Path) -> None:
    (talk,) = longmemeval.load_longmemeval(written(tmp_path / "s.json", [longmemeval_instance()])).conversations
    early, late = datetime(2023, 5, 20, 2, 21), datetime(2023, 5, 25, 10)
    assert [(turn.user, turn.answer, turn.at) for turn in talk.turns] == [
        ("assistant: Welcome back.\nuser: I have 9 plants.\nOne is a fern.", NO_ANSWER, early),
        ("I have 12 plants now.", "A jungle!", late),
    ]
    assert talk.asked_at == datetime(2023, 5, 30, 23, 40)
    (question,) = talk.questions
    assert question.answers == ("12",)
    assert question.category == "knowledge-update"
    assert question.gold == ("I have 9 plants.", "I have 12 plants now.")
    assert not question.adversarial


def test_abstention_is_adversarial(tmp_path: Path) -> None:
    instance = longmemeval_instance(question_id="q1_abs", answer="You did not mention it.")
    (talk,) = longmemeval.load_longmemeval(written(tmp_path / "s.json", [instance])).conversations
    assert (talk.questions[0].category, talk.questions[0].adversarial) == ("abstention", True)


def test_without_dates_the_order_of_the_file_holds(tmp_path: Path) -> None:
    instance = longmemeval_instance(haystack_dates=[], question_date="")
    (talk,) = longmemeval.load_longmemeval(written(tmp_path / "s.json", [instance])).conversations
    assert [turn.at for turn in talk.turns] == [None, None]
    assert talk.turns[0].user == "I have 12 plants now."
    assert talk.asked_at is None


def test_a_message_that_is_too_long_is_cut_and_counted(tmp_path: Path) -> None:
    session = [{"role": "user", "content": "word " * TEXT_LIMIT}]
    instance = longmemeval_instance(haystack_sessions=[session], haystack_dates=[])
    (talk,) = longmemeval.load_longmemeval(written(tmp_path / "s.json", [instance])).conversations
    assert len(talk.turns[0].user) == TEXT_LIMIT
    assert talk.shortened_count == 1


def test_at_most_so_many_questions_spread_over_the_file(tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(10)]
    dataset = longmemeval.load_longmemeval(
        written(tmp_path / "s.json", [longmemeval_instance(question_id=name) for name in names])
    )
    assert [talk.name for talk in dataset.limit_questions(3).conversations] == ["q0", "q3", "q6"]
    assert dataset.limit_questions(20) is dataset


@table(
    "changes, place, reason",
    [
        ({"haystack_sessions": [[{"role": "robot", "content": "x"}]]}, "[0].haystack_sessions[0][0].role", "'user'"),
        ({"haystack_dates": ["2023/05/20 (Sat) 02:21"]}, "[0]", "1 entries"),
        ({"haystack_dates": ["x", "y"]}, "[0].haystack_dates[0]", "'x' is no date"),
        ({"question_date": "tomorrow"}, "[0].question_date", "'tomorrow' is no date"),
        ({"answer": None}, "[0].answer", "valid string"),
    ],
)
def test_another_shape_names_file_and_place(changes: Any, place: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadDataset) as caught:
        longmemeval.load_longmemeval(written(tmp_path / "s.json", [longmemeval_instance(**changes)]))
    assert caught.value.values["file"] == "s.json"
    assert caught.value.values["place"].startswith(place)
    assert reason in caught.value.values["reason"]
