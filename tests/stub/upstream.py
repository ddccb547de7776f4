"""A real HTTP server on loopback that answers as OpenAI does, as far as each test needs it.

with Upstream(said("Hello there"), failed(429, retry_after="1"), said("again")) as upstream:
    client.chat(upstream.url, "key", "stub-model", settings=…)
    upstream.requests[0].body["messages"]
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.stub.reply import Reply, failed

Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What came in. ``peer``: the client's port, which tells one connection from another. ``gone`` is set when the
    client went away before its answer was complete."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json
    peer: int = 0
    gone: threading.Event = field(default_factory=threading.Event)


class Upstream:
    """Gives its replies in order, then for ever what ``always`` gives; without that, an HTTP 500 that says so.

    ``key``: the only bearer token that is taken, or None for any. ``models``: for ``GET /v1/models``. ``tokenizes``:
    whether there is llama.cpp's ``POST /tokenize`` (a token per character). ``port``: any when 0. Record of all
    chat calls: ``requests``; of everything else: ``others``. ``embeds``: answers ``POST /v1/embeddings``. ``silent``:
    seconds before ``GET /v1/models`` is answered. ``facts``: what its list tells of a model beside the name.
    """

    def __init__(
        self,
        *replies: Reply,
        always: Reply | Callable[[Json], Reply] | None = None,
        key: str | None = None,
        models: Iterable[str] = ("stub-model",),
        tokenizes: bool = False,
        port: int = 0,
    ) -> None:
        self.replies, self.always, self.key = deque(replies), always, key
        self.models, self.tokenizes = tuple(models), tokenizes
        self.embeds: Callable[[Json], Reply] | None = None
        self.silent = 0.0
        self.facts: dict[str, Json] = {}
        self.requests: list[Request] = []
        self.others: list[Request] = []
        self.closed = threading.Event()
        self._hurried = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.upstream = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """Address up to and including ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def add(self, *replies: Reply) -> None:
        """More replies for the calls to come."""
        self.replies.extend(replies)

    def reply(self, body: Json) -> Reply:
        """The next reply."""
        with self._lock:
            if self.replies:
                return self.replies.popleft()
        if self.always is None:
            return failed(500, "stub_script_exhausted", kind="server_error", x_should_retry="false")
        return self.always(body) if callable(self.always) else self.always

    def hurry(self) -> None:
        """The answers that have begun, or are about to, come to their end without further pauses."""
        hurried, self._hurried = self._hurried, threading.Event()
        hurried.set()

    @property
    def hurried(self) -> threading.Event:
        """Set for the answers that began before ``hurry``."""
        return self._hurried

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # a hundred clients may connect at once
    block_on_close = False
    upstream: Upstream

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        upstream, request = self.server.upstream, self._request()
        upstream.others.append(request)
        if self.path == "/v1/models":
            if not self._stay(request, upstream.silent):
                return None
            plain = {"object": "model", "created": 0, "owned_by": "stub"}
            models = [{"id": name, **plain, **upstream.facts.get(name, {})} for name in upstream.models]
            return self._json(self._denied(request) or Reply(body={"object": "list", "data": models}))
        self._json(failed(404))

    def do_POST(self) -> None:
        upstream, request = self.server.upstream, self._request()
        if self.path.endswith("/chat/completions"):
            upstream.requests.append(request)
            return self._chat(request, self._denied(request) or upstream.reply(request.body))
        upstream.others.append(request)
        if self.path.endswith("/embeddings") and upstream.embeds:
            reply = upstream.embeds(request.body)
            return self._json(reply) if self._stay(request, reply.silence) else None
        if self.path == "/tokenize" and upstream.tokenizes:
            tokens = [ord(each) for each in request.body["content"]]
            return self._json(self._denied(request) or Reply(body={"tokens": tokens}))
        self._json(failed(404))

    def _request(self) -> Request:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, self.path, headers, json.loads(raw) if raw else {}, self.client_address[1])

    def _denied(self, request: Request) -> Reply | None:
        key = self.server.upstream.key
        if key is None or request.headers.get("authorization") == f"Bearer {key}":
            return None
        given = request.headers.get("authorization", "")
        return failed(401, "invalid_api_key", message=f"Incorrect API key provided: {given}.")

    def _chat(self, request: Request, reply: Reply) -> None:
        hurried = self.server.upstream.hurried
        if not self._stay(request, reply.silence, hurried):
            return
        if reply.body is not None:
            return self._json(reply)
        if not request.body.get("stream"):
            return self._json(reply.but(body=reply.completion()))
        self._stream(request, reply, hurried)

    def _json(self, reply: Reply) -> None:
        data = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {
            **reply.headers,
            "content-type": "application/json",
            "content-length": str(len(data)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, request: Request, reply: Reply, hurried: threading.Event) -> None:
        self.send_response(reply.status)
        for name, value in {
            **reply.headers,
            "content-type": "text/event-stream",
            "transfer-encoding": "chunked",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        counted = (request.body.get("stream_options") or {}).get("include_usage")
        for chunk in reply.chunks:
            if isinstance(chunk, dict) and chunk.get("usage") and not counted:
                continue
            if not self._stay(request, reply.pause, hurried):
                return
            self._send(chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n")
        if reply.end == "hang":
            self._stay(request, 3600)
        if reply.end in ("hang", "close"):
            self.close_connection = True
            return
        if reply.end == "done":
            self._send("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _send(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _stay(self, request: Request, seconds: float, hurried: threading.Event | None = None) -> bool:
        """Wait, as long as the client is there and the stub is open, until ``hurried`` at most."""
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            if self._left():
                request.gone.set()
            if request.gone.is_set() or self.server.upstream.closed.is_set():
                self.close_connection = True
                return False
            if left <= 0 or (hurried is not None and hurried.is_set()):
                return True
            time.sleep(min(left, 0.01))

    def _left(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True
