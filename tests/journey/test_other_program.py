"""An answer that another program on the same data gives: the page shows it as it grows, and stops it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx2
import pytest
from playwright.sync_api import expect

from settings import load_settings
from store import Store
from tests.door.openai.running import CALM, served
from tests.journey.application import LONG, READY, App
from tests.journey.conftest import Visit
from tests.wait import SECONDS

pytestmark = pytest.mark.browser
SLOWLY = "아주 천천히 답해 줘"
"""The stub answers this in two minutes."""
STOPPED = {"ko-KR": "중지함", "en-US": "Stopped"}


@pytest.fixture(scope="module")
def endpoint(app: App) -> Iterator[str]:
    """The address of the service, a process of its own on the data of the page."""
    assert app.upstream is not None
    with served(app.log.parent, app.upstream.url, **CALM) as server:
        yield server.url


@contextmanager
def asked(endpoint: str) -> Iterator[tuple[str, threading.Event]]:
    """Somebody asks at the endpoint and reads; gives the session, and an event at the end of the answer."""
    body = {"model": "gieok", "messages": [{"role": "user", "content": SLOWLY}], "stream": True}
    ended = threading.Event()

    def read(response: httpx2.Response) -> None:
        response.read()
        ended.set()

    with (
        ThreadPoolExecutor(1) as reader,
        httpx2.stream("POST", f"{endpoint}/chat/completions", json=body, timeout=60) as response,
    ):
        assert response.status_code == 200
        reading = reader.submit(read, response)
        yield response.headers["x-gieok-session"], ended
        reading.result(60)


@pytest.mark.parametrize("locale", ["ko-KR", "en-US"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_click_stops_the_answer_of_another_program(
    visit: Visit, app: App, endpoint: str, locale: str, width: int, height: int
) -> None:
    with asked(endpoint) as (session, ended):
        person = visit(width, height, locale=locale, path=f"/?s={session}", ready=READY)
        answer, stop = person.answer(1), person.page.locator(".st-key-stop button")
        expect(answer).to_contain_text(LONG[:12])
        expect(stop).to_be_in_viewport()
        stop.click()
        expect(stop).to_have_count(0)
        expect(answer).to_contain_text(LONG[:12])
        expect(answer).to_contain_text(STOPPED[locale])
        assert ended.wait(SECONDS)
        store = Store(load_settings(data_dir=app.log.parent / "data").database)
        turn = store.turn(session, 1)
        store.close()
    assert turn is not None
    assert turn.status == "stopped"
    assert LONG[:12] in (turn.answer or "")
