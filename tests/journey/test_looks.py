"""How the page stands: what stays where it is, what stays in sight, and what is refused beside the input."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.journey.application import LASTING, App
from tests.journey.conftest import Visit
from tests.journey.test_images import attach, draw
from tests.journey.test_journey import GAPS
from tests.journey.test_reading import talked

pytestmark = pytest.mark.browser

LUMINANCE = """() => {
  const [red, green, blue] = getComputedStyle(document.querySelector("[data-testid=stDialog]")).backgroundColor
    .match(/[\\d.]+/g).map(Number);
  return Math.max(red, green, blue);
}"""


def middle(part: Locator) -> float:
    """How far below the top of the page the middle of a part is."""
    box = part.bounding_box()
    assert box is not None
    return box["y"] + box["height"] / 2


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_nothing_moves_when_stop_comes_and_all_stands_on_the_middle_line(visit: Visit, width: int, height: int) -> None:
    person = visit(width, height)
    person.ask("첫 질문에 짧게 답해줘", 1)
    field = person.page.get_by_test_id("stChatInput")
    before = field.bounding_box()
    person.say("아주 천천히 답해줘")
    stop = person.page.locator(".st-key-stop button").first
    expect(person.live).to_contain_text("도착하는")
    expect(stop).to_be_in_viewport()
    assert field.bounding_box() == before
    assert abs(middle(stop) - middle(field)) <= 2
    inside, box = stop.bounding_box(), field.bounding_box()
    assert inside is not None
    assert box is not None
    assert box["x"] < inside["x"]
    assert inside["x"] + inside["width"] < box["x"] + box["width"]
    stop.click()
    person.see(2)
    assert field.bounding_box() == before


def test_the_tabs_of_the_panel_stay_in_sight_and_older_summaries_are_folded(visit: Visit, app: App) -> None:
    person = visit(path=f"/?s={talked(app, 60, summaries=6)}")
    tabs = person.panel.get_by_role("tablist")
    expect(person.panel).to_contain_text("[16-18턴 요약]")
    expect(person.panel.get_by_text("[13-15턴 요약]")).to_be_hidden()
    saved = person.panel.locator(".st-key-panel-saved strong")
    expect(saved).to_have_text("70%")
    assert saved.evaluate("each => parseFloat(getComputedStyle(each).fontSize)") >= 30
    person.unfold(person.panel.get_by_text("앞선 요약 5개"))
    expect(person.panel.get_by_text("[13-15턴 요약]")).to_be_visible()
    person.panel.evaluate("each => each.scrollTo(0, each.scrollHeight)")
    expect(tabs).to_be_in_viewport(ratio=1)
    person.panel.get_by_role("tab", name="기억").click()
    expect(person.panel.get_by_role("tab", name="기억", selected=True)).to_be_visible()


def test_a_window_darkens_a_dark_page_and_a_phone_gives_answers_the_whole_width(visit: Visit) -> None:
    person = visit(390, 844, color_scheme="dark")
    person.ask("넓이를 볼 질문", 1)
    content = person.answer(1).get_by_test_id("stChatMessageContent").bounding_box()
    assert content is not None
    assert content["width"] >= 0.88 * 390
    person.page.get_by_role("button", name="요약 패널").click()
    expect(person.page.get_by_role("dialog")).to_be_visible()
    assert person.page.evaluate(LUMINANCE) <= 20


OVERLAPS = """() => {
  const found = [];
  for (const slider of document.querySelectorAll("[data-testid=stSlider]")) {
    const place = slider.closest(".st-key-rate") || slider;
    const walk = document.createTreeWalker(place, NodeFilter.SHOW_TEXT), boxes = [];
    while (walk.nextNode()) {
      const text = walk.currentNode, box = document.createRange();
      box.selectNodeContents(text);
      const { left, top, right, bottom, width } = box.getBoundingClientRect();
      const seen = text.parentElement.checkVisibility({ opacityProperty: true, visibilityProperty: true });
      if (text.data.trim() && width && seen)
        boxes.push({ text: text.data, left, top, right, bottom });
    }
    boxes.forEach((one, index) => boxes.slice(index + 1).forEach((other) => {
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (wide > 1 && high > 1) found.push(`${one.text} over ${other.text}`);
    }));
  }
  return found;
}"""
"""The texts of sliders, by their boxes, that lie over each other."""


@pytest.mark.parametrize("width", [1440, 390])
def test_no_words_of_a_slider_lie_over_each_other_wherever_it_stands(visit: Visit, app: App, width: int) -> None:
    person = visit(width, 900, path=f"/?s={talked(app, 6, summaries=2)}")
    if width > 1000:
        person.unfold(person.page.locator(".st-key-rate summary"))
        thumb = person.page.locator(".st-key-rate").get_by_role("slider")
        for key, value in (("Home", "0.1"), ("End", "0.5")):
            thumb.press(key)
            expect(thumb).to_have_value(value)
            expect(person.panel).to_contain_text(f"현재 압축률: {value}")
            assert person.page.evaluate(OVERLAPS) == []
        person.panel.get_by_role("button", name="원문과 비교·수정").first.click()
        window = person.page.get_by_role("dialog")
        expect(window.get_by_role("slider")).to_be_visible()
        window.get_by_role("slider").press("Home")
        expect(window.get_by_role("slider")).to_have_value("0.1")
        assert person.page.evaluate(OVERLAPS) == []
        person.page.keyboard.press("Escape")
        expect(window).to_have_count(0)
    else:
        person.page.get_by_role("button", name="사이드바 열기").click()
    person.page.get_by_role("button", name="설정", exact=True).click()
    window = person.page.get_by_role("dialog")
    window.get_by_role("tab", name="프롬프트").click()
    slider = window.get_by_role("slider").first
    slider.press("Home")
    expect(slider).to_have_value("0.1")
    assert person.page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("width", [1440, 390])
def test_the_images_of_a_turn_are_small_and_stand_below_its_question_within_the_page(visit: Visit, width: int) -> None:
    person = visit(width, 844, locale="en-US")
    for name in ("one.png", "two.png"):
        attach(person.page, name, draw("blue"))
        person.page.get_by_role("button", name="Send message").click()
        waiting = person.page.locator(".st-key-next-files [data-testid=stImage] img")
        expect(waiting.last).to_have_attribute("alt", name)
    person.ask("Which colour are they?", 1)
    shown = person.page.locator(".st-key-question-1 [data-testid=stImage] img")
    expect(shown).to_have_count(2)
    boxes = [each.bounding_box() for each in shown.all()]
    words = person.page.locator(".st-key-question-1").get_by_text("Which colour").bounding_box()
    assert words is not None
    for box in boxes:
        assert box is not None
        assert 0 < box["width"] <= 220
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= words["y"] or words["y"] + words["height"] <= box["y"]
    one, two = boxes
    assert one is not None
    assert two is not None
    assert one["x"] + one["width"] <= two["x"] or one["y"] + one["height"] <= two["y"]


def test_no_empty_band_stays_where_a_turn_has_failed(visit: Visit) -> None:
    person = visit()
    person.ask("첫 질문에 답해줘", 1)
    person.ask("실패를 보여줘", 2)
    assert max(person.page.evaluate(GAPS)) < 50
    person.ask("이번에는 답해줘", 3)
    assert max(person.page.evaluate(GAPS)) < 50
    expect(person.page.get_by_role("button", name="다시 시도")).to_have_count(0)


def test_after_a_reload_in_mid_answer_the_input_takes_the_next_message(visit: Visit, app: App) -> None:
    person = visit()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    person.page.reload()
    person.say("다시 연 뒤의 질문에 답해줘")  # waits for an input that can be written in, and for nothing else
    expect(person.page.get_by_text("전송 대기 중")).to_be_visible()
    expect(person.live).to_contain_text("도착하는")
    expect(person.input).to_have_value("")
    assert app.upstream is not None
    app.upstream.hurry()
    expect(person.see(2)).to_contain_text("다시 연 뒤의 질문")
    person.see_whole(1, LASTING)


def test_on_a_phone_the_tab_that_is_open_in_the_settings_is_in_sight_and_no_name_is_broken(visit: Visit) -> None:
    person = visit(390, 844, locale="en-US")
    person.page.get_by_test_id("stExpandSidebarButton").click()
    person.page.get_by_role("button", name="Settings", exact=True).click()
    window = person.page.get_by_role("dialog")
    for name in ("Documents", "Tools", "Installation"):
        window.get_by_role("tab", name=name).click()
        expect(window.get_by_role("tab", name=name, selected=True)).to_be_in_viewport(ratio=1)
    for variable in window.locator("code").all():
        box = variable.bounding_box()
        assert box is not None
        assert box["height"] < 30
