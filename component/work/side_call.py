"""Model calls beside the conversation (a summary made again, a comparison), apart from the page that waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from errors import GieokError, ensure_gieok_error
from model.call.stream import Stopped

log = logging.getLogger(__name__)


@dataclass(eq=False)
class SideCall:
    """A model call beside the conversation. ``text`` grows while it runs; ``at``: its subject, or its progress, if it
    has any; ``id``: tells it from a later call with the same key. When ``done``, it has a ``result`` or an ``error``,
    and neither when it was stopped."""

    stop: threading.Event = field(default_factory=threading.Event)
    id: str = field(default_factory=lambda: uuid4().hex)
    text: str = ""
    at: Any = None
    result: Any = None
    error: GieokError | None = None
    done: bool = False


class SideCalls:
    """The side calls of this process by their keys, at most one per key. Nothing here calls Streamlit.

    The key of a call that belongs to a conversation is a tuple: the call's name, the id of the session, what else.
    """

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

    def dismiss(self, key: Hashable, only: SideCall | None = None) -> None:
        """Forgets the side call, and stops it if it runs. ``only``: leaves another call with this key alone, which
        another tab may have begun."""
        with self._lock:
            side_call = self._known.get(key)
            if side_call is None or (only is not None and side_call is not only):
                return
            del self._known[key]
        side_call.stop.set()

    def dismiss_session(self, session_id: str) -> None:
        """Forgets every side call of a conversation, and stops those that run."""
        for key in [*self._known]:
            if isinstance(key, tuple) and key[1:2] == (session_id,):
                self.dismiss(key)

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
