from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from bench import memory_cost
from bench.context import excerpt
from bench.memory_recall import PlantedFact, measure, planted, scores
from evaluation.play import CallCost
from evaluation.probe import is_value_held
from model import scripted
from tests.graph.recalling import folding


def writing(messages: list[BaseMessage]) -> str:
    """Folds as a good model does, and makes summaries of the first sentences."""
    return folding(messages) if "<memory>" in str(messages[1].content) else excerpt(messages)


@pytest.mark.parametrize("language", ["ko", "en"])
def test_sixty_facts_are_planted_and_some_replace_an_earlier_one(language: str) -> None:
    facts = planted(language)
    assert len(facts) == 60
    assert all(each.value in each.user for each in facts)
    changes = [each for each in facts if each.old]
    assert len(changes) == 12
    for each in changes:
        assert (each.key, each.old) in {(fact.key, fact.value) for fact in facts}
    values = [each.value for each in facts]
    assert len(set(values)) == 60


def test_a_value_is_found_in_another_spelling_and_not_within_a_longer_number() -> None:
    assert is_value_held("예산은 150만원", "150만 원")
    assert is_value_held("it costs $3200.", "$3,200")
    assert not is_value_held("25 mg", "5 mg")
    assert not is_value_held("June 3", "June 30")


def test_an_old_value_counts_as_current_when_it_is_told_last_without_the_new_one() -> None:
    facts = [
        PlantedFact("", "", "budget", "$1"),
        PlantedFact("", "", "budget", "$2", old="$1"),
        PlantedFact("", "", "name", "Ada"),
    ]
    assert scores(facts, ["$1", "$2"])["old_as_current"] == 0
    assert scores(facts, ["$2", "$1"])["old_as_current"] == 1
    assert scores(facts, ["from $1 to $2"]) == {
        "recall": 0.5,
        "newest_present": 1.0,
        "old_as_current": 0.0,
        "current": 2,
        "changed": 1,
    }


def test_the_bench_runs_over_a_scripted_model() -> None:
    result: dict[str, Any] = measure(scripted.build_scripted_models(utility=writing), {"en": planted("en")[:12]}, True)
    together, raw = result["together"], result["raw"]
    assert result["planted"] == 12
    assert (together["current"], together["changed"]) == (10, 2)
    assert together["recall"] >= 0.8
    assert together["newest_present"] == 1.0
    assert together["recall"] > raw["recall"] > 0


def test_the_cost_of_sessions_comes_from_measured_tokens() -> None:
    looked_up = memory_cost.Work("look_up", 2, CallCost(3, 3000, 600, 4.0))
    result: dict[str, Any] = memory_cost.measure(
        scripted.build_scripted_models(utility=writing), "en", 12, "gpt-5-nano", looked_up
    )
    assert [each["work"] for each in result["work"]] == ["fold", "summary", "answer", "look_up"]
    assert (result["work"][-1]["prompt_tokens"], result["work"][-1]["calls"]) == (1500, 1.5)
    assert (result["sessions"][0]["look_up_calls"], result["sessions"][0]["look_up_tokens"]) == (30, 36_000)
    fold, *_ = result["work"]
    assert (fold["measured"], fold["calls"]) == (2, 1.0)
    assert fold["prompt_tokens"] > 100
    short, _, long = result["sessions"]
    assert (short["turns"], short["fold_calls"], short["summary_calls"]) == (20, 3, 6)
    assert (long["turns"], long["fold_calls"], long["summary_calls"]) == (100, 19, 33)
    assert 0 < short["usd"] < long["usd"]
