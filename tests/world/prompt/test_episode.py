"""Episodes in three stages, over real FAISS indexes."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from store.world.record import Changes, Episode
from world.prompt.episode import FIRST, SIMILAR, Episodes, find_prompt_episodes, sort_episodes
from world.prompt.vector import ID_BYTES, OVERLAP, RARELY, Row, VectorIndex, VectorIndexes
from world.story.state import IMPORTANT, RECENT, StoryState

WIDTH = 16


def vector(seed: int) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=WIDTH).astype(np.float32)
    return made / np.linalg.norm(made)


def row(id: int, seed: int | None = None) -> Row:
    return id, id, vector(id if seed is None else seed).astype(np.float16).tobytes()


class Table:
    """Rows that anybody may add to. ``asked``: after which ids they were read."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self.asked: list[int] = []

    def read(self, after: int) -> list[Row]:
        self.asked.append(after)
        return [row for row in self.rows if row[0] > after]


def story(turns: int, important: Sequence[int] = ()) -> StoryState:
    state = StoryState("Aria")
    for turn in range(1, turns + 1):
        episode = Episode(turn, "wood", f"event {turn}", importance=0.9 if turn in important else 0.0, node=turn)
        state = state.after(Changes(episode=episode), turn)
    return state


def load(ids: Sequence[int]) -> dict[int, Episode]:
    return {id: Episode(id, "wood", f"event {id}", node=id) for id in ids}


def search(
    state: StoryState, ids: Sequence[int], path: set[int], before: int | None = None
) -> tuple[Episodes, list[int]]:
    """``ids``: all nodes of the world, the nearest first; a node has the number of its turn."""
    widths: list[int] = []

    def near(count: int) -> list[tuple[int, float]]:
        widths.append(count)
        return [(id, 0.5) for id in ids if before is None or id < before][:count]

    return find_prompt_episodes(state, near, lambda asked: path & set(asked), load, before), widths


def test_the_three_stages_do_not_repeat_an_episode() -> None:
    found, _ = search(story(30, important=(3, 29)), [3, 28, 7, 8], set(range(1, 31)))
    assert [one.turn for one in found.recent] == list(range(31 - RECENT, 31))
    assert [one.turn for one in found.important] == [3]
    assert [one.turn for one in found.similar] == [7, 8]


def test_episodes_of_other_lines_are_left_out() -> None:
    found, _ = search(story(5), [101, 102, 10, 103, 11], {10, 11})
    assert [one.node for one in found.similar] == [10, 11]


def test_the_search_widens_until_enough_lie_on_the_path() -> None:
    ids = [*range(1000, 1600), *range(10, 40)]
    found, widths = search(story(5), ids, set(range(10, 40)))
    assert [one.node for one in found.similar] == list(range(10, 10 + SIMILAR))
    assert widths == [FIRST, FIRST * 8, FIRST * 64]


def test_the_search_ends_when_there_is_nothing_more() -> None:
    found, widths = search(story(5), [50, 51], {50})
    assert ([one.node for one in found.similar], widths) == ([50], [FIRST])


def test_without_a_vector_the_other_two_stages_remain() -> None:
    found = find_prompt_episodes(story(8, important=(1,)), None, lambda _: set(), load)
    assert ([one.turn for one in found.important], found.similar) == ([1], ())


def test_turns_whose_words_stand_in_the_prompt_bring_no_episode() -> None:
    found, _ = search(story(30, important=(3, 20)), [25, 8, 22, 7], set(range(1, 31)), before=20)
    assert (found.recent, [one.turn for one in found.important]) == ((), [3])
    assert [one.turn for one in found.similar] == [8, 7]
    assert search(story(30), [25, 8], set(range(1, 31)), before=1) == (Episodes(), [])  # no turn is older: no search


def test_a_prompt_has_the_episodes_in_the_order_of_their_turns() -> None:
    found = Episodes((Episode(8, "", ""),), (Episode(2, "", ""), Episode(1, "", "")), (Episode(5, "", ""),))
    assert [one.turn for one in found.by_rank()] == [8, 2, 5, 1]
    assert [one.turn for one in sort_episodes(found.by_rank())] == [1, 2, 5, 8]


def test_a_state_keeps_few_important_episodes_however_long_the_story() -> None:
    found, _ = search(story(400, important=range(1, 401)), [], set())
    assert len(found.important) + len(found.recent) <= IMPORTANT + RECENT


def test_an_index_finds_the_nearest_with_its_cosine() -> None:
    index = VectorIndex()
    index.grow(Table([row(id) for id in range(1, 200)]).read)
    (first, cosine), *_ = index.search(vector(77), 5)
    assert first == 77
    assert 0.99 < cosine < 1.01
    assert len(index.search(vector(77))) == 199


