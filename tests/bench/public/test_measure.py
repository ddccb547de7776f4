"""One play serves every question and every form."""

from __future__ import annotations

import json
import threading
from datetime import datetime

import pytest
from langchain_core.messages import BaseMessage

from bench.public.dataset import locomo
from bench.public.dataset.dataset import Dataset
from bench.public.evidence import GoldEvidence
from bench.public.measure import BY_QUERY, FORMS, Row, measure_conversation
from evaluation.judge.criterion import CRITERIA
from evaluation.play import RecordedConversation, play_turns
from model import scripted
from model.call.stream import Stopped
from model.modelset import ModelSet
from model.profile import SMALL
from model.scripted import ScriptedModel
from tests.bench.public.files import line, locomo_sample, written
from tests.clock import set_clock

EVERY = (*FORMS, *BY_QUERY)
CHAT = [(name, f"D5:{turn}", text) for turn in range(5) for name, text in (("Noor", "It rains."), ("Piet", "Yes."))]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    sample = locomo_sample(session_5=[line(*said) for said in CHAT])
    return locomo.load_locomo(written(tmp_path_factory.mktemp("data") / "talks.json", [sample]))


@pytest.fixture(scope="module")
def rows(dataset: Dataset) -> list[Row]:
    with pytest.MonkeyPatch.context() as patch:
        set_clock(patch, "bench.public.measure", step=0.5)
        return list(
            measure_conversation(dataset, dataset.conversations[0], scripted.build_scripted_models(profile=SMALL))
        )


def test_every_question_is_looked_up_in_every_form(dataset: Dataset, rows: list[Row]) -> None:
    questions = dataset.conversations[0].questions
    assert [(row.question, row.form) for row in rows] == [
        (question.name, form) for question in questions for form in EVERY
    ]
    assert len(rows) == 5 * len(EVERY)
    assert {row.turns for row in rows} == {9}
    assert all(row.answer is None and not row.failed for row in rows)


def test_evidence_of_the_forms(rows: list[Row]) -> None:
    by_place = {(row.question, row.form): row for row in rows}
    assert by_place["0", "full"].evidence == GoldEvidence(1, 1, 1, 1)
    assert by_place["1", "full"].evidence == GoldEvidence(2, 2, 1, 1)
    assert by_place["0", "turns"].evidence == GoldEvidence(1, 0, 1, 0)
    assert by_place["3", "turns"].evidence == GoldEvidence(1, 0, 1, 0)
    assert by_place["0", "all"].evidence.facts_held == 1
    assert by_place["1", "all_recall"].tokens > by_place["1", "all"].tokens
    assert {row.seconds for row in rows} == {0.5}
    assert by_place["0", "full"].tokens > by_place["0", "turns"].tokens > 0


def test_dates_of_the_recording_reach_the_rows_the_prompt_and_what_is_recalled(dataset: Dataset) -> None:
    (talk,) = dataset.conversations
    strong = scripted.build_scripted_models(utility=lambda messages: "summary")
    with play_turns(strong, RecordedConversation(talk.turns, "en", talk.asked_at)) as play:
        assert [datetime.fromtimestamp(row.started) for row in play.rows] == [turn.at for turn in talk.turns]
        assert "2023-06-03 (Sat) 00:05" in "\n".join(str(message.text) for message in play.prompt_for().messages)
        prompt = play.context("all", "What broke?").lines
        given = BY_QUERY["all_recall"](play, "What broke?").lines
        assert given[: len(prompt)] == prompt
        found = "\n".join(given[len(prompt) :])
        assert "my oven broke yesterday" in found
        assert "2023-06-03" in found


def test_live_answers_are_compared_and_judged(dataset: Dataset) -> None:
    (talk,) = dataset.limit_questions(1).conversations
    rows = list(measure_conversation(dataset, talk, answering("It was 840."), live=True))
    assert [row.answer.f1 for row in rows if row.answer] == [pytest.approx(1 / 2)] * len(EVERY)
    overall = {row.form: row.answer.rating.overall for row in rows if row.answer and row.answer.rating}
    assert overall == dict.fromkeys(EVERY, pytest.approx(90))


def test_without_a_judge_nobody_is_asked_to_judge(dataset: Dataset) -> None:
    (talk,) = dataset.limit_questions(1).conversations
    chat, utility = ScriptedModel(lambda _: "840"), ScriptedModel()
    models = scripted.build_scripted_models(chat, utility, profile=SMALL)
    rows = list(measure_conversation(dataset, talk, models, live=True, judged=False))
    assert [row.answer.f1 for row in rows if row.answer] == [1.0] * len(EVERY)
    assert utility.calls == []
    question = str(chat.calls[0][-1].text)
    assert "Noor" in question
    assert "How much was the boat?" in question


def test_a_stop_ends_the_measurement(dataset: Dataset) -> None:
    stop = threading.Event()
    rows = measure_conversation(
        dataset, dataset.conversations[0], scripted.build_scripted_models(profile=SMALL), stop=stop
    )
    next(rows)
    stop.set()
    with pytest.raises(Stopped):
        next(rows)


def answering(text: str) -> ModelSet:
    """Models of which the chat model gives this answer and the utility model judges everything alike."""
    scores = {name: {"score": 1 if name == "noise" else 9, "reason": "-"} for name in CRITERIA}

    def judgement(_messages: list[BaseMessage]) -> str:
        return json.dumps({"overall_score": 90, "scores": scores})

    return scripted.build_scripted_models(chat=lambda _: text, utility=judgement, profile=SMALL)
