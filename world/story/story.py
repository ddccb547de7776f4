"""The states of stories: computed from the rows of the database, and kept while they are in use."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol, TypeVar

from store.world.change import Snapshot
from store.world.record import UNKNOWN_TIME, Changes, StoryNode, World
from store.world.turns import StoredState
from world.story.state import StoryState

KEPT = 512
"""How many states stay in memory; a state shares what did not change with the one before."""


class StateRows(Protocol):
    """What of ``store.worlds`` the states need."""

    def begin_state(self, world_id: str) -> Changes: ...
    def revision(self, world_id: str) -> int: ...
    def stored_state(self, node: StoryNode) -> StoredState: ...


class Stories:
    """The states after turns. Many threads may use it; several processes compute the same.

    ``rows``: of all users, because whose story it is has been asked before (``store.worlds``).
    """

    def __init__(self, rows: StateRows) -> None:
        self._rows = rows
        self._lock = threading.Lock()
        self._states: OrderedDict[tuple[str, int], tuple[int, StoryState]] = OrderedDict()

    def state(self, node: StoryNode | None, world: World) -> StoryState:
        """Returns the state after a turn, or before the first one. Of turns that are not worked off nothing is in
        it."""
        revision = self._rows.revision(world.id)
        known = self._find_kept_state(node, revision) if node is not None else None
        if known is not None:
            return known
        begin = StoryState(world.player).after(self._rows.begin_state(world.id), 0)
        if node is None:
            return begin
        stored = self._rows.stored_state(node)
        state = replace(_fold_stored_changes(begin, stored), turn=node.turn)
        if stored.settled:
            self.keep(node, state, revision)
        return state

    def keep(self, node: StoryNode, state: StoryState, revision: int) -> None:
        """Keeps the state after a turn that is worked off."""
        with self._lock:
            self._states[node.world, node.id] = (revision, state)
            self._states.move_to_end((node.world, node.id))
            while len(self._states) > KEPT:
                self._states.popitem(last=False)

    def forget(self, node: StoryNode) -> None:
        """Drops the state after a turn, which was corrected by hand."""
        with self._lock:
            self._states.pop((node.world, node.id), None)

    def _find_kept_state(self, node: StoryNode, revision: int) -> StoryState | None:
        with self._lock:
            known = self._states.get((node.world, node.id))
            if known is None or known[0] != revision:
                return None
            self._states.move_to_end((node.world, node.id))
            return known[1]


def _fold_stored_changes(begin: StoryState, stored: StoredState) -> StoryState:
    """Returns the state that the changes lead to, from a snapshot or from the beginning. What the beginning says stays
    under a snapshot, which holds only what the turns have changed."""
    state = begin
    if stored.snapshot is not None:
        state = _order_items(begin.after(stored.snapshot.changes, stored.begun), stored.snapshot.changes)
        state = replace(state, recent=stored.snapshot.recent, important=stored.snapshot.important)
    for number, one in stored.changes:
        state = state.after(one, number)
    return state


def _order_items(state: StoryState, stored: Changes) -> StoryState:
    """Returns a state with the things in the order in which a snapshot has them: what a turn used last stands last."""
    names = [one.name for one in (stored.used or stored.items) if one.name in state.items]
    others = [name for name in state.items if name not in names]
    return replace(state, items=MappingProxyType({name: state.items[name] for name in (*others, *names)}))


def build_state_snapshot(state: StoryState, begin: Changes) -> Snapshot:
    """Returns the snapshot of a state: what differs from the world's beginning, which may be edited later."""
    whole = state.changes()
    changed = replace(
        whole,
        characters=_remove_known_rows(whole.characters, begin.characters),
        relations=_remove_known_rows(whole.relations, begin.relations),
        locations=_remove_known_rows(whole.locations, begin.locations),
        items=_remove_known_rows(whole.items, begin.items),
        times=_remove_known_rows(whole.times, begin.times or (UNKNOWN_TIME,)),
    )
    return Snapshot(changed, state.recent, state.important)


_One = TypeVar("_One")


def _remove_known_rows(rows: tuple[_One, ...], known: tuple[_One, ...]) -> tuple[_One, ...]:
    return tuple(row for row in rows if row not in known)