def test_an_index_finds_the_nearest_of_the_older_ones() -> None:
    index = VectorIndex()
    index.grow(Table([row(id) for id in range(1, 60)]).read)
    nearest = vector(50)
    assert index.search(nearest, 3)[0][0] == 50
    older = index.search(nearest, 60, below=10)
    assert {id for id, _ in older} == set(range(1, 10))
    assert [cosine for _, cosine in older] == sorted((cosine for _, cosine in older), reverse=True)
    assert index.search(nearest, 3, below=1) == []


def test_an_index_without_rows_or_for_another_width_finds_nothing() -> None:
    index = VectorIndex()
    index.grow(Table([]).read)
    assert index.search(vector(1), 5) == []
    index.grow(Table([row(1)]).read)
    assert index.search(np.ones(8, np.float32), 5) == []


def test_an_index_takes_in_new_rows_and_reads_old_ones_no_more() -> None:
    table = Table([row(id) for id in range(1, 301)])
    index = VectorIndex()
    index.grow(table.read)
    table.rows.append(row(301))
    index.grow(table.read)
    assert table.asked == [0, 300 - OVERLAP]
    assert index.search(vector(301), 1)[0][0] == 301
    assert len(index.search(vector(1))) == 301


def test_a_turn_that_gets_its_vector_after_a_later_one_is_found() -> None:
    table = Table([row(1), row(3)])
    index = VectorIndex()
    index.grow(table.read)
    table.rows.append(row(2))
    index.grow(table.read)
    assert index.search(vector(2), 1)[0][0] == 2
    assert sorted(id for id, _ in index.search(vector(2))) == [1, 2, 3]


def test_a_turn_that_gets_its_vector_very_late_is_found_at_last() -> None:
    table = Table([row(id) for id in range(1, 201) if id != 20])
    index = VectorIndex()
    index.grow(table.read)
    table.rows.append(row(20))
    for _ in range(RARELY):
        index.grow(table.read)
    assert index.search(vector(20), 1)[0][0] == 20


def test_a_damaged_row_does_not_stop_the_others() -> None:
    index = VectorIndex()
    index.grow(Table([row(1), (2, 2, b"short"), row(3), (4, 4, b"")]).read)
    assert sorted(id for id, _ in index.search(vector(1))) == [1, 3]


def test_many_threads_grow_and_search_one_index() -> None:
    table = Table([row(id) for id in range(1, 401)])
    indexes = VectorIndexes()
    start = threading.Barrier(8)
    wrong: list[int] = []

    def work(seed: int) -> None:
        start.wait(60)
        for id in range(1 + seed, 400, 8):
            index = indexes.growing("w", "episode", "m", table.read)
            if index.search(vector(id), 1)[0][0] != id:
                wrong.append(id)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(indexes.growing("w", "episode", "m", table.read).search(vector(1))) == 400


def test_another_revision_is_read_from_the_beginning() -> None:
    table, one = Table([row(1, seed=5)]), frozenset({1})
    indexes = VectorIndexes()
    assert indexes.complete("w", "lore", "m", table.read, 1, one).search(vector(5), 1)[0][1] > 0.99
    table.rows = [row(1, seed=6)]
    assert indexes.complete("w", "lore", "m", table.read, 1, one).search(vector(6), 1)[0][1] < 0.99
    assert indexes.complete("w", "lore", "m", table.read, 2, one).search(vector(6), 1)[0][1] > 0.99


def test_a_complete_index_is_not_read_again_and_one_that_misses_something_is() -> None:
    table = Table([row(1), row(2)])
    indexes = VectorIndexes()
    for _ in range(3):
        indexes.complete("w", "lore", "m", table.read, 1, frozenset({1, 2}))
    assert table.asked == [0]
    table.rows.append(row(3))
    index = indexes.complete("w", "lore", "m", table.read, 1, frozenset({1, 2, 3}))
    assert index.search(vector(3), 1)[0][0] == 3
    indexes.complete("w", "lore", "m", table.read, 1, frozenset({1, 2, 3}))
    assert len(table.asked) == 2


def test_the_index_that_was_used_longest_ago_goes_when_memory_is_full() -> None:
    tables = {world: Table([row(id) for id in range(1, 101)]) for world in "abc"}
    indexes = VectorIndexes(most_bytes=2 * 100 * (WIDTH * 2 + ID_BYTES))
    for world in ("a", "b", "a", "c", "a", "b"):
        indexes.growing(world, "episode", "m", tables[world].read)
    assert {world: table.asked.count(0) for world, table in tables.items()} == {"a": 1, "b": 2, "c": 1}
    assert indexes.bytes <= 2 * 100 * (WIDTH * 2 + ID_BYTES)
    indexes.forget("a")
    indexes.growing("a", "episode", "m", tables["a"].read)
    assert tables["a"].asked.count(0) == 2
