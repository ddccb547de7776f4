"""A foreign tool asks in the page before it runs, and its server asks for values: in both languages, on every width."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from host import Servers
from tests.host.conftest import SERVER
from tests.journey.application import READY, App
from tests.journey.conftest import Visit

pytestmark = pytest.mark.browser
BOOK = "예약해 줘"
"""The stub answers this by a call of the server's tool."""
WORDS = {
    "ko-KR": ("서버 «house»의 도구 «book»을(를) 실행할까요?", "이번만", "계속하기"),
    "en-US": ("May the server «house» run «book»?", "Once", "Go on"),
}


@pytest.fixture(scope="module", autouse=True)
def house(app: App) -> Iterator[None]:
    """The server is set up for the time of these tests; the other journeys have their own tools alone."""
    servers = Servers(app.log.parent / "data" / "mcp.json")
    servers.put("house", {"command": sys.executable, "args": [str(SERVER), "legacy"]})
    yield
    servers.remove("house")


@pytest.mark.parametrize("locale", ["ko-KR", "en-US"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_tool_is_approved_and_its_form_filled_in(visit: Visit, locale: str, width: int, height: int) -> None:
    question, once, go_on = WORDS[locale]
    person = visit(width, height, locale=locale, ready=READY if locale == "ko-KR" else "")
    person.say(BOOK)
    box = person.page.locator(".st-key-waiting-1")
    expect(box).to_contain_text(question)
    expect(box).to_contain_text("Seoul")
    box.get_by_role("button", name=once).click()
    expect(box).to_contain_text("How many at Seoul?")
    box.get_by_role("spinbutton").fill("4")
    box.get_by_role("spinbutton").press("Tab")
    end = box.get_by_role("button", name=go_on)
    expect(end).to_be_enabled()
    end.click()
    expect(box).to_contain_text("Which seat?")
    person.page.reload()  # the turn waits through a reload, too
    expect(box).to_contain_text("Which seat?")
    box.locator(".st-key-question-refuse-1 button").click()
    expect(person.see(1)).to_contain_text("booked Seoul for 4, any")
