"""The limits of one connection to the endpoint or the page, which hold before any key or login is looked at: the bytes
and the time of a request's head, the progress of its body and of the answer, and how many connections there are.

uvicorn has none of them for the parser that it uses here (httptools): a head that never ends would fill the memory.
"""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from server.refusal import Refusal
from settings import Settings, load_current_settings

LEAST_PROGRESS = 1_000
"""Bytes of a body that must arrive, or of an answer that must leave, while ``ConnectionLimits.body_seconds`` pass."""
RETRY_SECONDS = 5
"""When a client may try again that came when there were too many connections."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """``head_bytes``, ``head_seconds``: of a request's line and headers; ``body_seconds``: how long a body, or an
    answer that its client does not read, may make no progress; ``connections``: the most of one process."""

    head_bytes: int
    head_seconds: float
    body_seconds: float
    connections: int

    @classmethod
    def of(cls, settings: Settings) -> ConnectionLimits:
        """Returns the limits of the settings."""
        return cls(
            settings.api_head_limit, settings.api_head_seconds, settings.api_body_seconds, settings.api_connections
        )


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's connection with limits. What passes a limit is refused in the form of its protocol, and the connection
    ends."""

    limits: ConnectionLimits | None = None
    """The limits where they are not those of the settings."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        self._limits = self.limits or ConnectionLimits.of(load_current_settings())
        self._timer: TimerHandle | None = None
        self._reading: TimerHandle | None = None
        self._is_refused, self._is_in_head = False, True
        self._head, self._arrived = 0, 0
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            self._refuse(503, "too_many_connections", "This server has too many connections. Try again in a moment.")
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._head += len(data)
        super().data_received(data)
        if self._is_in_head and self._head > self._limits.head_bytes:
            self._refuse_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._timer is None:  # the next request of a connection that is kept
            self._await_head()

    def on_headers_complete(self) -> None:
        if self._is_refused:
            return
        if sum(len(name) + len(value) for name, value in self.headers) + len(self.url) > self._limits.head_bytes:
            self._refuse_head()
            return
        self._is_in_head, self._head = False, 0
        self._stop_timer()
        super().on_headers_complete()
        self._await_body()

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            self._arrived += len(body)
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._head = 0
        self._stop_timer()
        if not self._is_refused:
            super().on_message_complete()

    # --- time -----------------------------------------------------------------------------------

    def _await_head(self) -> None:
        self._is_in_head, self._head = True, 0
        self._start_timer(self._limits.head_seconds, self._end_late_head)

    def _await_body(self) -> None:
        self._arrived = 0
        self._start_timer(self._limits.body_seconds, self._end_slow_body)

    def _end_late_head(self) -> None:
        seconds = self._limits.head_seconds
        self._refuse(408, "head_too_late", f"The head of a request must arrive within {seconds:g} s.")

    def _end_slow_body(self) -> None:
        if self._arrived >= LEAST_PROGRESS or self.flow.read_paused:  # paused: it is we who do not read
            self._await_body()
            return
        seconds = self._limits.body_seconds
        self._refuse(408, "body_too_slow", f"The body of the request made no progress for {seconds:g} s.")

    def _start_timer(self, seconds: float, work: Any) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, work)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- a client that does not read ------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reading(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def _await_reading(self, waiting: int) -> None:
        """Ends the connection of a client that takes nothing of what waits for it: its request would keep its place
        for as long as the connection stays open. ``waiting``: bytes."""
        self._reading = self.loop.call_later(self._limits.body_seconds, self._end_unread, waiting)

    def _end_unread(self, waiting: int) -> None:
        left = self.transport.get_write_buffer_size()
        if waiting - left >= LEAST_PROGRESS:
            self._await_reading(left)
        else:
            self.transport.abort()

    # --- the refusal ----------------------------------------------------------------------------

    def _refuse_head(self) -> None:
        limit = self._limits.head_bytes
        self._refuse(431, "head_too_large", f"The head of the request is too large; the limit is {limit:,} bytes.")

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answers where no answer has begun, and ends the connection."""
        self._is_refused = True
        self._stop_timer()
        if not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                path = getattr(self, "url", b"").partition(b"?")[0].decode("latin-1")  # none before the first head
                self.transport.write(_write_refusal(status, code, message, path))
            self.transport.close()


def _write_refusal(status: int, code: str, message: str, path: str) -> bytes:
    is_full = status == HTTPStatus.SERVICE_UNAVAILABLE
    kind, wait = ("api_error", RETRY_SECONDS) if is_full else ("invalid_request_error", None)
    answer = Refusal(status, message, code=code, kind=kind, wait=wait).response_at(path)
    headers = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{headers}Connection: close\r\n\r\n"
    return head.encode() + bytes(answer.body)


__all__ = ["ConnectionLimits", "LimitedConnection"]
