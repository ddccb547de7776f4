"""A stand-in for Hugging Face on loopback: one small file for every address, with a redirect, HEAD and Range."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Hub:
    """Gives ``content``, and can break in the ways that networks do.

    ``drop_after``: where the next downloads break off, in bytes. ``moved``: where the redirect leads. ``asked``: the
    ranges that downloads wanted. ``addresses``: method and path of everything before its redirect. ``files``: what the
    address of a file answers instead of the redirect; None: the redirect.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.drop_after: list[int | None] = []
        self.ranges = True
        self.status = 200
        self.headers: dict[str, str] = {}
        self.sized = True
        self.moved = "/moved"
        self.files: int | None = None
        self.asked: list[str | None] = []
        self.addresses: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        """Answers one request."""
        if "/resolve/" in to.path:
            self.addresses.append(f"{to.command} {to.path}")
            to.send_response(self.files or 302)
            for name, value in self.headers.items():
                to.send_header(name, value)
            to.send_header("Location", self.moved)
            to.end_headers()
            return
        asked = to.headers["Range"]
        self.asked.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.ranges else 0
        to.send_response(206 if start else self.status)
        for name, value in self.headers.items():
            to.send_header(name, value)
        if self.sized:
            to.send_header("Content-Length", str(len(self.content) - start))
        to.end_headers()
        stop = self.drop_after.pop(0) if self.drop_after else None
        to.wfile.write(self.content[start:stop])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
