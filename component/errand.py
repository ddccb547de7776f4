"""Model calls beside the conversation (a summary made again, a comparison), apart from the page that waits for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from errors import GieokError, Unexpected, trace
from model.stream import Stopped

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Errand:
    """One such call. ``text`` grows while it runs, ``at`` is how far it is, where it tells; ``result`` or ``error`` is
    there when ``done``, neither when it was stopped."""

    stop: threading.Event = field(default_factory=threading.Event)
    text: str = ""
    at: Any = None
    result: Any = None
    error: GieokError | None = None
    done: bool = False


class Errands:
    """The calls of this process by what they are for, at most one each. Nothing here calls Streamlit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Hashable, Errand] = {}

    def of(self, key: Hashable) -> Errand | None:
        """The errand that runs, or ran and was not dismissed."""
        return self._known.get(key)

    def start(self, key: Hashable, work: Callable[[Errand], Any]) -> None:
        """Runs ``work`` in a thread of its own, unless the same runs already."""
        with self._lock:
            running = self._known.get(key)
            if running is not None and not running.done:
                return
            self._known[key] = begin(work)

    def dismiss(self, key: Hashable) -> None:
        """Forgets it, and stops it if it runs."""
        with self._lock:
            errand = self._known.pop(key, None)
        if errand is not None:
            errand.stop.set()


def begin(work: Callable[[Errand], Any]) -> Errand:
    """Runs ``work`` in a thread of its own; the errand is known to the caller alone."""
    errand = Errand()
    threading.Thread(target=_run, args=(errand, work), name="errand", daemon=True).start()
    return errand


def _run(errand: Errand, work: Callable[[Errand], Any]) -> None:
    try:
        errand.result = work(errand)
    except Stopped:
        log.debug("a call beside the conversation was stopped")
    except GieokError as error:
        errand.error = error
    except Exception as error:
        log.error("a call beside the conversation ended unexpectedly: %s", trace(error))
        errand.error = Unexpected(kind=type(error).__name__)
    finally:
        errand.done = True
