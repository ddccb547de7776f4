"""Model calls beside the conversation (a summary made again, a comparison), apart from the page that waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from errors import GieokError, ensure_gieok_error
from model.call.stream import Stopped

log = logging.getLogger(__name__)


@dataclass(eq=False)
class SideCall:
    """A model call beside the conversation. ``text`` grows while it runs; ``at``: its subject, or its progress, if it
    has any. When ``done``, it has a ``result`` or an ``error``, and neither when it was stopped."""

    stop: threading.Event = field(default_factory=threading.Event)
    text: str = ""
    at: Any = None
    result: Any = None
    error: GieokError | None = None
    done: bool = False


class SideCalls:
    """The side calls of this process by their keys, at most one per key. Nothing here calls Streamlit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Hashable, SideCall] = {}

    def of(self, key: Hashable) -> SideCall | None:
        """Returns the side call that runs, or has ended and was not dismissed; else None."""
        return self._known.get(key)

    def start(self, key: Hashable, work: Callable[[SideCall], Any], at: Any = None) -> None:
        """Runs ``work`` in a thread of its own, unless a side call with this key runs already. ``at``: as in
        ``SideCall``, from the beginning."""
        with self._lock:
            running = self._known.get(key)
            if running is not None and not running.done:
                return
            self._known[key] = begin_side_call(work, at)

    def dismiss(self, key: Hashable) -> None:
        """Forgets the side call, and stops it if it runs."""
        with self._lock:
            side_call = self._known.pop(key, None)
        if side_call is not None:
            side_call.stop.set()

    def dismiss_all(self) -> None:
        """Forgets every side call, and stops those that run."""
        for key in [*self._known]:
            self.dismiss(key)


def begin_side_call(work: Callable[[SideCall], Any], at: Any = None) -> SideCall:
    """Runs ``work`` in a thread of its own; returns the side call, which only the caller knows."""
    side_call = SideCall(at=at)
    threading.Thread(target=_run_side_call, args=(side_call, work), name="side_call", daemon=True).start()
    return side_call


def _run_side_call(side_call: SideCall, work: Callable[[SideCall], Any]) -> None:
    try:
        side_call.result = work(side_call)
    except Stopped:
        log.debug("a call beside the conversation was stopped")
    except Exception as error:
        side_call.error = ensure_gieok_error(error, log, "a call beside the conversation")
    finally:
        side_call.done = True
