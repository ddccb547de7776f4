"""Keeps archive and Redis in step, in its own thread: no user waits for this work.

Level-triggered: whenever Redis is reached, it compares archive and Redis, so it also finds changes from before a crash.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from redis.exceptions import ResponseError

from errors import CallerError, GieokError, trace
from memory.archive import Archive, Queued
from memory.key import Scope
from memory.redis.address import Client
from memory.redis.link import Link
from memory.redis.redis_store import RedisStore

SWEEP_SECONDS = 3600.0
"""Seconds after the last change until all memories are compared with the archive."""
GATHER_SECONDS = 0.5
"""Seconds for which changes are gathered before they are saved."""
_log = logging.getLogger(__name__)


class Upkeep:
    """The thread that saves changed memories to the archive. ``apply`` writes a queued change to Redis.

    ``tenant``: the tenant whose memories it saves; memories of other tenants on the same Redis belong to other
    databases.
    """

    def __init__(
        self, archive: Archive, redis: RedisStore, tenant: str, apply: Callable[[Client, Queued], None]
    ) -> None:
        self._archive, self._redis, self._tenant, self._apply = archive, redis, tenant, apply
        self._change = threading.Condition()
        self._changed: dict[Scope, None] = {}
        self._scopes: list[Scope] = []
        self._look = False
        self._saving = False
        self._purge = False
        self._hurry = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._link: Link | None = None

    def start(self, link: Link) -> None:
        """Starts the thread, once the link exists."""
        self._link = link
        self._thread = threading.Thread(target=self._loop, name="memory-archive", daemon=True)
        self._thread.start()

    def changed(self, scope: Scope) -> None:
        """Notes that this memory differs from the archive."""
        with self._change:
            self._changed[scope] = None
            self._change.notify_all()

    @property
    def unsaved(self) -> list[Scope]:
        """Returns the memories whose current state is not in the archive yet, the last changed one last."""
        with self._change:
            return [*(self._scopes if self._saving else ()), *self._changed]

    def erased(self) -> None:
        """Notes that something was erased, so that the thread also clears the rest of it from files."""
        with self._change:
            self._purge = True
            self._change.notify_all()

    def idle(self, seconds: float) -> bool:
        """Saves without gathering further changes; waits until all changes so far are in the archive or have failed to
        be saved.

        Returns False after ``seconds``.
        """
        with self._change:
            self._hurry = True
            self._change.notify_all()
            done = self._change.wait_for(lambda: not (self._saving or self._todo), seconds)
            self._hurry = False
            return done

    def close(self) -> None:
        """Saves the remaining changes and ends the thread."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def back(self, client: Client) -> None:
        """Runs when Redis has been reached: catches up, then compares all memories with the archive."""
        self.catch_up(client)
        with self._change:
            self._look = True
            self._change.notify_all()

    def catch_up(self, client: Client) -> None:
        """Removes memories that were erased while Redis did not answer, then writes the queue."""
        if self._archive.counts()["memory_erased"]:
            for tag, at in self._archive.erased(self._redis.tags(client)).items():
                self._redis.erase_if_older(client, tag, at)
                self.erased()
        while waiting := self._archive.queued(limit=200):
            for queued in waiting:
                self.write(client, queued)

    def write(self, client: Client, each: Queued) -> None:
        """Writes a queued change to Redis. Drops one that can never be written, so that it does not block the queue.

        Such a change breaks a limit or belongs to a memory that cannot be read.
        """
        try:
            self._apply(client, each)
        except CallerError as error:
            _log.warning("%s: what waited for Redis was dropped", error.code)
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            _log.error("what waited for a memory was dropped: a key of it is of another kind")
        except (ValueError, TypeError, LookupError) as error:
            _log.error("what waited for a memory was dropped: %s", trace(error))
        self._archive.done(each)
        self.changed(each.scope)

    def save(self, client: Client, scope: Scope) -> None:
        """Saves one memory to the archive, if it exists in Redis."""
        state, versions = self._redis.look(client, scope)
        if state.revision:
            self._archive.save(scope, state, versions, state.user)

    def _loop(self) -> None:
        while (todo := self._next()) is not None:
            scopes, look, purge = todo
            if look:
                self._sweep()
            for scope in scopes:
                self._save(scope)
            if purge:
                self._clear()
            with self._change:
                self._saving = False
                self._change.notify_all()

    def _next(self) -> tuple[list[Scope], bool, bool] | None:
        """Waits for work, gathers changes for a moment and returns the changed memories, whether to compare all
        memories (also due every ``SWEEP_SECONDS``), and whether to clear files. Returns None at the end."""
        with self._change:
            due = self._change.wait_for(lambda: self._todo or self._closed, SWEEP_SECONDS)
            self._change.wait_for(lambda: self._closed or self._hurry, GATHER_SECONDS)
            if self._closed and not (self._changed or self._purge):
                return None
            self._scopes, look, purge = list(self._changed), self._look or not due, self._purge
            self._changed.clear()
            self._look, self._purge, self._saving = False, False, True
            return self._scopes, look, purge

    @property
    def _todo(self) -> bool:
        return bool(self._changed) or self._look or self._purge

    def _sweep(self) -> None:
        assert self._link is not None
        try:
            for scope in self._link.run(lambda client: self._redis.scopes(client, self._tenant)):
                self._save(scope)
        except GieokError as error:
            _log.info("memories were not looked through: %s", type(error).__name__)

    def _save(self, scope: Scope) -> None:
        assert self._link is not None
        try:
            self._link.run(lambda client: self.save(client, scope))
        except GieokError as error:
            _log.info("a memory was not archived yet: %s", type(error).__name__)  # found again by back() or a sweep
        except Exception as error:
            _log.error("a memory was not archived: %s", trace(error))

    def _clear(self) -> None:
        """Clears erased data from the files of database and embedded server; if one is away, the next erasure does."""
        assert self._link is not None
        try:
            self._archive.purge()
            self._link.purge()
        except GieokError as error:
            _log.info("files still hold what was erased: %s", error.code)
