"""A web server of pages for tests: what each path answers, and what was asked of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """``etag``: a request for another version than this gets 304. ``drip``: the body, part by part."""

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "text/html; charset=utf-8"
    etag: str = ""
    drip: Callable[[], Iterator[bytes]] | None = None


@dataclass
class Site:
    """The server. ``pages``: by path; one that is not there is 404. ``asked``: the paths, in order."""

    port: int
    pages: dict[str, Reply | str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)

    def at(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        """What was asked but for robots.txt."""
        return [path for path in self.asked if path != "/robots.txt"]


@contextmanager
def serving() -> Iterator[Site]:
    site = Site(0)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.hosts.append(self.headers["Host"])
            page = site.pages.get(self.path, Reply("Not found", 404))
            reply = Reply(page) if isinstance(page, str) else page
            self._send(reply)

        def _send(self, reply: Reply) -> None:
            same = bool(reply.etag) and self.headers.get("If-None-Match") == reply.etag
            body = reply.body.encode() if isinstance(reply.body, str) else reply.body
            self.send_response(304 if same else reply.status)
            told = {"Content-Type": reply.kind, "ETag": reply.etag, **reply.headers}
            if reply.drip is None:
                told = {"Content-Length": str(0 if same else len(body)), **told}
            for name, value in told.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            try:
                for part in () if same else reply.drip() if reply.drip else (body,):
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:
                pass  # whoever asked has gone

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


def page(title: str, text: str, *links: str) -> str:
    linked = "".join(f'<a href="{link}">more</a> ' for link in links)
    return f"<!doctype html><title>{title}</title><body><h1>{title}</h1><p>{text}</p>{linked}</body>"
