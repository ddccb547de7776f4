"""Removes sessions for good that were deleted a while ago; until then a deleted session can be restored."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from errors import GieokError
from graph.turn.process.engine import TurnEngine
from model.call.stream import Stopped

log = logging.getLogger(__name__)

DAY = 86_400.0
DAYS = 30
"""How long a deleted session can be brought back."""


def plan_trash_removal(engine: TurnEngine, remove: Callable[[str], None]) -> None:
    """Submits the removal as side work if there is anything to remove: sessions of all users that were deleted more
    than ``trash_days`` ago, and conversations that have files but after a day no turn.

    A clock that is suddenly years ahead removes nothing: time counts only up to a day after the last use of any
    session.
    """
    store = engine.store.everyone
    now = min(time.time(), store.last_used() + DAY)
    old = store.put_away_before(now - DAYS * DAY)
    old += store.attachments.find_abandoned_sessions(now - DAY)
    if old:
        engine.background.submit("trash", _build_removal_work(old, remove))


def _build_removal_work(old: list[str], remove: Callable[[str], None]) -> Callable[[threading.Event], None]:
    def work(stop: threading.Event) -> None:
        while old:
            if stop.is_set():
                raise Stopped
            try:
                remove(old.pop())
            except GieokError as error:  # in use, for example: the next start tries again
                log.info("a deleted session stays until the next start: %s", error.code)

    return work
