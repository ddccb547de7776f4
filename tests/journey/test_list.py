"""The list of conversations and the help in a browser; axe over every place of the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.journey.application import App, answer, started
from tests.journey.conftest import Visit
from tests.journey.test_documents import begun
from tests.journey.test_journey import press
from tests.journey.test_reading import store, talked
from tests.stub.upstream import Upstream

pytestmark = pytest.mark.browser

CHATS = 14
ROWS_IN_SIGHT = """() => {
  const list = document.querySelector("[data-testid=stLayoutWrapper]:has(> .st-key-sessions)").getBoundingClientRect();
  return [...document.querySelectorAll(".gieok-list .row")].map((each) => each.getBoundingClientRect())
    .filter((box) => box.top >= list.top && box.bottom <= list.bottom).length;
}"""
SMALL = """(selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility())
  .map((each) => each.getBoundingClientRect()).filter((box) => box.height < 40 || box.width < 40).length"""
POINTED = """(selector) => {
  const look = () => { window.pointed ||= Boolean(document.querySelector(selector)); };
  new MutationObserver(look).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["class"] });
}"""
"""Notes that a place is marked, which ends by itself after three seconds."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with documents and memory, and conversations named «대화 1» and so on, the last one newest."""
    with Upstream(always=answer) as upstream:
        settings = {"OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "x", "GIEOK_MODEL_RETRIES": "0"}
        settings |= {"GIEOK_TITLES": "false", "GIEOK_RETRIEVAL": "true", "GIEOK_MEMORY": "true"}
        folder = tmp_path_factory.mktemp("app")
        begun(folder / "data")
        with started(folder, **settings) as running:
            held = store(running)
            for number in range(1, CHATS + 1):
                held.rename_session(talked(running, 30 if number == 3 else 2), f"대화 {number}")
            held.close()
            yield replace(running, upstream=upstream)


def test_chats_are_found_as_one_types_filed_several_at_once_and_brought_back(visit: Visit) -> None:
    person = visit()
    page, keys = person.page, person.page.keyboard
    rows, folder = page.locator(".gieok-list .row"), page.locator(".gieok-list .folder")
    expect(rows).to_have_count(CHATS)
    page.wait_for_function(f"({ROWS_IN_SIGHT})() >= 10")
    expect(person.input).to_be_focused()  # the page hears its keys by now
    keys.press("Control+k")
    page.get_by_role("dialog", name="모든 작업").get_by_role("option", name="대화 검색").click()
    expect(page.locator(".gieok-list .search")).to_be_focused()
    keys.type("표지0005", delay=30)
    hit = page.locator(".gieok-list .hit").first
    expect(hit.locator("mark")).to_have_text("표지0005")
    hit.click()
    expect(page.locator(".st-key-question-5")).to_be_in_viewport()
    page.locator(".gieok-list .search").press("Escape")
    expect(rows).to_have_count(CHATS)
    page.get_by_role("button", name="여러 개 선택").click()
    for name in ("대화 14", "대화 12"):
        page.get_by_role("checkbox", name=name).check()
    expect(page.locator(".gieok-list .count")).to_have_text("2개 선택")
    page.get_by_role("button", name="이동", exact=True).click()
    page.get_by_role("menuitem", name="새 폴더").click()
    field = page.locator(".gieok-list .rows input:not([type=checkbox])")
    expect(field).to_be_focused()
    field.press_sequentially("여행")
    field.press("Enter")
    expect(rows).to_have_count(CHATS - 2)
    folder.get_by_role("button", name="여행", exact=True).click()
    expect(folder.locator(".row")).to_have_text(["대화 14more_vert", "대화 12more_vert"])
    page.get_by_role("button", name="여러 개 선택").click()
    for name in ("대화 14", "대화 13"):
        page.get_by_role("checkbox", name=name).check()
    page.locator(".gieok-list").get_by_role("button", name="삭제", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("대화 2개를 삭제할까요?")
    dialog.locator(".st-key-delete-go button").click()
    expect(dialog).to_have_count(0)
    expect(rows).to_have_count(CHATS - 2)
    page.get_by_role("button", name="되돌리기").click()
    expect(rows).to_have_count(CHATS)
    expect(folder.locator(".row")).to_have_count(2)


def test_the_list_is_worked_by_keyboard_alone(visit: Visit) -> None:
    person = visit()
    page, keys = person.page, person.page.keyboard
    first = page.locator(".gieok-list .row .open").first
    page.locator(".gieok-list .search").focus()
    keys.press("ArrowDown")
    while not first.evaluate("each => each === document.activeElement"):
        keys.press("ArrowDown")
    keys.press("Tab")
    menu = page.get_by_role("menu")
    keys.press("Enter")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    keys.press("Escape")
    expect(menu).to_have_count(0)
    expect(page.locator(".gieok-list .row .kebab").first).to_be_focused()
    keys.press("Shift+Tab")
    expect(page.locator(".gieok-list .row .open").first).to_be_focused()
    keys.press("F2")
    expect(page.locator(".gieok-list .row input")).to_be_focused()
    keys.press("End")
    keys.type(" 새 이름")
    keys.press("Enter")
    renamed = page.locator(".gieok-list .row", has_text="새 이름")
    expect(renamed).to_have_count(1)
    expect(renamed.locator(".open")).to_be_focused()
    keys.press("Delete")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("이 대화를 삭제할까요?")
    expect(dialog).to_be_focused()
    press(person, dialog.locator(".st-key-delete-go button"))
    expect(dialog).to_have_count(0)
    expect(renamed).to_have_count(0)
    expect(first).to_be_focused()
    page.get_by_role("button", name="되돌리기").click()
    expect(renamed).to_have_count(1)


def test_the_help_leads_to_its_places_and_covers_nothing(visit: Visit) -> None:
    person = visit()
    page, dialog = person.page, person.page.get_by_role("dialog")
    page.get_by_role("button", name="도움말").click()
    page.evaluate(POINTED, ".st-key-rate.gieok-pointed")
    dialog.get_by_role("button", name="요약 압축률").click()
    page.wait_for_function("window.pointed")
    expect(page.locator(".st-key-rate .gieok-marks")).to_be_in_viewport(ratio=1)
    expect(dialog).to_have_count(0)
    person.input.click()
    page.get_by_role("button", name="도움말").click()
    dialog.get_by_role("button", name="문서", exact=True).click()
    expect(page.locator(".st-key-documents")).to_be_visible()


def test_on_a_phone_rows_and_menus_are_large_enough_and_the_help_opens_the_drawer(visit: Visit) -> None:
    person = visit(390, 844)
    page = person.page
    page.get_by_role("button", name="사이드바 열기").click()
    expect(page.locator(".gieok-list .row").first).to_be_in_viewport()
    page.locator(".gieok-list .row .kebab").nth(1).click()
    expect(page.get_by_role("menuitem").first).to_be_in_viewport()
    assert page.evaluate(SMALL, ".gieok-list :is(.row .open, .folder .open, .kebab, .tool, .item, .search)") == 0
    page.keyboard.press("Escape")
    page.get_by_role("button", name="도움말").click()
    page.get_by_role("dialog").get_by_role("button", name="장기 기억").click()
    tab = page.locator(".st-key-window-drawer").get_by_role("tab", name="기억")
    expect(tab).to_have_attribute("aria-selected", "true")


def test_the_app_has_nothing_to_complain_about(app: App) -> None:
    assert app.complaints() == []
