"""Deleted sessions can be brought back for a while; what lies longer is removed for good when the agent starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from errors import SessionBusy
from graph.engine import Engine
from model.stream import Stopped

DAY = 86_400.0


def plan(engine: Engine, remove: Callable[[str], None]) -> None:
    """Puts the removal on the list of side work, when there is anything to remove.

    A clock that is suddenly years ahead removes nothing: time counts up to a day after the last use of any session.
    """
    days = engine.settings.trash_days
    if not days:
        return
    now = min(time.time(), engine.store.last_used() + DAY)
    if old := engine.store.put_away_before(now - days * DAY):
        engine.background.submit("trash", _work(old, remove))


def _work(old: list[str], remove: Callable[[str], None]) -> Callable[[threading.Event], None]:
    def work(stop: threading.Event) -> None:
        while old:
            if stop.is_set():
                raise Stopped
            try:
                remove(old.pop())
            except SessionBusy:  # somebody uses it: it is looked at again at the next start
                continue

    return work
