"""What a person does with the long-term memory, in a real browser: real Valkey, a stub model that folds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from tests.journey.axe import still, violations, violations_by_scheme
from tests.journey.conftest import Visit
from tests.journey.test_journey import MEASURE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.journey.application import App, Person

pytestmark = pytest.mark.browser

POINTED = """(selector) => {
  window.pointing?.disconnect();
  window.pointed = false;
  window.pointing = new MutationObserver(() => { window.pointed ||= Boolean(document.querySelector(selector)); });
  window.pointing.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["class"] });
}"""
"""Notes that a place is marked, which ends by itself after three seconds; forgets the place before."""
SAID = (
    "여행 예산은 1,500,000원이고 도시는 3곳이야",
    "출발일은 12월 24일이고 인원은 4명이야",
    "숙소는 2박에 360,000원이야",
    "항공권은 720,000원이야",
    "렌터카는 90,000원이야",
    "이제 일정표를 만들어줘",
)
SAID_EN = (
    "My budget is 1500 dollars for the trip",
    "My group is 4 people",
    "The hotel is 360 dollars",
    "The flight is 720 dollars",
    "The car is 90 dollars",
    "Now write a plan for the days",
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[App]:
    """The app with memory on, on a stub upstream; started once per module."""
    from tests.journey.application import answer, started
    from tests.stub.upstream import Upstream

    with Upstream(always=answer) as upstream:
        settings = {"OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "x", "GIEOK_TITLES": "false"}
        with started(tmp_path_factory.mktemp("app"), **settings, GIEOK_MEMORY="true") as running:
            yield running


@pytest.fixture(scope="module")
def talked(app: App, browser: Browser) -> Callable[[str], str]:
    """The address of a conversation of six turns in this language; held once, with the memory tab open."""
    from tests.journey.application import Person

    held: dict[str, str] = {}

    def talk(language: str) -> str:
        if language not in held:
            context = browser.new_context(viewport={"width": 1440, "height": 900}, locale=f"{language}-KR")
            person = Person(context.new_page(), app)
            person.open("/", ready="")
            opened(person)
            for number, text in enumerate(SAID if language == "ko" else SAID_EN, 1):
                person.ask(text, number)
            expect(person.panel).to_contain_text("M1 ·")  # the fold ends behind the answer
            held[language] = "/?" + person.page.url.partition("?")[2]
            context.close()
        return held[language]

    return talk


def opened(person: Person, drawer: bool = False) -> Locator:
    """The memory tab of the panel, or of the drawer."""
    if drawer:
        person.page.locator(".st-key-open-panel button").click()
    root = person.page.get_by_role("dialog") if drawer else person.panel
    root.get_by_role("tab", name=re.compile("기억|Memory")).click()
    expect(root).to_contain_text(re.compile("내 기억|My memory"))
    return root


def rested(person: Person) -> None:
    """Waits until the page has been drawn to its end."""
    expect(person.page.locator("[data-test-script-state=notRunning]")).to_have_count(1)


def row(root: Locator, key: str) -> Locator:
    """The line of one entity."""
    return root.locator("[class*='st-key-entity-']").filter(has=root.page.locator("dt", has_text=key)).last


def test_six_turns_become_a_memory_that_can_be_edited_pinned_and_undone(
    visit: Visit, talked: Callable[[str], str]
) -> None:
    person = visit(path=talked("ko"))
    panel = opened(person)
    expect(panel).to_contain_text("여행 예산은 1,500,000원이고 도시는 3곳이야")
    expect(panel).to_contain_text("6턴은 아직 기억에 반영되지 않아")
    expect(row(panel, "예산")).to_contain_text("1,500,000원")
    panel.get_by_role("button", name="고정: 모든 대화가").first.click()
    expect(panel.locator("[class*='st-key-statement-pinned']")).to_have_count(1)
    panel.get_by_role("button", name="기억 고치기").click()
    draft = panel.get_by_role("textbox", name="기억 고치기")
    draft.fill(draft.input_value() + "\n여행에서는 조용한 숙소를 좋아한다")
    panel.get_by_role("button", name="저장").click()
    expect(panel).to_contain_text("기억을 바꾸었습니다.")
    expect(panel).to_contain_text("조용한 숙소를")
    panel.get_by_role("button", name="이 기억 갱신 취소").click()
    expect(panel).to_contain_text("이전 버전의 기억으로 되돌렸습니다.")
    expect(panel).not_to_contain_text("조용한 숙소를")
    panel.get_by_role("button", name="고정 해제").click()
    expect(panel.locator("[class*='st-key-statement-pinned']")).to_have_count(0)


def test_the_settings_window_leads_to_each_setting_beside_the_memory(
    visit: Visit, talked: Callable[[str], str]
) -> None:
    person = visit(path=talked("en"), locale="en-US")
    for name, place in (
        ("Share memory between chats", "[class*='memory-carry-']"),
        ("Ask me before memory is updated", "[class*='memory-first-']"),
        ("Export and import", ".st-key-takeout"),
        ("Erase", ".st-key-erase"),
    ):
        rested(person)
        person.page.evaluate(POINTED, f".st-key-panel {place}.gieok-pointed")
        person.page.locator(".st-key-open-options-window button").click()
        window = person.page.get_by_role("dialog")
        search = window.get_by_role("textbox", name="Search settings")
        expect(search).to_be_visible()
        rested(person)
        search.fill(name)
        search.press("Enter")
        window.get_by_role("button", name=name, exact=True).click()
        expect(window).to_be_hidden()
        person.page.wait_for_function("window.pointed")


def test_an_entity_is_changed_and_deleted_by_its_menu_and_back_by_undo(
    visit: Visit, talked: Callable[[str], str]
) -> None:
    person = visit(path=talked("en"), locale="en-US")
    panel = opened(person)
    expect(row(panel, "hotel")).to_contain_text("360")
    row(panel, "hotel").get_by_role("button").click()
    person.page.get_by_text("Edit value").click()
    panel.get_by_label("hotel").fill("400 dollars")
    panel.get_by_label("hotel").press("Enter")
    expect(row(panel, "hotel")).to_contain_text("400 dollars")
    expect(row(panel, "hotel")).to_contain_text("turn 6")
    row(panel, "car").get_by_role("button").click()
    person.page.get_by_text("Delete", exact=True).click()
    expect(row(panel, "car")).to_have_count(0)
    panel.get_by_role("button", name="Undo this memory update").click()
    expect(row(panel, "car")).to_have_count(1)


def test_versions_stand_beside_their_turns(visit: Visit, talked: Callable[[str], str]) -> None:
    person = visit(path=talked("en"), locale="en-US")
    opened(person).get_by_role("button", name="Versions").click()
    window = person.page.get_by_role("dialog")
    expect(window).to_contain_text("Turns in this version")
    window.get_by_role("combobox").click()
    person.page.get_by_role("option", name="M1").click()
    expect(window.locator("mark.kept").first).to_be_visible()
    expect(window.locator("ins").first).to_be_visible()
    person.page.keyboard.press("Escape")
    expect(window).to_be_hidden()


def test_a_draft_outlives_a_look_at_another_tab(visit: Visit, talked: Callable[[str], str]) -> None:
    person = visit(path=talked("en"), locale="en-US")
    panel = opened(person)
    panel.get_by_role("button", name="Edit the memory").click()
    panel.get_by_role("textbox", name="Edit the memory").fill("Only this is true.")
    panel.get_by_role("tab", name="Summaries").click()
    expect(panel).to_contain_text("Summary history")
    opened(person)
    expect(panel.get_by_role("textbox", name="Edit the memory")).to_have_value("Only this is true.")
    panel.get_by_role("button", name="Cancel").click()
    expect(panel).not_to_contain_text("Only this is true.")


def test_on_a_phone_the_memory_is_in_the_drawer(visit: Visit, talked: Callable[[str], str]) -> None:
    person = visit(390, 844, path=talked("ko"))
    drawer = opened(person, drawer=True)
    expect(drawer).to_contain_text("여행 예산은 1,500,000원")
    drawer.get_by_label("꼭 기억할 사실").fill("견과류 알레르기가 있다")
    drawer.get_by_role("button", name="고정", exact=True).click()
    pinned = drawer.locator("[class*='st-key-statement-pinned']").filter(has_text="견과류 알레르기가 있다")
    expect(pinned).to_have_count(1)
    still(person.page)
    wide = drawer.evaluate("e => e.scrollWidth - e.clientWidth")
    assert wide <= 0
    assert person.page.evaluate(MEASURE)["width"] <= 0
    pinned.get_by_role("button", name="고정 해제").click()
    expect(pinned).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_serious_in_the_memory(visit: Visit, talked: Callable[[str], str], width: int) -> None:
    person = visit(width, 844, path=talked("ko"))
    opened(person, drawer=width < 640)
    found = violations_by_scheme(person.page)
    assert found == [], json.dumps(found, ensure_ascii=False, indent=1)


def test_all_memory_is_exported_erased_and_brought_back(
    visit: Visit, talked: Callable[[str], str], tmp_path: Path
) -> None:
    """The last one: it erases what the others look at."""
    person = visit(path=talked("ko"))
    page, panel = person.page, opened(person)
    person.unfold(panel.get_by_text("내보내기·가져오기"))
    with page.expect_download() as download:
        panel.get_by_role("button", name="모든 기억을 JSON으로 내보내기").click()
    download.value.save_as(tmp_path / "memory.json")
    person.unfold(panel.locator("summary", has_text="지우기"))
    expect(panel.get_by_role("button", name="내 모든 기억 지우기")).to_be_visible()
    rested(person)
    panel.get_by_role("button", name="내 모든 기억 지우기").click()
    expect(panel).to_contain_text("되돌릴 수 없습니다")
    rested(person)
    panel.get_by_role("button", name="지우기", exact=True).click()
    expect(panel).to_contain_text("모든 기억을 지웠습니다.")
    expect(panel).not_to_contain_text("여행 예산은 1,500,000원")
    (tmp_path / "wrong.json").write_text("[]")
    upload = panel.locator("input[type=file]")
    upload.set_input_files(tmp_path / "wrong.json")
    expect(panel).to_contain_text("wrong.json")
    rested(person)
    panel.get_by_role("button", name="기억 가져오기").click()
    expect(panel).to_contain_text("이 파일은 기억을 내보낸 파일이 아닙니다: 이름과 값으로 된 객체가 아닙니다")
    page.reload()
    person.unfold(opened(person).get_by_text("내보내기·가져오기"))
    upload.set_input_files(tmp_path / "memory.json")
    panel.get_by_role("button", name="기억 가져오기").click()
    expect(panel).to_contain_text(re.compile("기억 \\d+개를 가져왔습니다"))
    expect(opened(visit(path=talked("ko")))).to_contain_text("여행 예산은 1,500,000원")


def test_the_app_has_nothing_to_complain_about(app: App) -> None:
    assert app.complaints() == []


def test_a_pin_says_so_shows_its_line_and_is_undone_below_its_answer(
    visit: Visit, talked: Callable[[str], str]
) -> None:
    person = visit(path=talked("ko"))
    panel = opened(person)
    panel.get_by_role("button", name="고정: 모든 대화가").last.click()
    expect(panel.get_by_text("고정했습니다. 이제 모든 대화가")).to_be_visible()
    pinned = panel.locator("[class*='st-key-statement-pinned']")
    expect(pinned).to_be_in_viewport()
    line = person.page.locator("[class*='st-key-memory-change-']").filter(has_text="고정함:")
    expect(line).to_contain_text("렌터카는 90,000원이야")
    line.get_by_role("button", name="되돌리기").click()
    expect(pinned).to_have_count(0)
    expect(line).to_have_count(0)


def test_everything_known_is_found_forgotten_and_brought_back_in_one_window(
    visit: Visit, talked: Callable[[str], str]
) -> None:
    person = visit(path=talked("en"), locale="en-US")
    panel = opened(person)
    panel.get_by_label("A fact to keep").fill("I am allergic to nuts")
    panel.get_by_role("button", name="Pin", exact=True).click()
    expect(panel.get_by_text("Pinned: every chat knows it")).to_be_visible()
    panel.get_by_role("button", name="Everything known about me").click()
    window = person.page.get_by_role("dialog")
    expect(window).to_contain_text("I am allergic to nuts")
    expect(window).to_contain_text("My budget is 1500 dollars")
    window.get_by_label("Search memory").fill("NUTS")
    window.get_by_label("Search memory").press("Enter")
    expect(window).not_to_contain_text("My budget is 1500 dollars")
    expect(window).to_contain_text("I am allergic to nuts")
    assert violations(person.page) == []
    window.locator("[class*='st-key-known-forget-'] button").first.click()
    expect(window).to_contain_text("Nothing in memory has these words.")
    person.unfold(window.get_by_text("Forgotten lately"))
    window.get_by_role("button", name="Undo").first.click()
    expect(window).to_contain_text("It is remembered again.")
    expect(window.locator("[class*='st-key-known-change-']")).to_have_count(1)


def test_an_update_waits_for_the_yes_and_shows_what_it_changes(visit: Visit, talked: Callable[[str], str]) -> None:
    talked("en")  # so that there is a memory to ask about
    person = visit(locale="en-US")
    panel = opened(person)
    first = panel.get_by_text("Ask me before memory is updated")
    first.click()
    expect(panel.get_by_role("switch", name="Ask me before memory is updated")).to_be_checked()
    for number, text in enumerate(SAID_EN, 1):
        person.ask(text, number)
    waits = person.page.locator("[data-testid=stHorizontalBlock][class*='st-key-memory-change-6']")
    expect(waits).to_contain_text("May this go into memory: turns 1-5?")
    waits.get_by_role("button", name="See what changes").click()
    window = person.page.get_by_role("dialog")
    expect(window.locator("ins").filter(has_text="The hotel is 360 dollars")).to_be_visible()
    window.get_by_role("button", name="Remember it").click()
    expect(window).to_be_hidden()
    expect(waits).to_contain_text("Taken into this chat's memory: turns 1-5")
    expect(opened(person)).to_contain_text("M1 ·")
    first.click()
    expect(panel.get_by_role("switch", name="Ask me before memory is updated")).not_to_be_checked()
