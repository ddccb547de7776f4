"""A chat that leaves nothing, and one that is forgotten with its deletion, in a real browser on a real Valkey."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from tests.journey.application import list_holding
from tests.journey.axe import violations
from tests.journey.conftest import Visit
from tests.journey.test_memory import opened, rested

if TYPE_CHECKING:
    from tests.journey.application import App, Person

pytestmark = pytest.mark.browser
MARKER = "잔지바르표식4711"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with memory on, on a stub upstream."""
    from tests.journey.application import answer, started
    from tests.stub.upstream import Upstream

    with Upstream(always=answer) as upstream:
        settings = {"OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "x", "GIEOK_TITLES": "false"}
        with started(tmp_path_factory.mktemp("app"), **settings, GIEOK_MEMORY="true") as running:
            yield running


def holding(app: App) -> list[str]:
    """Everything that the app has written, its log too."""
    return list_holding(app.log.parent, MARKER)


def fresh(person: Person) -> Locator:
    """The memory tab of a new chat: what it would be told."""
    person.open()
    rested(person)
    return opened(person)


def test_a_private_chat_leaves_nothing_and_a_deleted_one_is_forgotten(visit: Visit, app: App) -> None:
    person = visit()
    person.page.locator(".st-key-private-begin button").click()
    expect(person.page.locator(".st-key-chip-private")).to_contain_text("비공개")
    found = violations(person.page)
    assert found == [], json.dumps(found, ensure_ascii=False, indent=1)
    person.ask(f"{MARKER} 하나를 말할게", 1)
    person.say(f"{MARKER} 아주 천천히 답해줘")
    expect(person.live).to_contain_text("천천히 도착하는")
    assert person.page.url.rstrip("/") == app.url
    person.page.reload()  # in the middle of the answer
    person.open()
    expect(person.page.locator(".st-key-invitation")).to_be_visible()
    expect(person.page.get_by_text(MARKER)).to_have_count(0)
    expect(person.page.locator(".st-key-sessions").get_by_role("button", name="대화 메뉴")).to_have_count(0)
    assert holding(app) == []

    person.ask(f"내 {MARKER} 예산은 1,500,000원이야", 1)
    panel = opened(person)
    panel.get_by_label("꼭 기억할 사실").fill(f"내 {MARKER} 예산은 1,500,000원이야")
    panel.get_by_role("button", name="고정", exact=True).click()
    expect(panel.locator("[class*='st-key-statement-pinned']")).to_have_count(1)
    other = visit()
    expect(fresh(other)).to_contain_text(MARKER)  # a new chat would be told
    person.page.get_by_role("button", name="대화 메뉴").first.click()
    person.page.get_by_role("menuitem", name="삭제").click()
    dialog = person.page.get_by_role("dialog")
    expect(dialog.get_by_role("checkbox")).to_be_checked()
    dialog.get_by_role("button", name="삭제").click()
    expect(person.page.locator(".st-key-undo")).to_contain_text("이 대화에서 알게 된 사실도 잊었습니다.")
    expect(fresh(other)).not_to_contain_text(MARKER)
    person.page.locator(".st-key-undo-last button").click()
    expect(person.answer(1)).to_be_visible()
    rested(person)
    expect(fresh(other)).to_contain_text(MARKER)
    assert holding(app) != []
    assert app.complaints() == []
