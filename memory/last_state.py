"""The states that this process saw last."""

from __future__ import annotations

import threading
from collections import OrderedDict

from memory.key import Scope
from memory.state import State

MOST = 64
"""Most states that are kept."""


class LastStates:
    """A cache of states as last seen, so that a write need not read first; the store refuses a write from a stale
    one."""

    def __init__(self) -> None:
        self._states: OrderedDict[Scope, State] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, scope: Scope, state: State) -> None:
        """Stores the state as the newest one known."""
        if not state.revision:
            return
        with self._lock:
            self._states[scope] = state
            self._states.move_to_end(scope)
            if len(self._states) > MOST:
                self._states.popitem(last=False)

    def take(self, scope: Scope) -> State | None:
        """Removes and returns the state, because the caller is about to change it."""
        with self._lock:
            return self._states.pop(scope, None)
