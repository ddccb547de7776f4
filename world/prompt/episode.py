"""Which episodes a prompt gets, in three stages: the last, the important, the similar (specification 12.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from store.world.record import Episode
from world.story.state import StoryState

SIMILAR = 8
"""How many similar episodes are looked for."""
FIRST = 24
"""How many neighbours the first search brings. A story has many lines, and only episodes on the path of the turn
count."""
WIDER = 8
"""How much wider the next search is when too few neighbours lie on the path."""
WIDEST = 4096
"""How many neighbours are looked at, at most."""
Near = Callable[[int], Sequence[tuple[int, float]]]
"""Returns at most so many node ids with cosines, best first."""


@dataclass(frozen=True, slots=True)
class Episodes:
    """What the three stages brought, without repeats. ``recent``: oldest first; the others: best first."""

    recent: tuple[Episode, ...] = ()
    important: tuple[Episode, ...] = ()
    similar: tuple[Episode, ...] = ()

    def by_rank(self) -> list[Episode]:
        """Returns the episodes in the order in which they take their room: the last ones, then an important and a
        similar one in turn."""
        others = chain.from_iterable(zip_longest(self.important, self.similar))
        return [*reversed(self.recent), *(one for one in others if one is not None)]


def find_prompt_episodes(
    state: StoryState,
    near: Near | None,
    on_path: Callable[[Sequence[int]], set[int]],
    load: Callable[[Sequence[int]], Mapping[int, Episode]],
    before: int | None = None,
) -> Episodes:
    """Returns the episodes for a prompt.

    ``near``: searches by the question; None when there is no vector of it. ``on_path``: those of these nodes that lie
    on the path. ``load``: the episodes of these nodes. ``before``: the first turn whose words stand in the prompt
    themselves; its episode and later ones say nothing new (decision 20), and ``near`` brings none of them. None: no
    turn stands there.
    """
    recent = tuple(one for one in state.recent if before is None or one.turn < before)
    turns = {one.turn for one in recent}
    important = tuple(one for one in state.important if one.turn not in turns and (before is None or one.turn < before))
    nodes = {one.node for one in (*recent, *important)}
    wanted = SIMILAR if before is None else min(SIMILAR, before - 1 - len(nodes))  # there are no more older ones
    if near is None or wanted <= 0:
        return Episodes(recent, important)
    ids = _find_nearest_on_path(near, lambda asked: on_path([id for id in asked if id not in nodes]), wanted)
    turns |= {one.turn for one in important}
    known = load(ids)
    similar = (known[id] for id in ids if id in known and known[id].turn not in turns)
    return Episodes(recent, important, tuple(similar))


def _find_nearest_on_path(near: Near, on_path: Callable[[Sequence[int]], set[int]], wanted: int) -> list[int]:
    """Returns the nearest nodes on the path, best first; searches wider until enough have been seen."""
    width, seen, found = FIRST, 0, list[int]()
    while True:
        ids = [id for id, _ in near(width)]
        fresh = ids[seen:]
        kept = on_path(fresh) if fresh else set()
        found += [id for id in fresh if id in kept]
        if len(found) >= wanted or len(ids) < width or width >= WIDEST:
            return found[:wanted]
        width, seen = min(width * WIDER, WIDEST), len(ids)


def sort_episodes(episodes: Iterable[Episode]) -> list[Episode]:
    """Returns the episodes in the order of their turns."""
    return sorted(episodes, key=lambda one: one.turn)
