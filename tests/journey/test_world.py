"""Stories in a browser: a newcomer plays the bundled story, asks for another answer, looks back, and finds it in the
list of conversations, with what can be done to every conversation."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.journey.application import Person
from tests.journey.axe import violations
from tests.journey.conftest import Visit

pytestmark = pytest.mark.browser
NAME = "안개 나루"


def answers(person: Person) -> Locator:
    return person.page.locator("[class*='st-key-answer-']")


def play(person: Person, text: str) -> None:
    """Plays a turn and waits until the page is quiet again."""
    before = answers(person).count()
    person.say(text)
    expect(answers(person)).to_have_count(before + 1)
    settled(person)


def settled(person: Person) -> None:
    expect(person.live).to_have_count(0)
    expect(person.page.locator(".st-key-stop")).to_have_count(0)
    expect(person.input).to_be_enabled()


def act(person: Person, turn: int, name: str) -> None:
    """Presses a button under an answer; the beginning is turn 0."""
    answer = person.page.locator(f".st-key-answer-{turn}")
    answer.hover()
    answer.get_by_role("button", name=name, exact=True).click()


def choose(person: Person, turn: int, name: str) -> None:
    """Chooses an action of the menu under an answer."""
    person.page.locator(f".st-key-answer-{turn}").hover()
    person.page.locator(f".st-key-more-{turn} button").first.click()
    person.page.get_by_text(name, exact=False).last.click()


def sound(person: Person) -> None:
    """Nothing serious that axe knows of, and nothing wider than the screen."""
    found = violations(person.page)
    assert found == [], json.dumps(found, ensure_ascii=False, indent=1)
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def open_panel(person: Person, is_narrow: bool) -> Locator:
    """Returns the panel of the story, on a phone as the drawer that it is there."""
    if not is_narrow:
        return person.panel
    person.page.get_by_role("button", name="세계 패널").click()
    return person.page.get_by_role("dialog")


def close_panel(person: Person, is_narrow: bool) -> None:
    if is_narrow:
        # a page run that goes on would draw the window again
        expect(person.page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
        person.page.keyboard.press("Escape")
        expect(person.page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize(("width", "height", "scheme"), [(1440, 900, "light"), (390, 844, "dark")])
def test_a_newcomer_plays_the_bundled_story_and_finds_it_in_the_list(
    visit: Visit, width: int, height: int, scheme: str
) -> None:
    person, is_narrow = visit(width, height, color_scheme=scheme), width < 640
    page = person.page
    if is_narrow:
        page.get_by_role("button", name="사이드바 열기").click()
    page.get_by_role("button", name="이야기 세계", exact=True).click()
    start = page.get_by_role("button", name="준비된 이야기 시작하기")
    expect(start).to_be_visible()
    sound(person)

    start.click()
    expect(answers(person)).to_have_count(1)
    expect(answers(person).first).to_contain_text("저녁 안개가 검은 강을 덮는다")
    play(person, "첫 장면을 보여 줘")
    expect(answers(person).last).to_contain_text("회색 여우가 계단 위에서")
    expect(answers(person).last).not_to_contain_text("npc_met")
    panel = open_panel(person, is_narrow)
    expect(panel).to_contain_text("등불 탑")
    expect(panel).to_contain_text("회색 여우")
    sound(person)
    close_panel(person, is_narrow)
    play(person, "다음 장면을 보여 줘")
    sound(person)

    second = answers(person).last.inner_text()
    act(person, 2, "다시 답변")
    expect(answers(person).last).to_contain_text("2/2")
    settled(person)
    expect(answers(person).last.get_by_text(re.compile(r"\d+번째 장면"))).not_to_have_text(second.split("\n")[0])
    act(person, 2, "이전 버전")
    expect(answers(person).last).to_contain_text("1/2")
    expect(answers(person).last).to_contain_text(second.split("\n")[0])

    choose(person, 1, "1번째 턴 뒤의 모습 보기")
    panel = open_panel(person, is_narrow)
    expect(panel).to_contain_text("1번째 턴 뒤의 모습입니다")
    panel.get_by_role("button", name="마지막 턴으로").click()
    expect(person.page.get_by_text("1번째 턴 뒤의 모습입니다")).to_have_count(0)
    close_panel(person, is_narrow)
    page.reload()
    expect(answers(person)).to_have_count(3)

    if is_narrow:
        page.get_by_role("button", name="사이드바 열기").click()
    row, rows = person.row(NAME), page.locator(".gieok-list .row", has_text=NAME)
    expect(row).to_be_visible()
    before = rows.count()  # another person's story of the same app may have its name
    person.choose("삭제", row)
    expect(rows).to_have_count(before - 1)
    page.get_by_role("button", name="되돌리기").click()
    expect(rows).to_have_count(before)
    assert person.app.complaints() == []
