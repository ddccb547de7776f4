"""Embedded servers that no conversation uses any more are released, so that their memory is free again.

A conversation may choose an embedded model of its own (``component.settings.model_switch``); it runs beside that of the
installation, which is never released. «Used» means that this process has asked the server for something, or that its
slot is at work, for whomever. A conversation that comes back starts its server again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from errors import format_error_trace
from model.embedded.llama_server import list_server_uses, release_unused_server
from model.embedded.slot import is_slot_working

LOOK_SECONDS = 15.0
"""Seconds between two looks."""
ASK_SECONDS = 2.0
"""Seconds that a server may take to say whether it is at work."""

log = logging.getLogger(__name__)


def release_idle_servers(idle: float, spared: str) -> int:
    """Releases the servers that were not used for ``idle`` seconds; returns how many others there are that may be
    released later. ``spared``: the name of the installation's own embedded model, empty where it has none."""
    others = [use for use in list_server_uses() if use.name != spared]
    for use in list(others):
        if time.monotonic() - use.moment < idle:
            continue
        # an answer may take longer than the idle time, and it may be that of another process
        is_working = use.server is not None and use.is_running and is_slot_working(use.server, ASK_SECONDS)
        if not is_working and release_unused_server(use):
            log.info("the embedded model %s was not used for %g s and is released", use.name, idle)
            others.remove(use)
    return len(others)


class IdleWatch:
    """A thread that looks for idle servers as long as there are any that may be released.

    ``find_spared``: returns the name of the installation's own embedded model, None while it is not known. ``idle``:
    seconds; with 0 no server is ever released.
    """

    def __init__(self, find_spared: Callable[[], str | None], idle: float) -> None:
        self._find_spared, self._idle = find_spared, idle
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_wanted = False

    def start(self) -> None:
        """Begins to look, unless the thread does so already. Costs nothing when it does."""
        if not self._idle:
            return
        with self._lock:
            self._is_wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._look_on, name="idle-servers", daemon=True)
                self._thread.start()

    def _look_on(self) -> None:
        while True:
            time.sleep(min(LOOK_SECONDS, self._idle))
            with self._lock:
                self._is_wanted = False
            left = self._look()
            with self._lock:
                if not left and not self._is_wanted:  # a page that asked meanwhile may be starting a server
                    self._thread = None
                    return

    def _look(self) -> bool:
        """Returns whether there is more to look for. A look that fails is made again, because nobody else begins to
        look while this thread is there."""
        try:
            spared = self._find_spared()
            return spared is None or release_idle_servers(self._idle, spared) > 0
        except Exception as error:
            log.error("idle models could not be looked for: %s", format_error_trace(error))
            return True
