"""Fetching of web pages: from allowed machines, within limits, where robots.txt allows it.

An address that somebody gives, or a page that redirects, must not make this machine read what only this machine can
reach: its own services, those of its network and those of its cloud. So every address, also that of a redirect, is
resolved once and checked, and the connection goes to the machine that was checked (``address.Guard``). A proxy of the
system is not used: it would resolve the name again.
"""

from __future__ import annotations

import math
import re
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import httpx2

from errors import DocumentTooLarge, PageError, PageGone, PageKind, PageRobots, PageUnread
from model.call.abort import pause_cuttable_call, run_beside_call
from model.call.connection import make_cuttable
from model.call.interrupt import run_interruptible
from retrieval.read.address import Guard, join_page_address, port_of, read_address_origin, render_readable_address
from text.decode import NoText, decode_text

AGENT = "Gieok"
PAGE_SECONDS = 60.0
"""How many seconds one page may take with its redirects, however slowly it arrives."""
CONNECT_SECONDS, READ_SECONDS = 10.0, 20.0
REDIRECTS = 5
ROBOTS_BYTES = 500_000
"""How many bytes of a robots.txt are read (RFC 9309)."""
PAUSE, MOST_PAUSE = 0.3, 5.0
"""Seconds between two pages of a host: the least, and the most when its robots.txt asks for more."""
KINDS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/x-markdown": ".md",
    "text/plain": ".txt",
    "application/pdf": ".pdf",
}
_MARKDOWN = (".md", ".markdown")
_REDIRECT = frozenset({301, 302, 303, 307, 308})
_GONE = frozenset({404, 410})
_NOTHING = "User-agent: *\nDisallow: /"


@dataclass(frozen=True, slots=True)
class Mark:
    """The values by which a server recognises a version of a page: ``ETag`` and ``Last-Modified``."""

    etag: str = ""
    modified: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Returns the conditions of a request for another version."""
        conditions = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in conditions.items() if value}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched page. ``address``: its address after redirects; ``suffix``: of a file of its kind; ``data`` None: the
    page is still the version of the request's ``Mark``."""

    address: str
    suffix: str
    data: bytes | None
    mark: Mark


