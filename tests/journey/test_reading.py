"""Reading: Markdown as it is meant, any turn of a long conversation, a phone, the keyboard, the theme."""

from __future__ import annotations

import re
import threading
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from component.chat.minimap import MOST
from store import Finished, Store
from tests.journey.application import App
from tests.journey.axe import still, violations
from tests.journey.conftest import Visit

pytestmark = pytest.mark.browser

TURNS = 1000


def store(app: App) -> Store:
    return Store(f"sqlite:///{app.log.parent / 'data' / 'gieok.db'}")


def talked(app: App, turns: int, summaries: int = 0) -> str:
    """A conversation of that many turns, with summaries of the first chunks; returns its id."""
    held = store(app)
    session = held.create_session("ko", 0.3).id
    for number in range(1, turns + 1):
        held.begin_turn(session, f"{number}번째 질문은 표지{number:04}입니다")
        held.finish_turn(session, number, Finished("done", answer=f"{number}번째 답입니다."))
    for first in range(1, 3 * summaries, 3):
        turned = [first, first + 1, first + 2]
        record = {"thread_id": session, "turns": turned, "turn_length": 3, "original_chars": 300, "summary_chars": 90}
        record |= {"compression_rate": 0.3, "summary": f"{first}턴부터의 요약"}
        held.ledger.add(session, turned, 0.3, "active", record=record)
    held.close()
    return session


def test_the_map_of_a_long_chat_goes_to_its_turns(visit: Visit, app: App, tmp_path: Path) -> None:
    session = talked(app, 60)
    person = visit(path=f"/?s={session}", locale="en-US")
    marks = person.page.get_by_role("navigation", name="Map of this chat").get_by_role("button")
    expect(marks.last).to_be_visible()
    sizes = marks.evaluate_all(
        "all => all.map((mark) => mark.getBoundingClientRect()).map((box) => [box.width, box.height])"
    )
    assert all(side >= 24 for size in sizes for side in size), "a finger meets each"
    assert 20 <= len(sizes) <= MOST
    box = person.page.locator(".gieok-map").bounding_box()
    assert box is not None
    assert 24 * len(sizes) <= box["height"]
    expect(marks.last).to_have_attribute("aria-current", "true")
    expect(marks.nth(3)).not_to_have_attribute("aria-current", "true")
    marks.nth(3).hover()
    about = marks.nth(3).evaluate("mark => getComputedStyle(mark, '::before').content")
    assert "Turn" in about
    assert "번째 질문은" in about
    still(person.page)
    person.page.screenshot(path=tmp_path / "map-en.png")
    assert violations(person.page) == []
    marks.nth(3).click()
    expect(marks.nth(3)).to_have_attribute("aria-current", "true")
    expect(marks.last).not_to_have_attribute("aria-current", "true")
    marks.nth(3).press("Home")
    expect(marks.first).to_be_focused()
    person.page.keyboard.press("Enter")
    expect(marks.first).to_have_attribute("aria-current", "true")
    expect(person.page.locator(".st-key-question-1")).to_be_in_viewport()
    person.page.set_viewport_size({"width": 390, "height": 844})
    expect(marks.first).to_be_hidden()


