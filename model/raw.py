"""A call upstream with a client's own JSON, for a door that passes requests on: nothing is added or dropped; only the
messages get the form that the server takes (``model.call.message_form``).

LangChain's client drops the fields that it does not know, and repeats refused calls by itself; here the caller decides
what a client sees. One call is one request: an error is an answer like any other.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx2

from model.call.abort import CuttableCall, current, watch
from model.call.fault import translate_upstream_errors
from model.call.message_form import FORMS, is_worth_strict_form
from model.call.transport import CONNECT_SECONDS, Transport


@dataclass(frozen=True)
class Upstream:
    """The address of a model's server. ``fields``: what every request there needs beyond OpenAI's, such as llama.cpp's
    slot. ``only``: whether the server has no other model. ``before``: called with every request before it is sent."""

    url: str
    key: str = field(repr=False)
    model: str
    seconds: float
    fields: Mapping[str, Any] = field(default_factory=dict)
    keep: bool = True
    only: bool = False
    before: Callable[[httpx2.Request], None] | None = None


class RawAnswer(Protocol):
    """The answer of a server as it comes. ``headers``: names in lower case."""

    status: int
    headers: Mapping[str, str]

    def events(self) -> Iterator[str]:
        """Yields the server-sent events as text, the blank line at the end of one included. Ends without an error when
        the call is stopped; raises ``UpstreamError``."""

    def whole(self) -> bytes:
        """Returns the body; empty when the call is stopped. Raises ``UpstreamError``."""


class Raw(Protocol):
    """A model's server that takes a client's own JSON. ``url``: its address; ``model``: the name of the model that
    Gieok uses; ``only``: whether the server has no other one."""

    url: str
    model: str
    only: bool

    def ask(self, body: Mapping[str, Any], stop: threading.Event) -> AbstractContextManager[RawAnswer]:
        """Returns a context manager that sends the request and gives its ``RawAnswer``. Leaving the block before the
        answer's end, or setting ``stop``, ends the call. Raises ``UpstreamError``, and ``RawStopped`` when ``stop``
        was set before the answer began."""


class RawStopped(Exception):
    """The error of a call that was stopped before its answer began."""


class RawClient:
    """Posts requests to ``/chat/completions`` of an OpenAI-compatible server. Thread-safe."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self.url, self.model, self.only = upstream.url, upstream.model, upstream.only
        timeout = httpx2.Timeout(upstream.seconds, connect=min(upstream.seconds, CONNECT_SECONDS))
        transport = Transport(upstream.url, upstream.seconds, keep=upstream.keep)
        hooks: dict[str, list[Callable[..., Any]]] = {"request": [upstream.before]} if upstream.before else {}
        self._client = httpx2.Client(transport=transport, timeout=timeout, follow_redirects=True, event_hooks=hooks)

    @contextmanager
    def ask(self, body: Mapping[str, Any], stop: threading.Event) -> Iterator[RawAnswer]:
        """Sends the request once and gives its answer, whatever its status is; a second time where the server may have
        refused the form of the messages."""
        call, context = CuttableCall(), copy_context()
        context.run(current.set, call)  # not in the caller's own context: meanwhile the caller does other things
        responses = list[httpx2.Response]()

        def send(request: Mapping[str, Any]) -> _Answer:
            responses.append(self._send_request(context, call, {**request, **self._upstream.fields}, stop))
            return _Answer(responses[-1], context, call, self._upstream)

        try:
            with watch.over(call, stop):
                yield self._send_arranged(body, send)
        finally:
            call.cut()
            for response in responses:
                context.run(response.close)

    def _send_arranged(self, body: Mapping[str, Any], send: Callable[[Mapping[str, Any]], _Answer]) -> RawAnswer:
        """Sends a request in the form that the server takes, and in the strict one where it refuses the other."""
        messages = body.get("messages")
        if not isinstance(messages, list):
            return send(body)
        place = self.url, str(body.get("model") or self.model)
        was_strict = FORMS.is_strict(*place)
        answer = send({**body, "messages": FORMS.arrange(messages, *place)})
        if answer.status < 400:
            return answer
        content = answer.whole()
        complaint = content.decode("utf-8", "replace")
        if not was_strict and is_worth_strict_form(messages, answer.status, complaint):
            again = send({**body, "messages": FORMS.arrange(messages, *place, strict=True)})
            if again.status < 400:
                FORMS.note_strict(*place)
                return again
        return _Refused(answer.status, answer.headers, content)

    def _send_request(
        self, context: Context, call: CuttableCall, body: Mapping[str, Any], stop: threading.Event
    ) -> httpx2.Response:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {self._upstream.key or 'none'}"}
        request = self._client.build_request("POST", f"{self.url}/chat/completions", content=content, headers=headers)
        try:
            if stop.is_set():
                raise RawStopped
            with translate_upstream_errors(self.url, self.model, self._upstream.seconds):
                return context.run(self._client.send, request, stream=True)
        except Exception as error:
            if call.is_cut and not isinstance(error, RawStopped):
                raise RawStopped from error
            raise


class _Answer:
    """An answer that is being read in the context of its call."""

    def __init__(self, response: httpx2.Response, context: Context, call: CuttableCall, upstream: Upstream) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._parts = response.iter_bytes()
        self._context, self._call, self._upstream = context, call, upstream

    def events(self) -> Iterator[str]:
        """Yields the events of a stream; lines may end with a carriage return as well."""
        rest = b""
        for part in self._read():
            rest += part
            if b"\r" in rest:
                rest = rest.replace(b"\r\n", b"\n")
            *events, rest = rest.split(b"\n\n")
            for event in events:
                yield event.decode("utf-8", "replace") + "\n\n"
        if rest.strip() and not self._call.is_cut:
            yield rest.decode("utf-8", "replace") + "\n\n"

    def whole(self) -> bytes:
        """Returns the body."""
        return b"".join(self._read())

    def _read(self) -> Iterator[bytes]:
        while True:
            try:
                with translate_upstream_errors(self._upstream.url, self._upstream.model, self._upstream.seconds):
                    part = self._context.run(next, self._parts, None)
            except Exception:
                if self._call.is_cut:  # the error of a connection that was shut down
                    return
                raise
            if part is None:
                return
            yield part


@dataclass
class _Refused:
    """An answer that was read: the server's refusal."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def events(self) -> Iterator[str]:
        """Yields nothing: a refusal is no stream."""
        yield from ()

    def whole(self) -> bytes:
        """Returns the body."""
        return self.content


__all__ = ["Raw", "RawAnswer", "RawClient", "RawStopped", "Upstream"]
