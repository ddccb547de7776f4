"""The connection to Redis, and its circuit breaker.

No user waits long for Redis. All calls of one turn together get ``USER_SECONDS`` (``Patience``), whichever step hangs:
name look-up, handshake, or a stopped server. Only time spent waiting for Redis counts, not time spent in the database.

An answer that comes too late counts for its own turn only. Redis counts as away after an error of a
connection, or after ``LATE_IN_A_ROW`` waits without any answer. From then on the link refuses every call at once until
its own thread has reached Redis again.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from redis import RedisError, UnixDomainSocketConnection
from redis.exceptions import ClusterError, ReadOnlyError, RedisClusterException, ResponseError
from redis.exceptions import TimeoutError as Slow

from errors import GieokError, MemoryAway, format_error_trace
from memory.redis import address
from memory.redis.address import Address, Client
from memory.redis.server import Server

USER_SECONDS = 0.25
"""Seconds that all calls of one turn together may wait for Redis."""
LATE_IN_A_ROW = 3
"""After how many waits, one after another and without any answer in between, Redis counts as away. Waits that overlap
count as one: one slow moment may meet many turns. A fork for a new append-only file stops a healthy Redis for 10 to
20 ms per gigabyte (Redis, «Diagnosing latency issues»), a slow command for tenths of a second; three waits are 0.75 s.
A Redis that takes connections and never answers costs three turns their patience, and no further one."""
PAUSES = (0.1, 0.25, 0.5, 1.0, 2.0)
"""Seconds between tries to reach Redis again; the last value repeats."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_FAILURES = (RedisError, RedisClusterException, OSError)
Why = Mapping[str, Any]
"""Why Redis is away, as values of ``MemoryAway``: ``reason``, and ``reason_code`` for reasons worded here."""
STARTING: Why = {"reason": "it is being started", "reason_code": "starting"}
SLOW: Why = {"reason": f"no answer within {USER_SECONDS:g} s", "reason_code": "slow", "seconds": USER_SECONDS}
CLOSED: Why = {"reason": "it is closed", "reason_code": "closed"}


@dataclass
class Patience:
    """How many seconds a user still waits for Redis; all calls of a turn share one."""

    left: float = field(default_factory=lambda: USER_SECONDS)


class _Waiting(threading.local):
    until = 0.0


_waiting = _Waiting()
"""When this thread stops waiting for Redis, on the monotonic clock."""


class _Prompt(UnixDomainSocketConnection):
    """A connection that sends and reads until ``_waiting.until``. Over a Unix socket no other step can hang, so the
    call needs no thread of its own."""

    def send_packed_command(self, *args: Any, **named: Any) -> Any:
        self._hurry()
        return super().send_packed_command(*args, **named)  # type: ignore[no-untyped-call]

    def read_response(self, *args: Any, **named: Any) -> Any:
        self._hurry()
        return super().read_response(*args, **named)

    def _hurry(self) -> None:
        socket: Any = self._sock
        if socket is not None:
            socket.settimeout(max(0.001, _waiting.until - time.monotonic()))


class _Quick:
    """The client for a waiting user: the time that each command takes is subtracted from the user's patience."""

    def __init__(self, link: Link, behind: Client, patience: Patience) -> None:
        self._link, self.behind, self._patience = link, behind, patience

    def __getattr__(self, command: str) -> Callable[..., Any]:
        return partial(self._link.within, self._patience, getattr(self.behind, command))


