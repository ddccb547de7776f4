from __future__ import annotations

import pytest
from langchain_core.messages import BaseMessage, ToolMessage

from bench import dialogue
from bench.models import codes
from bench.summary import Chunk, figures, measure, samples, summarise
from model.scripted import build_scripted_models
from text import sentence


def first_sentences(messages: list[BaseMessage]) -> str:
    """Answers as a model would that copies the beginning of each message."""
    lines = [line.split("] ", 1)[1] for line in messages[1].text.splitlines() if line.startswith("[") and "] " in line]
    return " ".join(sentence.split_sentences(line)[0] for line in lines)


@pytest.fixture
def tuned() -> list[Chunk]:
    return [each for each in samples() if not each.dialogue.held]


def test_there_are_samples_in_both_languages_and_two_are_held_out() -> None:
    found = dialogue.samples()
    assert sum(not each.held for each in found) >= 6
    assert sorted(each.language for each in found if each.held) == ["en", "ko"]
    assert {each.language for each in found if not each.held} == {"ko", "en"}
    assert all(len(each.turns) % 3 == 0 for each in found)


def test_chunks_run_from_small_talk_to_long_tool_results() -> None:
    sizes = sorted(sum(len(message.text) for message in each.messages) for each in samples())
    assert sizes[0] <= 130
    assert sizes[-1] >= 1200


def test_the_long_dialogue_has_fifty_turns_and_many_tool_calls() -> None:
    found = dialogue.load(dialogue.LONG)
    assert len(found.turns) == 50
    assert sum(any(isinstance(each, ToolMessage) for each in turn.messages) for turn in found.turns) >= 12


def test_facts_listed_by_hand_stand_in_their_turn() -> None:
    for each in dialogue.samples():
        for turn in each.turns:
            text = "".join(message.text for message in turn.messages)
            assert [listed for listed in turn.facts if listed not in text] == []


def test_what_code_chooses_meets_the_length_and_keeps_the_facts(tuned: list[Chunk]) -> None:
    result = measure(codes(), tuned, (0.3, 0.1), show=True, writer="extracted")
    assert (result["over"], result["rejected"], result["calls"]) == (0, 0, 0)
    assert (result["profile"], result["writer"]) == ("small", "extracted")
    assert float(str(result["median_error"])) <= 0.25
    assert float(str(result["facts_kept"])) >= 0.75
    assert {"r0.1.median_error", "r0.3.facts_kept", "r0.1.seconds", "chunks"} <= set(result)
    assert len(result["summaries"]) == 2 * len(tuned)  # type: ignore[arg-type]


def test_a_model_s_summaries_are_measured_and_told_apart(tuned: list[Chunk]) -> None:
    result = measure(build_scripted_models(utility=first_sentences), tuned, (0.3,), show=False, writer="model")
    assert (result["profile"], result["writer"]) == ("strong", "model")
    assert int(str(result["calls"])) >= len(tuned) - int(str(result["rejected"]))


def test_a_rejected_summary_counts_as_a_full_error(tuned: list[Chunk]) -> None:
    outcome = summarise(build_scripted_models(utility=["", ""]), tuned[0], 0.3, "model")
    assert figures([outcome])["rejected"] == 1
    assert figures([outcome])["median_error"] == 1.0
