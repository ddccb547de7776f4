"""One app on a stub upstream for the quick journeys, and pages of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.journey.application import App, Person

Visit = Callable[..., "Person"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[App]:
    """The app with a hosted model that is a stub on loopback; started once per module."""
    from tests.journey.application import answer, started
    from tests.stub.upstream import Upstream

    with Upstream(always=answer) as upstream:
        settings = {"OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "x", "GIEOK_MODEL_RETRIES": "0"}
        settings["GIEOK_TITLES"] = "false"
        with started(tmp_path_factory.mktemp("app"), **settings) as running:
            yield replace(running, upstream=upstream)


@pytest.fixture
def visit(app: App, browser: Browser) -> Iterator[Visit]:
    """Opens the page as a new visitor: ``visit(width=390, height=844, locale="en-US", path="/?s=…")``."""
    from tests.journey.application import Person

    contexts = []

    def make(
        width: int = 1440, height: int = 900, locale: str = "ko-KR", path: str = "/", tour: bool = False, **kind: Any
    ) -> Person:
        context = browser.new_context(viewport={"width": width, "height": height}, locale=locale, **kind)
        contexts.append(context)
        person = Person(context.new_page(), app)
        person.open(path, tour=tour)
        return person

    yield make
    for context in contexts:
        context.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A journey in a browser that fails is tried once more, and the report says so (R): Streamlit and Chromium have
    races of their own on a loaded machine. What fails twice fails."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.flaky(reruns=1))
