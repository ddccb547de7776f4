"""A real server on loopback that other agents would have: it is told of tasks."""

from __future__ import annotations

import json
import queue
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """Notes what it is told. ``statuses``: what it answers next; afterwards 200. ``on``: where it redirects to."""

    def __init__(self) -> None:
        self.heard: queue.Queue[tuple[dict[str, str], dict[str, Any]]] = queue.Queue()
        self.statuses: deque[int] = deque()
        self.tries = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook?for=me"

    def next(self) -> tuple[dict[str, str], dict[str, Any]]:
        return self.heard.get(timeout=60)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Heard(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                receiver.tries += 1
                status = receiver.statuses.popleft() if receiver.statuses else 200
                self.send_response(status)
                if status in (302, 307):
                    self.send_header("location", "/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()
                if status == 200:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    receiver.heard.put(({**headers, "path": self.path}, body))

        return Heard

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiver() -> Iterator[Receiver]:
    opened = Receiver()
    opened.start()
    yield opened
    opened.stop()
