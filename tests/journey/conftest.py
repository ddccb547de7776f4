"""One app on a stub upstream for the quick journeys, and pages of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from settings import load_settings
from store import Store

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.journey.application import App, Person

Visit = Callable[..., "Person"]


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with a hosted model that is a stub on loopback; started once. At the end nothing in its log may be
    unexpected."""
    from tests.journey.application import answer, started
    from tests.stub.upstream import Upstream

    with Upstream(always=answer) as upstream:
        settings = {"OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "x", "GIEOK_MODEL_RETRIES": "0"}
        settings["GIEOK_TITLES"] = "false"
        with started(tmp_path_factory.mktemp("app"), **settings) as running:
            yield replace(running, upstream=upstream)
            assert running.complaints() == []


class Pages:
    """Pages that visitors left. One that has shown the app opens it again with a third of the processor time that a new
    one takes; of the visitor nothing stays: neither storage nor cookies, permissions or a connection."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[Page]] = {}

    def take(self, locale: str) -> Page:
        """A page in this language."""
        free = self._free.get(locale)
        return free.pop() if free else self._browser.new_context(locale=locale).new_page()

    def give(self, page: Page, locale: str) -> None:
        """Takes a page back, and drops it when it cannot be cleaned."""
        from playwright.sync_api import Error

        context = page.context
        try:
            for other in context.pages:
                if other is not page:
                    other.close()
            context.set_offline(False)
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
            page.goto("about:blank")
            context.clear_cookies()
            context.clear_permissions()
        except Error:
            context.close()
        else:
            self._free.setdefault(locale, []).append(page)


@pytest.fixture(scope="session")
def pages(browser: Browser) -> Pages:
    """The pages of this session of tests."""
    return Pages(browser)


@pytest.fixture
def own_settings(app: App) -> Iterator[None]:
    """For tests that change what the user has set: afterwards, however they end, nothing is set in the shared app."""
    yield
    with closing(Store(load_settings(data_dir=app.log.parent / "data").database)) as store:
        store.user_settings.remove(store.user_settings.read())


@pytest.fixture
def visit(app: App, browser: Browser, pages: Pages) -> Iterator[Visit]:
    """Opens the page as a new visitor: ``visit(width=390, height=844, locale="en-US", path="/?s=…")``.

    ``color_scheme``: light or dark; ``ready``: what is waited for (``Person.open``); ``own``: a page that nobody uses
    afterwards, for tests that change it for good, such as by a script for every load. Whatever else Playwright's
    ``new_context`` takes makes one, too.
    """
    from tests.journey.application import READY, Person

    left: list[Callable[[], None]] = []

    def make(
        width: int = 1440,
        height: int = 900,
        locale: str = "ko-KR",
        path: str = "/",
        ready: str = READY,
        color_scheme: Any = "light",
        own: bool = False,
        **kind: Any,
    ) -> Person:
        if own or kind:
            page = browser.new_context(locale=locale, **kind).new_page()
            left.append(page.context.close)
        else:
            page = pages.take(locale)
            left.append(lambda: pages.give(page, locale))
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=color_scheme)
        person = Person(page, app)
        person.open(path, ready=ready)
        return person

    yield make
    for leave in left:
        leave()
