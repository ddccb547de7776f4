"""The generated story world of the benches."""

from __future__ import annotations

from collections import Counter
from statistics import mean

from bench.world_text import PLAYER, Generated
from text.language import detect_language


def test_the_same_seed_gives_the_same_world() -> None:
    one, other = Generated(), Generated()
    assert one.entries() == other.entries()
    assert [one.question(number) for number in range(9)] == [other.question(number) for number in range(9)]
    assert Generated(seed=8).entries() != one.entries()


def test_a_world_is_as_large_as_asked_and_half_korean() -> None:
    words = Generated(lore=1000, people=200)
    entries = words.entries()
    assert len({entry.keyword for entry in entries}) == 1000
    assert 450 <= sum(detect_language(entry.content) == "ko" for entry in entries) <= 550
    layers = Counter(entry.layer for entry in entries)
    assert layers["A1"] < layers["A2"]
    assert len(layers) == 4
    assert len({one.name for one in words.beginning().characters}) == 201


def test_a_question_has_about_sixty_characters_and_names_somebody() -> None:
    words = Generated()
    questions = [words.question(number) for number in range(300)]
    assert 55 <= mean(map(len, questions)) <= 70
    assert len(set(questions)) > 290
    names = {name for tongue in words.names for name in tongue}
    assert all(any(name in question for name in names) for question in questions)


def test_a_turn_brings_an_episode_and_mentions_entries() -> None:
    changes = Generated().changes(5, list(range(1, 50)))
    assert changes.episode
    assert changes.episode.turn == 5
    assert changes.characters[0].name == PLAYER
    assert {mark.last_mentioned for mark in changes.lore} == {5}