class Link:
    """One client and its circuit breaker.

    ``folder``: where the embedded server keeps its data when ``url`` is None. ``back``: called in the link's thread
    whenever Redis has been reached, before any other call may use it. ``late``: called in that thread when Redis
    answers again after an answer that came too late, and after ``catch_up``: it does what was put off meanwhile.
    """

    def __init__(
        self,
        url: str | None,
        folder: Path,
        back: Callable[[Client], None] = lambda client: None,
        late: Callable[[Client], None] = lambda client: None,
    ) -> None:
        self._address = address.parse_redis_url(url) if url else None
        self._server = None if url else Server(folder)
        self.where = self._address.url_without_login if self._address else str(folder)
        self._back, self._late = back, late
        self._client: Client = None
        self._prompt: Client = None  # over a Unix socket
        self._why: Why | None = STARTING
        self._waits = 0  # in vain, without an answer since
        self._given_up = 0.0  # when the last of them ended, on the monotonic clock
        self._owed = self._settled = 0  # calls of ``catch_up``, and how many of them were followed
        self._change = threading.Condition()
        self._closed = threading.Event()
        self._hands = ThreadPoolExecutor(8, thread_name_prefix="memory")
        self._thread = threading.Thread(target=self._keep, name="memory-link", daemon=True)
        self._thread.start()

    @property
    def away(self) -> str | None:
        """Returns why Redis cannot be used now, or None."""
        return None if self._why is None else str(self._why["reason"])

    @property
    def starting(self) -> bool:
        """Tells whether the link has not tried to reach Redis yet."""
        return self._why is STARTING

    def wait(self, seconds: float) -> bool:
        """Waits until Redis can be used and nothing is put off; for background work, benches and tests. Returns False
        after ``seconds``."""
        with self._change:
            return self._change.wait_for(lambda: self._why is None and self._owed == self._settled, seconds)

    def quick(self, work: Callable[[Client], _T], patience: Patience | None = None) -> _T:
        """Runs ``work`` for a waiting user. Raises ``MemoryAway`` when Redis is away or the patience runs out.

        A command that was too late may still take effect.
        """
        if self._why is not None:
            raise self._make_away_error(self._why)
        behind = self._prompt or self._client
        return self._do(work, _Quick(self, behind, patience or Patience()), behind)

    def within(self, patience: Patience, command: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Runs one command for a waiting user. Raises ``MemoryAway`` when the patience runs out; there is none left
        then."""
        if patience.left <= 0:
            raise self._make_away_error(SLOW)
        began, asked = time.monotonic(), partial(self._run_command, command, *args, **named)
        try:
            if self._prompt is not None:
                _waiting.until = began + patience.left
                return asked()
            return self._by_hand(asked, patience.left)
        except (TooLate, Slow):
            patience.left = 0.0
            raise self._in_vain(began, SLOW) from None
        except RuntimeError as error:  # the link was closed meanwhile
            raise self._make_away_error(CLOSED) from error
        finally:
            patience.left -= time.monotonic() - began

    def catch_up(self) -> None:
        """Has the link's thread call ``late`` soon, because something waits for Redis in the database."""
        with self._change:
            self._owed += 1
            self._change.notify_all()

    def run(self, work: Callable[[Client], _T]) -> _T:
        """Runs ``work`` in the background, with only the timeouts of the sockets. Raises ``MemoryAway``."""
        if self._why is not None:
            raise self._make_away_error(self._why)
        client = self._client
        return self._do(partial(self._run_command, work), client, client)

    def close(self) -> None:
        """Closes the connections; the embedded server stops when this process was its last user."""
        self._closed.set()
        self._announce(CLOSED)
        self._thread.join(timeout=5)
        self._hands.shutdown(wait=False, cancel_futures=True)
        self._drop()
        if self._server is not None:
            self._server.close()

    def _run_command(self, command: Callable[..., _T], *args: Any, **named: Any) -> _T:
        answer = command(*args, **named)
        self._waits = 0
        return answer

    def _by_hand(self, command: Callable[[], _T], seconds: float) -> _T:
        """Runs the command in a thread of the pool, which reads the answer to its end or to the socket's time-out, so
        that no unread answer stays in a connection. Raises ``TooLate``."""
        future = self._hands.submit(command)
        try:
            return future.result(seconds)
        except TooLate:
            future.cancel()  # it may not have begun: nobody waits for it any more
            raise

    def _do(self, work: Callable[[Client], _T], client: Client, behind: Client) -> _T:
        try:
            return work(client)
        except Slow as error:
            began = time.monotonic() - address.SOCKET_SECONDS
            raise self._in_vain(began, {"reason": f"{type(error).__name__}: {error}"}) from error
        except _FAILURES as error:
            self._waits = 0 if is_server_refusal(error) else self._waits
            why = {"reason": f"{type(error).__name__}: {error}"}
            former = behind is not self._client and behind is not self._prompt  # Redis was reached anew meanwhile
            raise (self._make_away_error if former or is_server_refusal(error) else self._open_circuit_breaker)(
                why
            ) from error

    def _make_away_error(self, why: Why) -> MemoryAway:
        return MemoryAway(**{**why, "where": self.where})

    def _in_vain(self, began: float, why: Why) -> MemoryAway:
        """Counts a wait without an answer; returns the error to raise. ``began``: on the monotonic clock."""
        with self._change:
            if began >= self._given_up:  # it followed the last one: it is not the same slow moment
                self._waits, self._given_up = self._waits + 1, time.monotonic()
        self.catch_up()
        return self._open_circuit_breaker(why) if self._waits >= LATE_IN_A_ROW else self._make_away_error(why)

    def _open_circuit_breaker(self, why: Why) -> MemoryAway:
        """Opens the circuit breaker because Redis, reachable until now, failed; returns the error to raise."""
        if self._why is None:
            _log.warning("long-term memory is away: %s", why["reason"])
            self._announce(why)
        return self._make_away_error(why)

    def _announce(self, why: Why | None) -> None:
        with self._change:
            self._why = why if not self._closed.is_set() else CLOSED
            self._change.notify_all()

    def _keep(self) -> None:
        """Reaches Redis again whenever it is away, and catches up when an answer was late, until the link is closed."""
        tries = 0
        while not self._closed.is_set():
            with self._change:
                self._change.wait_for(lambda: self._why is not None or self._owed != self._settled)
            if self._reach() if self._why is not None else self._catch_up():
                tries = 0
                continue
            self._closed.wait(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    def _catch_up(self) -> bool:
        """Asks Redis once more, and does what was put off; returns False when that failed."""
        owed = self._owed
        try:
            self.run(lambda client: client.ping())
            self.run(self._late)
        except MemoryAway:
            return False
        except Exception as error:
            _log.error("what waited for memory was not done: %s", format_error_trace(error))
            return False
        self._follow(owed)
        return True

    def _follow(self, owed: int) -> None:
        """Notes that everything is done that was owed when the count was ``owed``."""
        with self._change:
            self._settled = owed
            self._change.notify_all()

    def _reach(self) -> bool:
        try:
            self._drop()
            self._client = self._connect()
            self._client.ping()
            owed = self._owed
            self._back(self._client)
        except GieokError as error:
            self._why = {"reason": str(error), "reason_code": error.code, **error.values}
            return False
        except _FAILURES as error:
            self._why = {"reason": str(error) or type(error).__name__}
            return False
        except Exception as error:
            if self.away != type(error).__name__:
                _log.error("memory could not be taken up again: %s", format_error_trace(error))
            self._why = {"reason": type(error).__name__}
            return False
        self._waits = 0
        self._follow(owed)
        self._announce(None)
        return True

    def _connect(self) -> Client:
        target = self._address or Address("plain", f"unix://{self._ensure_embedded_socket()}")
        client = address.open_redis_client(target)
        client.ping()
        if target.url.startswith("unix:"):
            self._prompt = address.open_redis_client(target)
            self._prompt.connection_pool.connection_class = _Prompt
        return address.open_cluster_client(target, client) or client

    def _ensure_embedded_socket(self) -> str:
        assert self._server is not None
        return quote(str(self._server.ensure()))

    def _drop(self) -> None:
        """Closes the idle connections of the clients. Leaves a connection that another thread is using: its command
        would fail with an arbitrary error if the connection were closed during the read."""
        for client in (self._client, self._prompt):
            for pool in address.list_connection_pools(client) if client is not None else ():
                with contextlib.suppress(*_FAILURES):
                    pool.disconnect(inuse_connections=False)


def is_server_refusal(error: Exception) -> bool:
    """Tells whether a server that is there refused the command, as with WRONGTYPE, and may be asked again."""
    return isinstance(error, ResponseError) and not isinstance(error, ClusterError | ReadOnlyError)
