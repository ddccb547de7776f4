"""How the page stands: what stays where it is, what stays in sight, and what is refused beside the input."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.journey.application import App
from tests.journey.conftest import Visit
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
