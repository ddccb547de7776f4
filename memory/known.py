"""States as this process last saw them."""

from __future__ import annotations

import threading
from collections import OrderedDict

from memory.key import Scope
from memory.state import State

MOST = 64


class Known:
    """States as they were last seen, so that a write need not read first: the store refuses it when they are stale."""

    def __init__(self) -> None:
        self._states: OrderedDict[Scope, State] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, scope: Scope, state: State) -> None:
        """This is the state now, as far as is known."""
        if not state.revision:
            return
        with self._lock:
            self._states[scope] = state
            self._states.move_to_end(scope)
            if len(self._states) > MOST:
                self._states.popitem(last=False)

    def take(self, scope: Scope) -> State | None:
        """The state, to be changed: it is then not known any more."""
        with self._lock:
            return self._states.pop(scope, None)
