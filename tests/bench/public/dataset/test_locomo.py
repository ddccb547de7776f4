"""LoCoMo: one speaker is the user, dates become the clock, the other speaker's lines are the answers."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bench.public.dataset import locomo
from bench.public.dataset.dataset import NO_ANSWER
from bench.public.dataset.read import BadDataset
from errors import BadTextFile
from tests.bench.public.files import line, locomo_sample, written
from tests.table import table

MAY, JUNE = datetime(2023, 5, 8, 13, 56), datetime(2023, 6, 3, 0, 5)


def test_turns_of_both_speakers_with_their_dates(tmp_path: Path) -> None:
    (talk,) = locomo.load_locomo(written(tmp_path / "talks.json", [locomo_sample()])).conversations
    assert (talk.name, talk.user, talk.other, talk.unknown_gold) == ("talk-1", "Noor", "Piet", 1)
    assert [(turn.user, turn.answer, turn.at) for turn in talk.turns] == [
        ("My rowing boat cost 840 euros.\nI row on the Amstel.", "Nice! I bake rye bread.", MAY),
        ("Look at it. [a green boat on a river]", "Pretty.", MAY),
        ("Piet: Hello Noor, my oven broke yesterday.\nNoor: Oh no. My race is on 17 June.", NO_ANSWER, JUNE),
        ("I came third.", "Well done!", JUNE),
    ]
    assert talk.asked_at == JUNE


def test_questions_with_category_answers_and_gold_turns(tmp_path: Path) -> None:
    dataset = locomo.load_locomo(written(tmp_path / "talks.json", [locomo_sample()]))
    assert [
        (item.category, item.answers, item.gold, item.adversarial, item.scoring)
        for item in dataset.conversations[0].questions
    ] == [
        ("single-hop", ("840",), ("My rowing boat cost 840 euros.",), False, "whole"),
        ("multi-hop", ("row, bake",), ("I row on the Amstel.", "Nice! I bake rye bread."), False, "parts"),
        ("open-domain", ("No",), ("I came third.",), False, "whole"),
        ("temporal", ("17 June",), ("Oh no. My race is on 17 June.",), False, "whole"),
        ("adversarial", (), ("Oh no. My race is on 17 June.",), True, "refusal"),
    ]
    assert dataset.gold is not None
    assert (dataset.gold.wrong, dataset.gold.questions, dataset.gold.ceiling) == (99, 1540, 0.9357)


def test_a_conversation_without_any_date_has_no_clock(tmp_path: Path) -> None:
    sample = locomo_sample()
    for key in [key for key in sample["conversation"] if key.endswith("_date_time")]:
        del sample["conversation"][key]
    (talk,) = locomo.load_locomo(written(tmp_path / "talks.json", [sample])).conversations
    assert {turn.at for turn in talk.turns} == {None}
    assert talk.asked_at is None


def test_a_session_in_which_only_the_other_one_speaks_is_a_turn(tmp_path: Path) -> None:
    sample = locomo_sample(session_3=[line("Piet", "D3:1", "Are you there?")])
    (talk,) = locomo.load_locomo(written(tmp_path / "talks.json", [sample])).conversations
    assert (talk.turns[-1].user, talk.turns[-1].answer) == ("Piet: Are you there?", NO_ANSWER)


def without(sample: dict[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in sample.items() if key != field}


def with_question(**fields: Any) -> dict[str, Any]:
    sample = locomo_sample()
    sample["qa"][2] = {"question": "Who?", "answer": "Noor", "category": 4, "evidence": [], **fields}
    return sample


@table(
    "value, place, reason",
    [
        ({"talks": []}, "the whole file", "list"),
        ([locomo_sample(), without(locomo_sample(), "qa")], "[1].qa", "required"),
        ([locomo_sample(session_1=[line("Noor", "D1:1", 5)])], "[0].conversation.session_1[0].text", "string"),
        ([locomo_sample(session_2_date_time=8)], "[0].conversation.session_2_date_time", "string"),
        ([locomo_sample(session_1=[line("Bob", "D1:1", "x")])], "[0].conversation.session_1[0].speaker", "'Bob'"),
        ([locomo_sample(session_2_date_time="May 8")], "[0].conversation.session_2_date_time", "'May 8' is no date"),
        ([{**locomo_sample(), "conversation": {"speaker_a": "N"}}], "[0].conversation", "session_1"),
        ([with_question(category=6)], "[0].qa[2].category", "less than or equal to 5"),
        ([with_question(answer=None)], "[0].qa[2]", "it has no answer"),
    ],
)
def test_another_shape_names_file_and_place(value: Any, place: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadDataset) as caught:
        locomo.load_locomo(written(tmp_path / "talks.json", value))
    assert caught.value.values["file"] == "talks.json"
    assert caught.value.values["place"] == place
    assert reason in caught.value.values["reason"]


def test_a_file_that_is_no_json_or_not_there(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('[\n{"qa": ]', "utf-8")
    with pytest.raises(BadDataset, match="line 2"):
        locomo.load_locomo(broken)
    with pytest.raises(BadTextFile):
        locomo.load_locomo(tmp_path / "missing.json")
