"""Keeping archive and Redis in step, in a thread of its own: nothing here is in a user's path.

Level-triggered: whenever Redis is reached, everything that differs is found by looking, whatever was killed before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from redis.exceptions import ResponseError

from errors import CallerError, GieokError, trace
from memory.address import Client
from memory.archive import Archive, Queued
from memory.key import Scope
from memory.link import Link
from memory.store import RedisStore

SWEEP_SECONDS = 3600.0
GATHER_SECONDS = 0.5
_log = logging.getLogger(__name__)


class Upkeep:
    """Saves changed memories to the archive. ``apply`` writes something queued to Redis.

    ``tenant``: whose memories are looked through; those of others on the same Redis are none of this database's.
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
        """Begin; the link exists by now."""
        self._link = link
        self._thread = threading.Thread(target=self._loop, name="memory-archive", daemon=True)
        self._thread.start()

    def changed(self, scope: Scope) -> None:
        """This memory differs from the archive."""
        with self._change:
            self._changed[scope] = None
            self._change.notify_all()

    @property
    def unsaved(self) -> list[Scope]:
        """Memories that the archive does not have as they are now, the last changed one last."""
        with self._change:
            return [*(self._scopes if self._saving else ()), *self._changed]

    def erased(self) -> None:
        """Something was erased: what is left of it in files goes, too."""
        with self._change:
            self._purge = True
            self._change.notify_all()

    def idle(self, seconds: float) -> bool:
        """Do not wait for more changes; wait until all so far are in the archive (or could not be)."""
        with self._change:
            self._hurry = True
            self._change.notify_all()
            done = self._change.wait_for(lambda: not (self._saving or self._todo), seconds)
            self._hurry = False
            return done

    def close(self) -> None:
        """Save what is left and end."""
        with self._change:
            self._closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def back(self, client: Client) -> None:
        """Redis has been reached: what was erased meanwhile goes first, then what waited is written."""
        if self._archive.counts()["memory_erased"]:
            for tag, at in self._archive.erased(self._redis.tags(client)).items():
                self._redis.erase_if_older(client, tag, at)
                self.erased()
        while waiting := self._archive.queued(limit=200):
            for each in waiting:
                self.write(client, each)
        with self._change:
            self._look = True
            self._change.notify_all()

    def write(self, client: Client, each: Queued) -> None:
        """Something that waited goes to Redis; what can never be written is dropped, so that it holds up nothing.

        That is what breaks a limit, and what goes to a memory that cannot be read.
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
        """One memory to the archive, when it has changed."""
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
        """What has changed, gathered for a moment; whether to look through everything, which is done at times; whether
        files are to be cleared. None at the end."""
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
        """The files of the database and of the embedded server without what was erased; away, with the next erasure."""
        assert self._link is not None
        try:
            self._archive.purge()
            self._link.purge()
        except GieokError as error:
            _log.info("files still hold what was erased: %s", error.code)
