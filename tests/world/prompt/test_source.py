"""What is gathered for a prompt, and what of it is kept between two requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.call.token import estimate_tokens
from model.embedding import Vectors
from store.world.record import Changes, Episode, LoreEntry, StoryNode, World
from tests.world.rows import MemoryRows
from world.file.file import WorldFiles
from world.lore.embed import embed_lore_entries
from world.prompt.budget import Budgets
from world.prompt.context import build_world_context
from world.prompt.source import ASKED, Source, cut_query_text
from world.story.state import StoryState

WORLD = World("w", "me", "Ersia", "ersia", "en", "Aria", 0, 0)
LORE = [LoreEntry(id, f"tale {id}", f"about {id}", layer="A3") for id in range(1, 21)]


class Letters:
    """Embeds a text by its letters: the same letters, the same direction."""

    name, batch, unrelated, near, dimension = "letters", 3, 0.0, 0.0, 128

    def __init__(self) -> None:
        self.made: list[str] = []

    def passages(self, texts: Sequence[str]) -> Vectors:
        self.made += texts
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Vectors:
        counts = np.bincount([ord(sign) % 128 for sign in text] or [0], minlength=128).astype(np.float32)
        return counts / np.linalg.norm(counts)


@pytest.fixture
def rows() -> MemoryRows:
    found = MemoryRows()
    found.put_lore(*LORE)
    return found


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(WorldFiles(tmp_path), Budgets(), "letters", lambda language: f"block in {language}")


def node(id: int, turn: int, parent: int = 0) -> StoryNode:
    return StoryNode(id, "w", parent, turn, "q", "a", "a", "done")


def tell(rows: MemoryRows, id: int, parent: int, text: str) -> None:
    """Stores a turn with its episode and the vector of it."""
    rows.parents[id] = parent
    rows.told[id] = Episode(id, "wood", text, node=id)
    vector = Letters().query(text).astype(np.float16).tobytes()
    rows.put_vectors("w", "episode", "letters", [(id, id, vector)])


def test_the_end_of_a_long_message_is_compared() -> None:
    assert cut_query_text("나는 숲으로\n간다.") == "나는 숲으로 간다."
    long = " ".join(f"{number}번째 걸음을 내딛는다." for number in range(200))
    assert cut_query_text(long).endswith("199번째 걸음을 내딛는다.")
    assert long.endswith(cut_query_text(long))
    assert 0.7 * ASKED < estimate_tokens(cut_query_text(long)) <= ASKED
    assert cut_query_text(" ") == ""


def test_the_first_turn_of_a_world_has_a_context(rows: MemoryRows, source: Source) -> None:
    given = source.gather_prompt_input(rows, WORLD, None, StoryState("Aria"), "hello", Letters().query("hello"))
    assert (given.turn, given.node, given.episodes.similar, given.cosines) == (1, 0, (), {})
    assert "block in en" in build_world_context(given).prefix


def test_the_nearest_entries_and_episodes_are_those_of_the_question(rows: MemoryRows, source: Source) -> None:
    while embed_lore_entries(rows, "w", Letters()):
        pass
    rows.put_lore(LoreEntry(21, "zzz", "qqq zzz", layer="A3"))
    embed_lore_entries(rows, "w", Letters())
    for id in range(1, 40):
        tell(rows, id, id - 1, "xx xx" if id == 9 else f"other {id}")
    state = StoryState("Aria")
    for id in range(1, 40):
        state = state.after(Changes(episode=rows.told[id]), id)
    given = source.gather_prompt_input(rows, WORLD, node(39, 39), state, "zzz qqq", Letters().query("zzz qqq"))
    assert max(given.cosines, key=given.cosines.__getitem__) == 21
    given = source.gather_prompt_input(rows, WORLD, node(39, 39), state, "xx", Letters().query("xx"))
    assert given.episodes.similar[0].turn == 9
    assert [one.turn for one in given.episodes.recent] == [35, 36, 37, 38, 39]
    assert (given.turn, given.node) == (40, 39)


def test_an_episode_of_another_branch_is_not_given(rows: MemoryRows, source: Source) -> None:
    tell(rows, 1, 0, "begin")
    tell(rows, 2, 1, "left")
    tell(rows, 3, 1, "right")
    query = Letters().query("left")
    for last, seen in ((2, [2, 1]), (3, [3, 1])):
        given = source.gather_prompt_input(rows, WORLD, node(last, 2, 1), StoryState("Aria"), "left", query)
        assert {one.node for one in given.episodes.similar} == set(seen)


def test_without_a_vector_nothing_is_compared(rows: MemoryRows, source: Source) -> None:
    tell(rows, 1, 0, "begin")
    given = source.gather_prompt_input(rows, WORLD, node(1, 1), StoryState("Aria"), "begin", None)
    assert (given.cosines, given.episodes.similar) == ({}, ())
    assert rows.asked["vectors lore"] == rows.asked["vectors episode"] == 0


def test_a_lorebook_is_built_again_only_when_it_has_changed(rows: MemoryRows, source: Source) -> None:
    for _ in range(5):
        source.gather_prompt_input(rows, WORLD, None, StoryState("Aria"), "", None)
    assert rows.asked["lore"] == 1
    rows.put_lore(replace(LORE[0], content="new"))
    given = source.gather_prompt_input(rows, WORLD, None, StoryState("Aria"), "", None)
    assert given.lore.entries[1].text == "- tale 1: new"
    source.forget("w")
    source.gather_prompt_input(rows, WORLD, None, StoryState("Aria"), "", None)
    assert rows.asked["lore"] == 3


def test_a_vector_that_another_process_wrote_is_seen(rows: MemoryRows, source: Source) -> None:
    tell(rows, 1, 0, "begin")
    given = source.gather_prompt_input(rows, WORLD, node(1, 1), StoryState("Aria"), "middle", Letters().query("middle"))
    tell(rows, 2, 1, "middle")
    given = source.gather_prompt_input(
        rows, WORLD, node(2, 2, 1), StoryState("Aria"), "middle", Letters().query("middle")
    )
    assert given.episodes.similar[0].node == 2


def test_only_entries_that_are_new_or_changed_are_embedded(rows: MemoryRows) -> None:
    letters = Letters()
    assert embed_lore_entries(rows, "w", letters, most=7) == 13
    assert len(letters.made) == 7
    assert embed_lore_entries(rows, "w", letters) == 0
    assert len(letters.made) == 20
    rows.put_lore(replace(LORE[3], content="new"), LoreEntry(30, "off", "", enabled=False))
    embed_lore_entries(rows, "w", letters)
    assert letters.made[20:] == ["- tale 4: new"]
    rows.put_lore(replace(LORE[5], keys=("saga",)))
    embed_lore_entries(rows, "w", letters)
    assert letters.made[21:] == ["- tale 6 (saga): about 6"]


def test_a_changed_entry_is_compared_by_its_new_text(rows: MemoryRows, source: Source) -> None:
    embed_lore_entries(rows, "w", Letters())
    query = Letters().query("zzzz")
    assert source.gather_prompt_input(rows, WORLD, None, StoryState("Aria"), "", query).cosines[1] < 0.1
    rows.put_lore(replace(LORE[0], keyword="z", content="zzzz"))
    embed_lore_entries(rows, "w", Letters())
    assert source.gather_prompt_input(rows, WORLD, None, StoryState("Aria"), "", query).cosines[1] > 0.8