def test_the_first_and_a_middle_turn_are_deleted_and_come_back(visit: Visit, app: App, tmp_path: Path) -> None:
    session = talked(app, 6)
    person = visit(path=f"/?s={session}")
    page = person.page

    def asked(count: int) -> list[str]:
        expect(page.locator('[class*="st-key-answer-"]')).to_have_count(count)
        with closing(store(app)) as held:
            return [turn.question[0] for turn in held.turns(session)]

    menu = page.locator(".st-key-more-1 button")
    menu.focus()
    page.keyboard.press("Enter")
    item = page.get_by_role("menuitem", name="이 턴만 지우기")
    expect(item).to_be_visible()
    assert violations(page) == []
    item.press("Enter")
    expect(page.locator(".st-key-removed")).to_contain_text("1번째 턴을 지웠습니다")
    expect(page.locator(".st-key-question-1")).to_contain_text("2번째 질문은")
    assert asked(5) == ["2", "3", "4", "5", "6"]
    still(page)
    page.screenshot(path=tmp_path / "removed.png")
    assert violations(page) == []
    page.keyboard.press("Control+k")
    page.keyboard.type("턴 3")
    expect(page.get_by_role("option").first).to_contain_text(
        "3번째 턴으로 이동"
    )  # Enter never deletes by a mere number
    page.keyboard.press("Control+a")
    page.keyboard.type("지우기 3")
    expect(page.get_by_role("option").first).to_contain_text("3번째 턴만 지우기")
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-removed")).to_contain_text("3번째 턴을 지웠습니다")
    assert asked(4) == ["2", "3", "5", "6"]
    page.reload()
    expect(page.locator(".st-key-question-3")).to_contain_text("5번째 질문은")
    assert asked(4) == ["2", "3", "5", "6"]
    page.locator(".st-key-earlier-3 button").first.click()  # the other one stands for phones
    expect(page.locator(".st-key-question-3")).to_contain_text("4번째 질문은")
    assert asked(5) == ["2", "3", "4", "5", "6"]
    page.locator(".st-key-earlier-1 button").first.click()  # the other one stands for phones
    expect(page.locator(".st-key-question-1")).to_contain_text("1번째 질문은")
    assert asked(6) == ["1", "2", "3", "4", "5", "6"]


def test_markdown_is_shown_as_it_is_meant(visit: Visit) -> None:
    answer = visit().ask("마크다운을 보여줘", 1)
    expect(answer.locator("strong", has_text="압축률(0.3)")).to_be_visible()
    expect(answer.locator("strong", has_text="“공개 문서”")).to_be_visible()
    expect(answer).to_contain_text("10~20개, 30~40개")
    expect(answer.locator("del")).to_have_count(0)
    assert "**" not in "".join(answer.locator("p, td").all_inner_texts())
    expect(answer.locator("table tbody tr")).to_have_count(2)
    expect(answer.locator("pre code").first).to_contain_text('print("**그대로** 10~20")')
    expect(answer.locator(".katex").first).to_be_visible()
    expect(answer).to_contain_text("$5에서 $10")
    expect(answer.locator("ol > li")).to_have_count(2)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_wide_table_and_long_code_scroll_by_themselves(visit: Visit, width: int, height: int) -> None:
    person = visit(width, height)
    person.ask("넓은 표를 보여줘", 1)
    answer = person.answer(1)
    expect(answer.locator("table")).to_have_count(1)  # the growing answer has gone
    beyond, end = "box => box.scrollWidth - box.clientWidth", "box => { box.scrollLeft = box.scrollWidth; }"
    for box, last in ((answer.locator("table"), answer.locator("td").last), (answer.locator("pre"), None)):
        assert box.evaluate(beyond) > 0
        box.evaluate(end)
        if last is not None:
            expect(last).to_be_in_viewport(ratio=0.9)
        assert box.evaluate("box => box.scrollLeft") > 0
        expect(box).to_have_attribute("tabindex", "0")
    assert person.page.locator("[class*='st-key-chat-']").evaluate(beyond) <= 0
    assert violations(person.page) == []


def test_a_search_goes_to_an_early_turn_of_a_long_conversation_and_back(visit: Visit, app: App) -> None:
    session = talked(app, TURNS)
    person = visit(path=f"/?s={session}")
    expect(person.page.locator(f".st-key-question-{TURNS}")).to_be_visible()
    expect(person.input).to_be_focused()  # the page hears its keys by now
    person.page.keyboard.press("Control+k")
    person.page.keyboard.type("표지0007입니다")
    person.page.keyboard.press("Enter")
    person.page.locator(".gieok-list .hit").first.click()
    expect(person.page.locator(".st-key-question-7")).to_be_in_viewport()
    expect(person.page.locator("[class*='st-key-question-']")).to_have_count(20)
    person.page.mouse.wheel(0, 10)  # a reader who moves is not brought back to the question that was found
    person.page.get_by_role("button", name="다음 대화 더 보기").click()
    expect(person.page.locator("[class*='st-key-question-']")).to_have_count(40)
    back = person.page.get_by_role("button", name="최근 대화로")
    expect(back).to_have_count(1)  # while the page is drawn anew the old one stands there too
    back.click()
    expect(person.page.locator(f".st-key-question-{TURNS}")).to_be_visible()


