"""Web pages as documents: single pages, or the pages of a site below one address. Each is fetched after the library has
taken in the one before."""

from __future__ import annotations

import hashlib
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from errors import DocumentError, PageAddress, PageGone, PageKind, PageLimit, PageRobots
from retrieval.change import SourceFile
from retrieval.read.address import (
    find_folder_prefix,
    is_web,
    join_page_address,
    normalize_address,
    render_readable_address,
)
from retrieval.read.web import Fetched, Web
from retrieval.read.web_mark import PageMarks

PAGES = 300
"""The most pages of one site."""
SITE_SECONDS = 900.0
"""How many seconds the fetching of one site may take; reading and embedding do not count."""
SITE_BYTES = 200_000_000
LINK_BYTES = 1_000_000
"""How many bytes of a page are searched for links."""
_NO_PAGE = (PageGone, PageKind, PageRobots)
"""Errors of a site's link that are not reported."""
_LINK = re.compile(
    rb"<a\s[^<>]{0,400}?\bhref\s*=\s*(?:\"([^\"<>]{1,2000})\"|'([^'<>]{1,2000})'|([^\s\"'<>]{1,2000}))", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page to read; ``below``: also the pages of its site below its address. Raises ``PageAddress``."""

    address: str
    below: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", normalize_address(self.address))


class Visit:
    """The pages of one addition, one after another as they are fetched. After the last one, ``gone`` has the addresses
    of known pages that are no longer in their site, and ``failed`` the sites with pages left out.

    ``known``: the addresses of pages in the library; ``again``: also fetches pages that have not changed.
    """

    def __init__(self, web: Web, marks: PageMarks, pages: Sequence[Page], known: Sequence[str], *, again: bool) -> None:
        self._web, self._marks, self._pages, self._again = web, marks, pages, again
        self._known = frozenset(address for address in known if is_web(address))
        self.waiting = len(pages)
        self.gone: list[str] = []
        self.failed: list[tuple[str, DocumentError]] = []

    def __iter__(self) -> Iterator[SourceFile]:
        """Yields the pages. Raises ``Stopped`` when ``model.call.interrupt.stopping`` is set."""
        for left, page in enumerate(reversed(self._pages)):
            self.waiting = left
            if page.below:
                yield from self._site(page.address)
            else:
                yield self._source(page.address, self._fetch_page(page.address))

    def _site(self, root: str) -> Iterator[SourceFile]:
        """Yields the pages below an address: known pages, and pages that any of them links to."""
        first = self._fetch_page(root, again=True)
        if isinstance(first, DocumentError):
            yield self._source(root, first)
            return
        below, spent = find_folder_prefix(first.address), _SiteUsage()
        known = sorted(url for url in self._known if url.startswith(below))
        queue = deque(dict.fromkeys([first.address, *known]))
        seen = set(queue)
        while queue:
            if spent.is_used_up:
                self.failed.append(
                    (render_readable_address(root), PageLimit(name=render_readable_address(root), pages=spent.pages))
                )
                return
            address, began = queue.popleft(), time.monotonic()
            self.waiting = len(queue)
            page = first if address == first.address else self._fetch_page(address)
            spent.seconds += time.monotonic() - began
            if isinstance(page, Fetched) and page.address != address:
                targets = [page.address]  # it redirects to an address that is fetched by itself
                self._note_gone_page(address)
            elif isinstance(page, _NO_PAGE) and address not in self._known:
                targets = []
            elif isinstance(page, PageGone):
                targets = []
                self._note_gone_page(address)
            else:
                targets = spent.take_page_links(page)
                yield self._source(address, page)
            fresh = [url for url in targets if url.startswith(below) and url not in seen]
            seen.update(fresh)
            queue.extend(fresh)

    def _note_gone_page(self, address: str) -> None:
        if address in self._known:
            self.gone.append(address)

    def _fetch_page(self, address: str, *, again: bool = False) -> Fetched | DocumentError:
        mark = None if again or self._again else self._marks.of(address)
        try:
            return self._web.fetch(address, mark)
        except DocumentError as error:
            return error

    def _source(self, address: str, page: Fetched | DocumentError) -> SourceFile:
        """Returns the source of a page. A known page keeps its address, even when it redirects."""
        if isinstance(page, DocumentError):
            return SourceFile(render_readable_address(address), address, _build_raising_reader(page))
        address = address if address in self._known else page.address
        data = page.data
        if data is None:
            return SourceFile(render_readable_address(address), address, lambda: b"", same=True)
        self._marks.keep(address, page.mark, hashlib.sha256(data).hexdigest())
        return SourceFile(
            render_readable_address(address), address, lambda: data, file=_build_page_file_name(address, page.suffix)
        )


@dataclass
class _SiteUsage:
    """What the pages of a site have used of its limits."""

    pages: int = 0
    seconds: float = 0.0
    size: int = 0

    @property
    def is_used_up(self) -> bool:
        return self.pages >= PAGES or self.seconds > SITE_SECONDS or self.size > SITE_BYTES

    def take_page_links(self, page: Fetched | DocumentError) -> list[str]:
        """Counts a page and returns where its links lead."""
        self.pages += 1
        if isinstance(page, DocumentError):
            return []
        self.size += len(page.data or b"")
        return find_page_links(page)


def find_page_links(page: Fetched) -> list[str]:
    """Returns where the links of an HTML page lead. Skips addresses with a query, because a server can offer endlessly
    many of them."""
    if page.suffix != ".html" or page.data is None:
        return []
    addresses = dict[str, None]()
    for match in _LINK.finditer(page.data[:LINK_BYTES]):
        target = unescape(next(filter(None, match.groups())).decode("utf-8", "replace"))
        try:
            address = join_page_address(page.address, target)
        except PageAddress:
            continue
        if not urlsplit(address).query:
            addresses[address] = None
    return list(addresses)


def _build_page_file_name(address: str, suffix: str) -> str:
    """Returns the page's name as a file, because its suffix selects the reader."""
    parts = urlsplit(address)
    name = PurePosixPath(unquote(parts.path)).name or parts.hostname or "page"
    return name if name.lower().endswith(suffix) else f"{name}{suffix}"


def _build_raising_reader(error: DocumentError) -> Callable[[], bytes]:
    def read() -> bytes:
        raise error

    return read
