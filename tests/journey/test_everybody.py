"""The page for everybody: with the keyboard alone, enlarged, without movement, and as axe reads it in every place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from component.page.catalogue import Language, Words
from tests.journey.application import App, Person, answer, started
from tests.journey.axe import set_scheme, still, violations, violations_by_scheme
from tests.journey.conftest import Visit
from tests.journey.test_documents import begun
from tests.journey.test_journey import press
from tests.journey.test_reading import store, talked
from tests.stub.upstream import Upstream

pytestmark = pytest.mark.browser

EVERY = ("minor", "moderate", "serious", "critical")
LOCALES: dict[Language, str] = {"ko": "ko-KR", "en": "en-US"}
OUTSIDE = """() => [...document.querySelectorAll("button, a, textarea, input, [role=tab]")]
  .filter((each) => each.checkVisibility() && !each.closest("[data-testid=stSidebar], .gieok-list"))
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && (box.left < -1 || box.right > innerWidth + 1))
  .map(([each]) => each.outerHTML.slice(0, 120))"""
MOVING = """() => [...document.querySelectorAll("*")].map((each) => getComputedStyle(each))
  .filter((style) => [style.transitionDuration, style.animationDuration].join()
    .split(",").some((each) => parseFloat(each) > 0.01)).length"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with documents and memory, and a conversation with summaries."""
    with Upstream(always=answer) as upstream:
        settings = {"OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "x", "GIEOK_MODEL_RETRIES": "0"}
        settings |= {"GIEOK_TITLES": "false", "GIEOK_RETRIEVAL": "true", "GIEOK_MEMORY": "true"}
        folder = tmp_path_factory.mktemp("app")
        begun(folder / "data")
        with started(folder, **settings) as running:
            held = store(running)
            held.rename_session(talked(running, 12, summaries=3), "Summaries")
            held.close()
            yield replace(running, upstream=upstream)


def test_a_tour_with_the_keyboard_alone(visit: Visit) -> None:
    """Send, stop, edit, branch, search, delete, settings, panel, a story: no mouse, and the cursor is where it is
    needed."""
    person = visit()
    page, keys, dialog = person.page, person.page.keyboard, person.page.get_by_role("dialog")
    rows = page.locator(".gieok-list .row")
    person.input.focus()
    keys.type("아주 천천히 답해줘")
    keys.press("Enter")
    expect(person.live).to_contain_text("도착하는")
    keys.press("Escape")
    expect(person.see(1)).to_contain_text("중지함")
    expect(person.input).to_be_focused()
    keys.press("ArrowUp")
    expect(page.get_by_role("textbox", name="질문 고치기")).to_be_focused()
    keys.press("ControlOrMeta+a")
    keys.type("여우를 만난 이야기")
    press(person, page.locator(".st-key-edit-send button"))
    expect(person.answer(1)).to_contain_text("2/2")
    expect(person.live).to_have_count(0)
    before = rows.count()
    keys.press("Control+k")
    keys.type("여기서 새 대화로 분기")
    keys.press("Enter")
    expect(rows).to_have_count(before + 1)
    keys.press("Control+k")
    keys.type("대화 검색")
    keys.press("Enter")
    search = page.get_by_label("대화 검색")
    expect(search).to_be_focused()
    keys.type("여우를")
    expect(page.locator(".gieok-list .hit").first).to_be_visible()
    keys.press("Enter")
    expect(person.answer(1)).to_be_visible()
    keys.press("Control+k")
    keys.type("삭제")
    keys.press("Enter")
    expect(dialog).to_contain_text("삭제할까요?")
    press(person, dialog.locator(".st-key-delete-go button"))
    expect(dialog).to_have_count(0)
    press(person, page.get_by_role("button", name="설정", exact=True))
    expect(dialog).to_be_visible()
    press(person, dialog.get_by_role("tab", name="모델"), "ArrowRight")
    expect(dialog.get_by_role("tab", name="이 대화", selected=True)).to_be_focused()
    keys.press("Escape")
    expect(dialog).to_have_count(0)
    press(person, person.panel.get_by_role("tab", name="요약"), "ArrowRight")
    expect(person.panel.get_by_role("tab", name="기억", selected=True)).to_be_focused()
    keys.press("Control+k")
    keys.type("이야기 세계")
    keys.press("Enter")
    press(person, page.get_by_role("button", name="준비된 이야기 시작하기"))
    expect(person.answer(0)).to_contain_text("저녁 안개가 검은 강을 덮는다")
    press(person, person.input, "End")
    keys.type("첫 장면을 보여 줘")
    keys.press("Enter")
    expect(person.see(1)).to_contain_text("회색 여우가 계단 위에서")
    expect(person.input).to_be_focused()
    press(person, person.panel.get_by_role("tab", selected=True), "ArrowRight")
    expect(person.panel.get_by_role("tab", selected=True)).to_be_focused()
    expect(person.panel.get_by_role("tab").nth(1)).to_have_attribute("aria-selected", "true")


PLACES = ("[data-testid=stSidebar]", ".st-key-header", "[class*=st-key-chat-]", ".st-key-composer", ".st-key-panel")
"""The parts of the page as the eye goes: from the left to the right, and in the middle from the top to the bottom."""
PLACE = "(places) => places.find((place) => document.activeElement.closest(place)) ?? null"
CORNER = "(part) => { const box = part.getBoundingClientRect(); return [box.left, box.top]; }"


def test_the_cursor_goes_through_the_page_as_the_eye_does(visit: Visit) -> None:
    person = visit()
    page = person.page
    person.ask("커서가 지나갈 질문입니다", 1)
    left, top = zip(*(page.locator(place).first.evaluate(CORNER) for place in PLACES), strict=True)
    assert left[0] < left[1] <= left[2] <= left[3] < left[4]
    assert top[1] < top[2] < top[3]
    expect(person.input).to_be_focused()
    went = [PLACES[3]]
    for _ in range(200):
        page.keyboard.press("Tab")
        place = page.evaluate(PLACE, PLACES)
        went += [place] if place not in (went[-1], None) else []
        if len(went) > 1 and went[-1] == went[0]:
            break
    assert went == [*PLACES[3:], *PLACES[:4]]


@pytest.mark.parametrize("language", ["ko", "en"])
def test_at_twice_the_size_everything_is_there_and_nothing_stands_outside(visit: Visit, language: Language) -> None:
    words, person = Words(language), visit(720, 450, locale=LOCALES[language], ready="")  # 1440 x 900 at 200 %
    expect(person.page.get_by_test_id("stChatInput")).to_be_in_viewport(ratio=1)
    person.ask("마크다운을 보여줘", 1)
    assert person.page.evaluate(OUTSIDE) == []
    expect(person.page.get_by_test_id("stChatInput")).to_be_in_viewport(ratio=1)
    person.page.get_by_role("button", name=words("panel.open"), exact=True).click()
    expect(person.page.get_by_role("dialog")).to_contain_text(words("panel.none")[:12])
    still(person.page)  # the drawer slides in
    assert person.page.evaluate(OUTSIDE) == []


def test_nothing_moves_for_who_wants_no_movement(visit: Visit) -> None:
    person = visit(own=True, reduced_motion="reduce")
    person.ask("움직이지 않는 화면", 1)
    assert person.page.evaluate(MOVING) == 0


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("part", ["chat", "list", "panel", "windows"])
def test_axe_finds_nothing_at_all_in_any_place_of_the_page(visit: Visit, language: Language, part: str) -> None:
    person = visit(locale=LOCALES[language], ready="")
    checked = [_check(person.page, name, language) for name in PARTS[part](person, Words(language))]
    assert len(checked) == {"chat": 5, "list": 4, "panel": 5, "windows": 10}[part]


def _check(page: Page, place: str, language: Language) -> str:
    """Nothing that axe knows of is wrong here. A scheme changes colours alone, and a language all but them."""
    page.mouse.move(0, 0)  # Streamlit draws the tip of what the mouse is over outside every landmark
    expect(page.get_by_role("tooltip")).to_have_count(0)
    if language == "ko":
        found = violations_by_scheme(page, EVERY)
    else:
        set_scheme(page, "light")
        found = violations(page, EVERY, "form")
    assert found == [], f"{place}: {json.dumps(found, ensure_ascii=False, indent=1)}"
    return place


def _chat_places(person: Person, words: Words) -> Iterator[str]:
    """Goes from place to place, and says where it is."""
    yield "first look"
    for number, question in enumerate(("15 곱하기 24를 계산해줘", "마크다운을 보여줘", "실패를 보여줘"), 1):
        person.ask(question, number)
        yield question
    person.page.get_by_role("button", name=words("turn.more"), exact=True).first.click()
    expect(person.page.get_by_role("menuitem").first).to_be_visible()
    yield "menu of an answer"


def _list_places(person: Person, words: Words) -> Iterator[str]:
    page, row = person.page, person.page.locator(".gieok-list .row", has_text="Summaries")
    row.hover()
    row.locator(".kebab").click()
    expect(page.get_by_role("menuitem").first).to_be_focused()
    yield "menu of a row"
    page.keyboard.press("Escape")
    page.get_by_role("button", name=words("session.select")).click()
    yield "selection"
    page.get_by_role("button", name=words("session.select.done")).click()
    page.locator(".gieok-list .search").fill("표지0001")
    expect(page.locator(".gieok-list .hit").first).to_be_visible()
    yield "search"
    page.locator(".gieok-list .search").fill("")
    expect(page.locator(".gieok-list .hit")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_be_visible()
    yield "palette"


def _panel_places(person: Person, words: Words) -> Iterator[str]:
    person.page.locator(".gieok-list .row", has_text="Summaries").locator(".open").click()
    expect(person.answer(12)).to_be_visible()
    person.unfold(person.panel.locator(".st-key-panel-history summary"))
    person.unfold(person.panel.locator(".st-key-prompt-folded summary"))
    for name in ("summaries", "memory", "context", "trace", "evaluation"):
        person.panel.get_by_role("tab", name=words(f"panel.tab.{name}")).click()
        expect(person.panel.get_by_role("tab", name=words(f"panel.tab.{name}"), selected=True)).to_be_visible()
        yield f"panel, {name}"


def _window_places(person: Person, words: Words) -> Iterator[str]:
    page, dialog = person.page, person.page.get_by_role("dialog")

    def shut() -> None:
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)

    for key in ("help.open", "usage.open", "session.import.open"):
        page.get_by_role("button", name=words(key), exact=True).first.click()
        expect(dialog).to_be_visible()
        yield key
        shut()
    page.locator(".st-key-model-open button").first.click()
    expect(dialog).to_be_visible()
    yield "model"
    shut()
    page.get_by_role("button", name=words("options.open"), exact=True).first.click()
    for name in ("models", "chat", "look", "context", "memory"):
        label = words(f"options.tab.{name}")
        dialog.get_by_role("tab", name=label, exact=True).click()
        expect(dialog.get_by_role("tab", name=label, exact=True, selected=True)).to_be_visible()
        yield f"settings, {name}"
    shut()
    page.locator(".st-key-documents-open button").first.click()
    expect(page.locator(".st-key-documents")).to_be_visible()
    yield "documents"


PARTS: dict[str, Callable[[Person, Words], Iterator[str]]] = {
    "chat": _chat_places,
    "list": _list_places,
    "panel": _panel_places,
    "windows": _window_places,
}