def test_a_message_sent_from_an_early_turn_leads_back_to_the_end(visit: Visit, app: App) -> None:
    session = talked(app, 60, summaries=2)
    person = visit(path=f"/?s={session}")
    person.unfold(person.panel.get_by_text("앞선 요약"))
    person.panel.get_by_role("button", name="대화에서 보기").last.click()  # the newest summary stands first
    expect(person.page.locator(".st-key-question-1")).to_be_in_viewport()
    expect(person.page.locator(".st-key-question-60")).to_have_count(0)
    person.ask("이제 이어서 물어봅니다", 61)
    expect(person.page.locator(".st-key-question-60")).to_be_visible()


def test_another_answer_to_an_early_question_grows_in_sight(visit: Visit, app: App) -> None:
    person = visit(path=f"/?s={talked(app, 60)}")
    person.page.get_by_label("턴으로 이동").first.fill("20")
    person.page.keyboard.press("Enter")
    expect(person.answer(20)).to_be_in_viewport()
    person.page.locator(".st-key-more-20 button").click()
    person.page.get_by_text("질문 고치기").first.click()
    person.page.get_by_role("textbox", name="질문 고치기").fill("아주 천천히 답해줘")
    person.page.locator(".st-key-edit-send button").click()
    expect(person.live.get_by_text("도착하는").last).to_be_in_viewport()  # of a long text every piece has the word
    person.page.get_by_role("button", name="중지").click()
    expect(person.see(20)).to_be_in_viewport()


def test_on_a_phone_the_drawer_leads_to_a_summary_and_to_its_turns(visit: Visit, app: App) -> None:
    session = talked(app, 60, summaries=2)
    person = visit(390, 844, path=f"/?s={session}")
    dialog = person.page.get_by_role("dialog")
    person.page.get_by_role("button", name="요약 패널").click()
    person.unfold(dialog.get_by_text("앞선 요약"))
    dialog.get_by_role("button", name="원문과 비교·수정").last.click()
    expect(dialog).to_contain_text("표지0001입니다")
    expect(dialog.get_by_role("button", name="이 압축률로 다시 요약")).to_be_visible()
    person.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    person.page.get_by_role("button", name="요약 패널").click()
    person.unfold(dialog.get_by_text("앞선 요약"))
    dialog.get_by_role("button", name="대화에서 보기").last.click()
    expect(dialog).to_be_hidden()
    expect(person.page.locator(".st-key-question-1")).to_be_in_viewport()


def test_on_a_phone_the_versions_of_an_answer_can_be_reached(visit: Visit) -> None:
    person = visit(390, 844)
    person.ask("두 번 답할 질문입니다", 1)
    person.page.get_by_role("button", name="다시 답변").click()
    expect(person.see(1)).to_contain_text("2/2")
    person.page.get_by_role("button", name="이전 버전").click()
    expect(person.answer(1)).to_contain_text("1/2")


def test_shift_and_enter_make_a_new_line(visit: Visit) -> None:
    person = visit()
    person.input.focus()
    person.page.keyboard.type("첫 줄")
    person.page.keyboard.press("Shift+Enter")
    person.page.keyboard.type("둘째 줄")
    person.page.keyboard.press("Enter")
    person.see(1)
    assert person.page.locator(".st-key-question-1 [data-testid=stText]").inner_text() == "첫 줄\n둘째 줄"