@dataclass
class Web:
    """A fetcher of pages, one after another; not thread-safe. ``limit``: the most bytes of a page."""

    limit: int
    guard: Guard = field(default_factory=Guard)
    seconds: float = PAGE_SECONDS
    _robots: dict[str, RobotFileParser] = field(default_factory=dict)
    _asked: dict[str, float] = field(default_factory=dict)

    def fetch(self, address: str, mark: Mark | None = None) -> Fetched:
        """Fetches a page, after at most five redirects. ``address``: a ``normal`` one; ``mark``: of the known version.

        Raises a ``PageError``, ``DocumentTooLarge``, and ``Stopped`` when ``model.call.interrupt.stopping`` is set.
        """
        try:
            return run_interruptible(lambda: self._page(address, mark or Mark()), self.seconds)
        except TimeoutError as error:
            raise _build_unread_error(
                address, f"it did not come within {self.seconds:g} s", "late", seconds=self.seconds
            ) from error

    def _page(self, address: str, mark: Mark) -> Fetched:
        with self._answer(address, mark.headers, self._allow) as (final_address, answer):
            if answer.status_code == 304 and mark.headers:
                return Fetched(final_address, "", None, mark)
            _check_status(final_address, answer)
            suffix, charset = _read_page_kind(final_address, answer)
            length = answer.headers.get("content-length", "")
            size = int(length) if length.isdecimal() else 0
            data = b"" if size > self.limit else _read_answer_body(final_address, answer, self.limit)
            if max(size, len(data)) > self.limit:
                raise DocumentTooLarge(
                    name=render_readable_address(final_address), size=max(size, len(data)), limit=self.limit
                )
            new_mark = Mark(answer.headers.get("etag", ""), answer.headers.get("last-modified", ""))
            return Fetched(final_address, suffix, data if suffix == ".pdf" else _in_utf8(data, charset), new_mark)

    def _allow(self, address: str) -> None:
        """Waits until the host may be asked for a page again. Raises ``PageRobots``."""
        rules = self._rules(address)
        if not rules.can_fetch(AGENT, address):
            raise PageRobots(name=render_readable_address(address))
        delay = min(max(PAUSE, float(rules.crawl_delay(AGENT) or 0)), MOST_PAUSE)
        rest = self._asked.get(read_address_origin(address), -math.inf) + delay - time.monotonic()
        if rest > 0:
            pause_cuttable_call(rest)
        self._asked[read_address_origin(address)] = time.monotonic()

    def _rules(self, address: str) -> RobotFileParser:
        host = read_address_origin(address)
        if host not in self._robots:
            rules = RobotFileParser()
            try:
                rules.parse(self._robots_text(f"{host}/robots.txt").splitlines())
            except PageError as error:  # the error names the page, not its robots.txt
                raise type(error)(**{**error.values, "name": render_readable_address(address)}) from error
            self._robots[host] = rules
        return self._robots[host]

    def _robots_text(self, address: str) -> str:
        """Returns the text of a robots.txt. A missing one forbids nothing; one that the server fails to deliver forbids
        everything (RFC 9309 §2.3.1)."""
        with self._answer(address, {}, lambda _: None) as (final_address, answer):
            if answer.status_code >= 400:
                return "" if answer.status_code < 500 else _NOTHING
            return _read_answer_body(final_address, answer, ROBOTS_BYTES)[:ROBOTS_BYTES].decode("utf-8-sig", "replace")

    @contextmanager
    def _answer(
        self, address: str, headers: Mapping[str, str], allow: Callable[[str], None]
    ) -> Iterator[tuple[str, httpx2.Response]]:
        """Yields the final address and the open response; first calls ``allow`` for every address on the way to it."""
        for _ in range(REDIRECTS + 1):
            allow(address)
            with self._open(address, headers) as answer:
                if answer.status_code not in _REDIRECT or "location" not in answer.headers:
                    yield address, answer
                    return
                address = join_page_address(address, answer.headers["location"])
        raise _build_unread_error(address, f"it redirects more than {REDIRECTS} times", "redirects", limit=REDIRECTS)

    @contextmanager
    def _open(self, address: str, headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
        """Yields the response of the machine that the guard returned. The request carries the host's name, and the
        certificate must be for that name."""
        parts, machine = urlsplit(address), run_beside_call(lambda: self.guard.machine(address))
        host = f"[{machine}]" if ":" in machine else machine
        url = f"{parts.scheme}://{host}:{port_of(address)}{parts.path}{f'?{parts.query}' if parts.query else ''}"
        basic_headers = {
            "Host": parts.netloc,
            "User-Agent": AGENT,
            "Accept": ", ".join(KINDS),
            "Accept-Encoding": "identity",
        }
        extensions = {"sni_hostname": parts.hostname}
        try:
            with self._client.stream("GET", url, headers={**basic_headers, **headers}, extensions=extensions) as answer:
                yield answer
        except (httpx2.HTTPError, httpx2.InvalidURL, zlib.error) as error:
            detail = str(error) or type(error).__name__
            raise _build_unread_error(
                address, f"the connection failed ({detail})", "connection", detail=detail
            ) from error

    @cached_property
    def _client(self) -> httpx2.Client:
        """Returns a client that keeps no connection: one machine may have many hosts with different certificates."""
        limits = httpx2.Limits(max_keepalive_connections=0)
        transport = httpx2.HTTPTransport(verify=ssl.create_default_context(), trust_env=False, limits=limits)
        timeout = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
        return httpx2.Client(transport=make_cuttable(transport), trust_env=False, timeout=timeout)


def _check_status(address: str, answer: httpx2.Response) -> None:
    status = answer.status_code
    if status in _GONE:
        raise PageGone(name=render_readable_address(address), status=status)
    if status != 200:
        raise _build_unread_error(address, f"the server answered with status {status}", "status", status=status)


def _read_page_kind(address: str, answer: httpx2.Response) -> tuple[str, str]:
    """Returns the file suffix of the page's kind, and its character set, '' when the server does not name one. Raises
    ``PageKind``."""
    kind, _, parameters = answer.headers.get("content-type", "").partition(";")
    suffix = KINDS.get(kind.strip().lower())
    if suffix is None:
        raise PageKind(name=render_readable_address(address), kind=kind.strip() or "?")
    if suffix == ".txt" and urlsplit(address).path.lower().endswith(_MARKDOWN):
        suffix = ".md"
    charset = re.search(r"charset=[\"']?([\w.:-]{1,40})", parameters, re.IGNORECASE)
    return suffix, charset[1] if charset else ""


def _read_answer_body(address: str, answer: httpx2.Response, limit: int) -> bytes:
    """Returns the content; of content larger than ``limit``, a little more than ``limit``. Unpacks content that a
    server packs unasked."""
    packed = answer.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip"):
        raise _build_unread_error(address, f"its encoding {packed!r} is unknown", "encoding", encoding=packed)
    unpack, data = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in packed else None, bytearray()
    for chunk in answer.iter_raw():
        data += unpack.decompress(chunk, limit - len(data) + 1) if unpack else chunk
        if len(data) > limit:
            break
    return bytes(data)


def _in_utf8(data: bytes, charset: str) -> bytes:
    """Returns text in UTF-8. ``charset``: the character set that the server names, which may be its default and wrong.
    Without one the page itself may name it (``retrieval.read.format.html``)."""
    try:
        return decode_text(data, charset).encode("utf-8", "replace") if charset else data
    except NoText:
        return data


def _build_unread_error(address: str, reason: str, code: str, **values: object) -> PageUnread:
    return PageUnread(name=render_readable_address(address), reason=reason, reason_code=code, **values)
