"""Story worlds in a browser: a newcomer plays the bundled story, asks for another answer, and goes back."""

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
    return person.page.locator("[class*='st-key-answer-w']")


def play(person: Person, text: str) -> None:
    """Plays a turn and waits until the page is quiet again."""
    before = answers(person).count()
    person.say(text)
    expect(answers(person)).to_have_count(before + 1)
    settled(person)


def settled(person: Person) -> None:
    expect(person.live).to_have_count(0)
    expect(person.input).to_be_enabled()


def act(person: Person, turn: int, name: str) -> None:
    """Presses a button under an answer; the beginning is turn 0."""
    answer = answers(person).nth(turn)
    answer.hover()
    answer.get_by_role("button", name=name, exact=True).click()


def sound(person: Person) -> None:
    """Nothing serious that axe knows of, and nothing wider than the screen."""
    found = violations(person.page)
    assert found == [], json.dumps(found, ensure_ascii=False, indent=1)
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "height", "scheme"), [(1440, 900, "light"), (390, 844, "dark")])
def test_a_newcomer_plays_the_bundled_story_and_goes_back(visit: Visit, width: int, height: int, scheme: str) -> None:
    person = visit(width, height, color_scheme=scheme)
    page = person.page
    if width < 640:
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
    expect(page.locator(".st-key-world-head")).to_contain_text("등불 탑")
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

    act(person, 1, "여기서부터 이어 가기")
    expect(answers(person)).to_have_count(2)
    page.get_by_role("button", name="마지막 턴으로").click()
    expect(answers(person)).to_have_count(3)
    page.reload()
    expect(answers(person)).to_have_count(3)

    if width < 640:
        page.get_by_role("button", name="세계 패널").click()
        expect(page.get_by_role("dialog")).to_contain_text("회색 여우")
        sound(person)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    else:
        expect(person.panel).to_contain_text("회색 여우")
    page.get_by_role("button", name="세계 목록").click()
    expect(page.locator(".st-key-world-rows")).to_contain_text(NAME)
    sound(person)
    assert person.app.complaints() == []