@pytest.mark.usefixtures("own_settings")
def test_the_theme_changes_by_keyboard_without_losing_the_page(visit: Visit) -> None:
    person = visit()
    person.ask("밝기를 바꿔도 남아 있는 질문", 1)
    button = person.page.get_by_role("button", name="설정", exact=True)
    button.press("Enter")
    dialog = person.page.get_by_role("dialog")
    dialog.get_by_role("tab", name="화면").click()
    system = dialog.get_by_role("radio", name="시스템 설정")
    expect(system).to_have_attribute("aria-checked", "true")
    system.press("ArrowLeft")
    expect(dialog.get_by_role("radio", name="어둡게")).to_have_attribute("aria-checked", "true")
    expect(person.page.locator("html")).to_have_css("color-scheme", "dark")
    person.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(person.answer(1)).to_contain_text("밝기를 바꿔도")
    other = visit(own=True)
    expect(other.page.locator("html")).to_have_css("color-scheme", "dark")  # kept for the user, not in the browser
    other.page.get_by_role("button", name="설정", exact=True).click()
    other.page.get_by_role("dialog").get_by_role("tab", name="화면").click()
    other.page.get_by_role("dialog").get_by_role("radio", name="시스템 설정").click()
    expect(other.page.locator("html")).to_have_css("color-scheme", "light")


def test_escape_closes_a_window_whose_focused_part_was_drawn_anew(visit: Visit) -> None:
    page = visit().page
    page.get_by_role("button", name="설정", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_escape_while_a_page_run_draws_the_window_anew_closes_it_all_the_same(visit: Visit) -> None:
    """Streamlit shows no window from the begin of a page run until that run has drawn it."""
    sockets, held, holding = list[WebSocketRoute](), list[str | bytes](), threading.Event()

    def pass_on(message: str | bytes) -> None:
        assert isinstance(message, bytes)
        if held or (holding.is_set() and ForwardMsg.FromString(message).WhichOneof("type") == "delta"):
            held.append(message)
        else:
            sockets[-1].send(message)

    def connect(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.connect_to_server().on_message(pass_on)

    person = visit(own=True)
    page = person.page
    page.route_web_socket(re.compile("/_stcore/stream"), connect)
    person.open()
    page.get_by_role("button", name="설정", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    still(page)
    holding.set()  # from here on the browser hears only that a run of the page has begun
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("r")
    expect(dialog).to_be_hidden()
    page.keyboard.press("Escape")
    holding.clear()
    while held:
        sockets[-1].send(held.pop(0))
    still(page)
    expect(dialog).to_be_hidden()


@pytest.mark.usefixtures("own_settings")
def test_escape_in_a_field_that_was_changed_takes_it_over_and_closes_the_window_only_then(visit: Visit) -> None:
    page = visit().page
    page.get_by_role("button", name="설정", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("tab", name="프롬프트").click()
    field = dialog.get_by_role("spinbutton", name="대화 요약")
    expect(field).to_have_value("12000")
    field.fill("900")
    field.press("Escape")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("button", name="기본값으로 되돌리기")).to_be_enabled()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="설정", exact=True).click()
    dialog.get_by_role("tab", name="프롬프트").click()
    expect(field).to_have_value("900")
    field.focus()
    page.keyboard.press("Escape")  # nothing was written
    expect(dialog).to_be_hidden()


@pytest.mark.usefixtures("own_settings")
def test_budgets_are_kept_found_by_the_search_and_given_back(visit: Visit) -> None:
    person = visit(390, 844)
    person.page.get_by_role("button", name="사이드바 열기").click()
    person.page.get_by_role("button", name="설정", exact=True).click()
    dialog = person.page.get_by_role("dialog")
    dialog.get_by_role("tab", name="프롬프트").click()
    field, back = (
        dialog.get_by_role("spinbutton", name="대화 요약"),
        dialog.get_by_role("button", name="기본값으로 되돌리기"),
    )
    expect(field).to_have_value("12000")
    field.fill("900")
    field.press("Enter")
    expect(back).to_be_enabled()
    person.page.reload()  # the sidebar stays open
    person.page.get_by_role("button", name="설정", exact=True).click()
    dialog.get_by_role("textbox", name="설정 검색").fill("오래된 요약")
    dialog.get_by_role("textbox", name="설정 검색").press("Enter")
    expect(field).to_have_value("900")
    back.click()
    expect(field).to_have_value("12000")
    assert person.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
