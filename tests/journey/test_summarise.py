"""What a person does with summaries of their own accord, in a real browser: now instead of later, never, at another
rate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from tests.journey.application import PAUSE_MESSAGES, SLOW
from tests.journey.axe import violations
from tests.journey.conftest import Visit
from tests.wait import until

if TYPE_CHECKING:
    from tests.journey.application import App, Person

pytestmark = pytest.mark.browser

SAID = (
    "첫째로, 여행 예산은 500,000원이고 인원은 4명이야",
    "둘째로, 출발은 3월 5일 부산이고 도착은 제주야",
    "셋째로, 숙소는 사흘 동안 270,000원이야",
    "넷째로, 송장 번호는 INV-20418이고 항공권은 180,000원이야",
    "다섯째로, 렌터카는 하루 45,000원이고 보험은 별도야",
)
OPEN = "지금 요약하기"


def talk(person: Person, turns: int = 5) -> None:
    for number, text in enumerate(SAID[:turns], 1):
        person.ask(text, number)


def choose_below(person: Person, number: int, action: str) -> None:
    """Chooses an action of the menu below an answer."""
    person.page.locator(f".st-key-more-{number} button").first.click()
    person.page.get_by_text(re.compile(action)).last.click()


def opened(person: Person) -> Locator:
    window = person.page.get_by_role("dialog")
    expect(window).to_contain_text("먼저 글을 보여 드리고")
    return window


def write(window: Locator, hint: str) -> None:
    window.get_by_label("무엇을 꼭 남길까요?").fill(hint)
    window.get_by_role("button", name="요약 써 보기").click()
    expect(window.get_by_role("button", name="이 요약 쓰기")).to_be_visible()


def test_the_turns_without_a_summary_are_summarised_at_once_after_a_look_at_the_text(visit: Visit) -> None:
    person = visit()
    talk(person)
    expect(person.panel).to_contain_text("[1-3턴 요약]")
    person.panel.get_by_role("button", name=OPEN).click()
    window = opened(person)
    expect(window).to_contain_text("4-5턴")
    write(window, "송장 번호를 남겨 줘")
    expect(window).to_contain_text(re.compile(r"프롬프트마다 \d+ → \d+토큰"))
    expect(window).to_contain_text("INV-20418")
    assert violations(person.page) == []
    window.get_by_role("button", name="이 요약 쓰기").click()
    expect(window).to_be_hidden()
    expect(person.panel).to_contain_text("4-5턴을 요약했습니다.")
    cards = person.panel.locator(".st-key-panel-history").get_by_text(re.compile(r"^\[\d.*요약\]"))
    expect(cards).to_have_text([re.compile(r"\[4-5턴 요약\]"), re.compile(r"\[1-3턴 요약\]")])
    expect(person.panel).to_contain_text("바람: 송장 번호를 남겨 줘")
    expect(person.panel).to_contain_text("6-8턴의 요약은 9턴부터 사용합니다.")
    person.ask("여섯째로, 이제 일정표를 만들어줘", 6)
    person.panel.get_by_role("tab", name="컨텍스트").click()
    expect(person.panel).to_contain_text("1-3, 4-5")


def test_the_menus_of_the_chat_and_of_the_last_answer_open_it_too(visit: Visit) -> None:
    person = visit()
    talk(person, 2)
    person.choose(OPEN)
    expect(opened(person)).to_contain_text("1-2턴")
    person.page.keyboard.press("Escape")
    expect(person.page.get_by_role("dialog")).to_be_hidden()
    choose_below(person, 2, "여기까지 지금 요약하기")
    expect(opened(person)).to_contain_text("1-2턴")


def test_a_pinned_turn_says_what_it_costs_and_stays_in_the_prompt_until_it_is_unpinned(visit: Visit) -> None:
    person = visit()
    talk(person, 4)
    choose_below(person, 1, "프롬프트에 원문 그대로 두기")
    said = person.answer(1).get_by_text(re.compile(r"모든 프롬프트에 원문 그대로 들어갑니다 · \d+토큰"))
    expect(said).to_be_visible()
    expect(person.panel).to_contain_text("원문으로 두는 턴")
    expect(person.panel).to_contain_text("1턴은 고정해 두어 원문도 함께 들어갑니다.")
    person.ask(SAID[4], 5)
    person.panel.get_by_role("tab", name="컨텍스트").click()
    expect(person.panel).to_contain_text("고정한 턴")
    person.panel.get_by_role("tab", name="요약").click()
    person.panel.locator(".st-key-pinned-1-off button").first.click()
    expect(said).to_have_count(0)
    expect(person.panel).not_to_contain_text("원문으로 두는 턴")


def test_a_moved_slider_says_what_stays_and_makes_it_again(visit: Visit) -> None:
    person = visit()
    talk(person, 4)
    expect(person.panel).to_contain_text("[1-3턴 요약]")
    person.move_slider(3)
    expect(person.panel).to_contain_text("현재 압축률: 0.45")  # the page has drawn the last step
    others = person.page.locator(".st-key-rate-others")
    expect(others).to_contain_text("다음 요약부터 적용됩니다. 이미 만든 요약 1개(30%)는 그대로입니다.")
    others.get_by_role("button", name="비교").click()
    window = person.page.get_by_role("dialog")
    expect(window.get_by_role("combobox", name="답변 B")).to_have_value("요약 길이 45%")
    person.page.keyboard.press("Escape")
    expect(window).to_be_hidden()
    others.get_by_role("button", name="다시 만들기").click()
    expect(others).to_have_count(0)
    expect(person.panel).to_contain_text("(목표 45%)")


def test_a_hint_that_is_being_typed_outlives_the_summary_that_arrives_meanwhile(visit: Visit, app: App) -> None:
    person, (begin, end), upstream = visit(own=True), ("송장 번호와 ", "예산을 남겨 줘"), app.upstream
    assert upstream is not None
    person.page.add_init_script(PAUSE_MESSAGES)
    person.open()
    person.ask(f"아주 {SLOW} 첫째 이야기입니다", 1)
    person.choose(OPEN)
    window = opened(person)
    window.get_by_role("button", name="요약 써 보기").click()
    expect(window.get_by_role("button", name="중지")).to_be_visible()
    hint, use = window.get_by_label("무엇을 꼭 남길까요?"), window.get_by_role("button", name="이 요약 쓰기")
    hint.press_sequentially(begin)

    def is_written() -> bool:
        upstream.hurry()
        return use.is_visible()

    with person.keep_window():
        until(is_written)
        person.page.keyboard.type(end)  # into what has the focus
    expect(hint).to_have_value(begin + end)
