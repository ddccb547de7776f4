"""The bench of a world's truth: its stories, its damage, and how it counts."""

from __future__ import annotations

import argparse
import random
from typing import Any

import pytest

from bench import world_truth
from bench.world_block import DAMAGES, damaged, whole
from bench.world_truth import Played, damages, rows
from store.world.record import DEAD, Changes, Character, PlayerItem
from tests.table import table
from world.block import read_answer_blocks, read_cut_blocks
from world.story.state import StoryState

LANGUAGES = ("ko", "en")


@table("language", LANGUAGES)
def test_a_story_has_what_the_specification_asks_for(language: str) -> None:
    _, turns = rows(language)
    assert [row["turn"] for row in turns] == list(range(1, 61))
    assert sum(row["changed"] for row in turns) == 40
    planted = [row["planted"]["kind"] for row in turns if "planted" in row]
    assert len(planted) == 10
    assert set(planted) == {"dead_talks", "no_hp_fights", "two_places", "lost_item"}
    assert sum(bool(row.get("innocent")) for row in turns) == 10


def test_every_kind_of_damage_comes_up() -> None:
    hurt = damages(60, 15)
    assert len(hurt) == 9
    assert set(hurt.values()) == set(DAMAGES)
    assert damages(60, 16) != hurt


@table(("kind", "language"), [(kind, language) for kind in DAMAGES for language in LANGUAGES])
def test_damage_is_damage_and_the_reader_knows_it(kind: str, language: str) -> None:
    for row in rows(language)[1]:
        block = damaged(kind, row["fields"], language, random.Random(row["turn"]))
        assert block != whole(row["fields"]) or kind == "mistyped"
        raw = f"{row['answer']}\n\n{block}"
        if read_cut_blocks(raw) is None and kind != "cut":
            assert [set(fields) for fields in read_answer_blocks(raw)] == [set(row["fields"])], block


def truth(**values: Any) -> dict[str, Any]:
    empty = {"location": "wood", "hp": 90, "items": {}, "dead": [], "relations": {}, "met": {}, "places": {}}
    return {"turn": 1, "state": {**empty, **values}}


def test_what_is_missing_and_what_is_too_much_count_as_wrong() -> None:
    people = (Character("Aria", "wood", 80), Character("Vane", "mill", 0, DEAD))
    state = StoryState("Aria").after(Changes(people, items=(PlayerItem("lamp"),)), 1)
    played = Played("en")
    world_truth._compare(truth(items={"bell": "lost"}), state, played)
    assert (played.right, played.total) == (1, 5)
    assert [line.split(": ")[1] for line in played.wrong] == ["hp", "item bell", "item lamp", "dead Vane"]


def test_the_beginning_of_a_story_is_played_to_its_true_state(monkeypatch: pytest.MonkeyPatch) -> None:
    whole_story = world_truth.rows
    monkeypatch.setattr(world_truth, "rows", lambda language: (whole_story(language)[0], whole_story(language)[1][:18]))
    result = world_truth.run(argparse.Namespace(seed=15, model=False, missing=False, language="ko"))
    assert result["correct_share"] == 1.0
    assert result["contradictions_found"] == 0, "the first one stands in a sentence only (decision 22)"
    assert result["false_alarms"] == 0
    calls = result["calls"]
    assert isinstance(calls, dict)
    assert calls["narration"] == 100
    assert 0 < calls["light"] < 30
