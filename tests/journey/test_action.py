"""All actions by keyboard, the model of a chat, usage over time: in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.journey.application import Person
from tests.journey.axe import still, violations, violations_by_scheme, wait_until_calm
from tests.journey.conftest import Visit

pytestmark = pytest.mark.browser


def palette(person: Person) -> Locator:
    return person.page.get_by_role("dialog", name="모든 작업")


def test_the_palette_is_used_with_the_keyboard_alone(visit: Visit) -> None:
    person = visit()
    person.ask("팔레트를 열기 전 질문", 1)
    person.page.keyboard.press("Control+k")
    field = palette(person).get_by_role("combobox")
    expect(field).to_be_focused()
    options = palette(person).get_by_role("option")
    expect(options.first).to_have_attribute("aria-selected", "true")
    person.page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    assert field.get_attribute("aria-activedescendant") == options.nth(1).get_attribute("id")
    person.page.keyboard.type("사용량")
    expect(options.first).to_contain_text("사용량")
    person.page.keyboard.press("Enter")
    expect(palette(person)).to_be_hidden()
    expect(person.page.get_by_role("dialog", name="사용량")).to_be_visible()
    person.page.keyboard.press("Escape")
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    person.page.keyboard.press("Control+k")
    person.page.keyboard.press("Escape")
    expect(palette(person)).to_be_hidden()


def test_a_slash_in_the_empty_input_opens_it_and_is_not_lost(visit: Visit) -> None:
    person = visit()
    person.input.focus()
    person.page.keyboard.press("/")
    expect(palette(person).get_by_role("combobox")).to_be_focused()
    person.page.keyboard.type("tool 서버")
    person.page.keyboard.press("Escape")
    expect(palette(person)).to_be_hidden()
    expect(person.input).to_be_focused()
    expect(person.input).to_have_value("/tool 서버")
    person.page.keyboard.press("/")
    expect(person.input).to_have_value("/tool 서버/")
    expect(palette(person)).to_be_hidden()


def test_escape_in_the_palette_stops_no_answer(visit: Visit) -> None:
    person = visit()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    person.page.keyboard.press("Control+k")
    expect(palette(person)).to_be_visible()
    person.page.keyboard.press("Escape")
    expect(palette(person)).to_be_hidden()
    grown = len(person.live.inner_text())
    expect(person.live).to_have_text(re.compile(f".{{{grown + 10}}}", re.S))
    person.page.keyboard.press("Control+k")
    person.page.keyboard.type("중지")
    person.page.keyboard.press("Enter")
    expect(person.see(1)).to_contain_text("중지함")


@pytest.mark.parametrize("word", ["compact", "summarise", "요약"])
def test_the_summary_is_found_by_the_word_for_it(visit: Visit, word: str) -> None:
    person = visit()
    person.ask("요약할 대화", 1)
    person.input.focus()
    person.page.keyboard.press("/")
    person.page.keyboard.type(word)
    expect(palette(person).get_by_role("option").first).to_have_text(re.compile("지금 요약하기"))
    person.page.keyboard.press("Enter")
    expect(person.page.get_by_role("dialog", name="지금 요약하기")).to_be_visible()


def test_the_palette_copies_the_last_answer_and_opens_a_tab(visit: Visit) -> None:
    person = visit()
    person.ask("베껴 쓸 질문", 1)
    person.page.keyboard.press("Control+k")
    person.page.keyboard.type("답변 복사")
    person.page.keyboard.press("Enter")
    expect(person.page.locator(".st-key-actions-1 .gieok-copy")).to_have_text("check")
    person.page.keyboard.press("Control+k")
    person.page.keyboard.type("요약 패널: 컨텍스트")
    person.page.keyboard.press("Enter")
    expect(person.panel.get_by_role("tab", name="컨텍스트", selected=True)).to_be_visible()


def test_the_palette_moves_a_chat_into_a_new_folder(visit: Visit) -> None:
    person = visit()
    person.ask("새 폴더로 갈 대화", 1)
    person.page.keyboard.press("Control+k")
    person.page.keyboard.type("폴더로 이동")
    person.page.keyboard.press("Enter")
    dialog = person.page.get_by_role("dialog", name="폴더로 이동")
    field = dialog.get_by_role("combobox")
    field.fill("팔레트 폴더")
    person.page.keyboard.press("Enter")
    expect(field).to_have_attribute("aria-expanded", "false")
    expect(field).to_have_value("팔레트 폴더")
    dialog.get_by_role("button", name="저장").click()
    expect(dialog).to_be_hidden()
    expect(person.page.locator(".gieok-list")).to_contain_text("팔레트 폴더")


def test_words_of_the_palette_are_searched_in_the_chats(visit: Visit) -> None:
    person = visit()
    person.ask("해질녘 등대 이야기", 1)
    person.page.keyboard.press("Control+k")
    person.page.keyboard.type("해질녘")
    person.page.keyboard.press("Enter")
    expect(person.page.locator(".gieok-list .search")).to_have_value("해질녘")
    expect(person.page.locator(".gieok-list .hit").first).to_contain_text("해질녘 등대")


def test_the_model_of_one_chat_is_chosen_in_the_header(visit: Visit) -> None:
    person = visit()
    assert person.app.upstream is not None
    person.app.upstream.models = ("stub-model", "other-model")
    try:
        person.ask("다른 모델로 바꿀 대화", 1)
        person.page.locator(".st-key-model-open").get_by_role("button").click()
        dialog = person.page.get_by_role("dialog")
        choice = dialog.get_by_role("radio", name="other-model")
        expect(choice).to_be_attached()
        still(person.page)  # a list that is drawn anew loses the click
        choice.check(force=True)
        expect(dialog.get_by_role("radio", name="other-model")).to_be_checked()
        person.page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        button = person.page.locator(".st-key-model-open")
        expect(button).to_contain_text("other-model")
        person.ask("어느 모델이 답하나요", 2)
        assert person.app.upstream.requests[-1].body["model"] == "other-model"
        person.page.reload()
        expect(button).to_contain_text("other-model")
        person.page.locator(".st-key-new-chat button").click()
        expect(button).to_contain_text("stub-model")
    finally:
        person.app.upstream.models = ("stub-model",)


def test_usage_is_plotted_and_taken_along(visit: Visit, tmp_path: Path) -> None:
    person = visit()
    person.ask("사용량에 나올 질문", 1)
    person.page.get_by_role("button", name="사용량", exact=True).click()
    dialog = person.page.get_by_role("dialog", name="사용량")
    expect(dialog.locator("[data-testid=stVegaLiteChart] :is(canvas, svg)").first).to_be_visible()
    expect(dialog.get_by_role("table")).to_contain_text("stub-model")
    dialog.get_by_role("radio", name="대화", exact=True).click()
    expect(dialog.get_by_role("table")).to_contain_text("사용량에 나올 질문")
    with person.page.expect_download() as download:
        dialog.get_by_role("button", name="CSV로 내보내기").click()
    file = tmp_path / "usage.csv"
    download.value.save_as(file)
    assert "사용량에 나올 질문" in file.read_text("utf-8-sig")


def test_a_button_under_the_pointer_can_be_read(visit: Visit) -> None:
    person = visit()
    for place in (".st-key-open-options-window", ".st-key-open-usage", ".st-key-new-private"):
        person.page.locator(place).get_by_role("button").hover()
        assert violations_by_scheme(person.page) == []


def test_a_side_question_is_answered_over_the_page_and_leaves_the_chat_as_it_is(visit: Visit, tmp_path: Path) -> None:
    person = visit()
    person.ask("곁다리 앞의 질문", 1)
    person.input.focus()
    person.page.keyboard.press("/")
    expect(palette(person).get_by_role("combobox")).to_be_focused()
    person.page.keyboard.type("btw 천천히 알려 줘")
    expect(palette(person).get_by_role("option").first).to_have_text(re.compile("따로 묻기: 천천히 알려 줘"))
    person.page.keyboard.press("Enter")
    dialog = person.page.get_by_role("dialog", name="따로 묻기")
    expect(dialog).to_contain_text("천천히 도착하는")
    dialog.get_by_role("button", name="중지").click()
    expect(dialog.get_by_role("button", name="여기서 이어 가기")).to_be_visible()
    wait_until_calm(person.page)
    assert violations(person.page) == []
    person.page.screenshot(path=tmp_path / "side-light-ko.png")
    person.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(person.page.locator(".st-key-actions-2")).to_have_count(0)
    person.ask("그다음 질문", 2)
    assert person.app.upstream is not None
    assert "천천히 알려 줘" not in str(person.app.upstream.requests[-1].body)


def test_a_side_question_outlives_a_reload_and_becomes_a_turn_on_a_phone(visit: Visit, tmp_path: Path) -> None:
    person = visit(390, 844, locale="en-US", color_scheme="dark", ready="Model ready")
    person.ask("The question before", 1)
    person.say("/btw What does before mean?")
    dialog = person.page.get_by_role("dialog", name="Ask aside")
    expect(dialog.get_by_role("button", name="Go on from here")).to_be_visible()
    wait_until_calm(person.page)
    assert violations(person.page) == []
    person.page.screenshot(path=tmp_path / "side-dark-en.png")
    person.page.reload()
    line = person.page.locator(".st-key-side-line")
    expect(line).to_contain_text("still open")
    wait_until_calm(person.page)
    person.page.screenshot(path=tmp_path / "side-line-dark-en.png")
    line.get_by_role("button", name="Show").click()
    dialog.get_by_role("button", name="Go on from here").click()
    expect(dialog).to_be_hidden()
    expect(person.see(2)).to_contain_text("What does before mean?")
    expect(line).to_have_count(0)


def test_while_the_chat_answers_a_side_question_goes_back_into_the_input(visit: Visit) -> None:
    person = visit()
    person.ask("바쁘기 전의 질문", 1)
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    person.say("/btw 지금 물어도 돼?")
    expect(person.page.get_by_text("다른 메시지에 답하고 있습니다").first).to_be_visible()
    expect(person.input).to_have_value("/btw 지금 물어도 돼?")
    person.page.locator(".st-key-stop button").click()
    expect(person.see(2)).to_contain_text("중지함")
