"""What a person does with the page, in a real browser against a stub model."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, WebSocketRoute, expect

from bench.imported import exported
from tests.journey.application import LASTING, App, Person, answer
from tests.journey.axe import still, violations_by_scheme
from tests.journey.conftest import Visit
from tests.stub.reply import said
from tests.wait import until

pytestmark = pytest.mark.browser

SIZES = [(1440, 900), (1024, 768), (390, 844), (390, 480)]
MEASURE = """() => {
  const box = (s) => document.querySelector(s).getBoundingClientRect();
  const main = document.querySelector("[data-testid=stMain]");
  const chat = document.querySelector("[class*=st-key-chat-]");
  const told = (e) => [...e.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && /[가-힣]/.test(each.data));
  const korean = [...document.querySelectorAll("body *")].filter(told);
  return {
    bottom: box("[data-testid=stChatInput]").bottom, height: innerHeight,
    scroll: main.scrollHeight - main.clientHeight, width: document.documentElement.scrollWidth - innerWidth,
    chat: chat.clientHeight, across: chat.scrollWidth - chat.clientWidth,
    breaks: [...new Set(korean.map((each) => getComputedStyle(each).wordBreak))],
  };
}"""


def hurry(app: App) -> None:
    """Has the answer that comes very slowly come to its end at once."""
    assert app.upstream is not None
    app.upstream.hurry()


def test_an_answer_arrives_as_it_is_written_with_its_tool_steps(visit: Visit) -> None:
    person = visit()
    person.say("15 곱하기 24를 계산해줘")
    step = person.page.get_by_text("계산: 15*24")
    expect(step.first).to_be_visible()  # of the growing answer, then of the answer, for a moment of both
    expect(person.see(1)).to_contain_text("계산 결과는 15*24 = 360")
    step.click()
    expect(person.answer(1).get_by_text("15*24 = 360", exact=True)).to_be_visible()


def test_text_grows_while_it_arrives(visit: Visit) -> None:
    person = visit()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    first = len(person.live.inner_text())
    expect(person.live).to_have_text(re.compile(f".{{{first + 20}}}", re.S))
    person.page.keyboard.press("Escape")
    person.see(1)


def test_escape_stops_and_keeps_what_has_arrived(visit: Visit) -> None:
    person = visit()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    person.page.keyboard.press("Escape")
    answer = person.see(1)
    expect(answer).to_contain_text("이 답변은 한 단어씩 천천히 도착하는")
    expect(answer).to_contain_text("중지함")
    assert len(answer.inner_text()) < 700
    person.page.get_by_role("button", name="이어서 쓰기").click()
    expect(person.see(2)).to_contain_text("거기서부터 이어서")
    expect(person.page.get_by_role("button", name="이어서 쓰기")).to_have_count(0)
    person.ask("이제 다음 질문에 답해줘", 3)


def test_a_refresh_in_mid_answer_finds_it_again(visit: Visit, app: App) -> None:
    person = visit()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    person.page.reload()
    expect(person.live).to_contain_text("이 답변은 한 단어씩")
    hurry(app)
    person.see_whole(1, LASTING)


def test_moving_the_slider_in_mid_answer_neither_cuts_nor_doubles_it(visit: Visit, app: App) -> None:
    person = visit()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    person.move_slider(2)
    expect(person.panel).to_contain_text("현재 압축률: 0.4")
    hurry(app)
    person.see_whole(1, LASTING)
    expect(person.page.get_by_role("slider")).to_have_value("0.4")


def test_a_message_typed_during_an_answer_is_sent_after_it(visit: Visit, app: App) -> None:
    person = visit()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    person.say("그다음 질문에도 답해줘")
    expect(person.page.get_by_text("전송 대기 중")).to_be_visible()
    hurry(app)
    expect(person.see(2)).to_contain_text("그다음 질문에도")
    expect(person.page.get_by_text("전송 대기 중")).to_have_count(0)
    person.see_whole(1, LASTING)


def test_a_message_steers_the_running_answer_which_keeps_what_has_arrived(visit: Visit, app: App) -> None:
    person = visit()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    person.say("아니, 방향을 바꿔서 답해줘")
    person.page.get_by_role("button", name="지금 보내기").click()
    expect(person.see(2)).to_contain_text("방향을 바꿔서")
    expect(person.answer(1)).to_contain_text("중지함")
    expect(person.page.get_by_text("전송 대기 중")).to_have_count(0)
    assert app.upstream is not None
    steered = [each.body["messages"] for each in app.upstream.requests if "방향을 바꿔서" in str(each.body)]
    assert any("이 답변은 한 단어씩" in str(message) for message in steered[-1] if message["role"] == "assistant")


GAPS = """() => {
  const seen = "p, pre, button, [data-testid=stText], [role=alert]";
  const boxes = [...document.querySelectorAll(`[class*=st-key-talk-] :is(${seen})`)]
    .filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect());
  boxes.sort((one, other) => one.top - other.top);
  let end = boxes[0].top;
  return boxes.map((box) => {
    const gap = box.top - end;
    end = Math.max(end, box.bottom);
    return gap;
  });
}"""
"""How far below everything before it each piece of the conversation begins."""


def test_a_failure_says_what_to_do_and_can_be_tried_again(visit: Visit) -> None:
    person = visit()
    answer = person.ask("실패를 보여줘", 1)
    expect(answer).to_contain_text("모델 서버에서 오류가 났습니다 (HTTP 500)")
    expect(answer).to_contain_text("다시 시도하세요")
    again = person.page.get_by_role("button", name="다시 시도")
    first = again.element_handle()
    again.click()
    person.page.wait_for_function("button => !button.isConnected", arg=first)  # the failed answer made way for the next
    expect(person.see(1)).to_contain_text("HTTP 500")
    badge = person.page.locator(".st-key-header [class*='st-key-chip-']")
    expect(badge).to_have_text(re.compile("마지막 요청 실패"))
    person.ask("이번에는 답해줘", 2)
    assert max(person.page.evaluate(GAPS)) < 50
    expect(badge).to_have_text(re.compile("stub-model"))


def test_another_answer_an_edited_question_and_the_way_between_them(visit: Visit) -> None:
    person = visit()
    person.ask("고칠 질문을 먼저 물어봅니다", 1)
    person.page.get_by_role("button", name="다시 답변").click()
    expect(person.see(1)).to_contain_text("2/2")
    person.page.get_by_test_id("stMain").get_by_role("button", name="더 보기").click()
    person.page.get_by_text("질문 고치기").click()
    person.page.get_by_role("textbox", name="질문 고치기").fill("아주 천천히 고친 질문에 답해줘")
    person.page.locator(".st-key-edit-send button").click()
    expect(person.live).to_contain_text("도착하는")
    person.page.keyboard.press("Escape")
    expect(person.see(1)).to_contain_text("3/3")
    person.page.get_by_role("button", name="이전 버전").click()
    expect(person.answer(1)).to_contain_text("2/3")
    expect(person.page.locator(".st-key-question-1")).to_contain_text("고칠 질문을 먼저")


def test_the_editor_of_a_long_turn_comes_into_sight_and_takes_the_cursor(visit: Visit) -> None:
    person = visit(height=500)
    person.ask("고칠 질문에 천천히 길게 답해줘", 1, seconds=60)
    draft = person.page.get_by_role("textbox", name="질문 고치기")
    person.page.get_by_test_id("stMain").get_by_role("button", name="더 보기").click()
    person.page.get_by_text("질문 고치기").click()
    expect(draft).to_be_focused()
    expect(draft).to_be_in_viewport()
    person.page.wait_for_timeout(1500)
    expect(draft).to_be_in_viewport()


def test_the_cursor_is_in_the_input_from_the_start_and_in_a_new_chat(visit: Visit) -> None:
    person = visit()
    expect(person.input).to_be_focused()
    person.ask("커서가 어디에 있는지 봅니다", 1)
    person.page.locator(".st-key-new-chat button").click()
    expect(person.page.locator(".st-key-invitation")).to_be_visible()
    expect(person.input).to_be_focused()


def test_no_keyboard_comes_up_on_a_phone_by_itself(visit: Visit) -> None:
    person = visit(390, 844)
    person.page.get_by_role("button", name="사이드바 열기").click()
    person.page.locator(".st-key-new-chat button").click()
    person.page.wait_for_timeout(1000)
    expect(person.input).not_to_be_focused()


def test_a_question_is_edited_by_the_button_beside_it(visit: Visit) -> None:
    person = visit()
    person.ask("단추로 고칠 질문", 1)
    person.input.focus()
    person.page.mouse.move(0, 0)
    button = person.page.locator(".st-key-edit-question-1")
    expect(button).to_have_css("opacity", "0")
    person.page.locator(".st-key-question-1").hover()
    expect(button).to_have_css("opacity", "1")
    person.page.mouse.move(0, 0)
    expect(button).to_have_css("opacity", "0")
    press(person, button.get_by_role("button", name="질문 고치기"))
    expect(person.page.get_by_role("textbox", name="질문 고치기")).to_be_focused()


def test_on_a_phone_the_button_beside_a_question_is_always_there(visit: Visit) -> None:
    person = visit(390, 844, has_touch=True, is_mobile=True)
    person.ask("전화기에서 고칠 아주 긴 질문입니다. " * 5, 1)
    button = person.page.locator(".st-key-edit-question-1")
    expect(button).to_have_css("opacity", "1")
    expect(button).to_be_in_viewport(ratio=1)
    button.get_by_role("button").tap()
    expect(person.page.get_by_role("textbox", name="질문 고치기")).to_be_visible()


def test_a_draft_of_an_edit_outlives_another_chat(visit: Visit) -> None:
    person = visit()
    person.ask("고치다 말 질문을 물어봅니다", 1)
    session = re.findall(r"s=(\w+)", person.page.url)[0]
    person.input.press("ArrowUp")
    draft = person.page.get_by_role("textbox", name="질문 고치기")
    expect(draft).to_be_focused()  # the page puts the cursor to its end
    draft.fill("반쯤 고친 질문")
    person.page.locator(".st-key-new-chat button").click()
    expect(draft).to_have_count(0)
    person.page.locator(f".gieok-list [data-id='{session}'] .open").click()
    expect(draft).to_have_value("반쯤 고친 질문")
    draft.press("End")
    draft.press_sequentially("입니다")
    draft.press("Control+Enter")
    expect(person.page.locator(".st-key-question-1")).to_contain_text("반쯤 고친 질문입니다")
    expect(person.see(1)).to_contain_text("2/2")


def test_a_chat_forks_and_the_answer_can_be_copied(visit: Visit) -> None:
    person = visit()
    person.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    person.ask("갈라질 대화의 질문", 1)
    before = person.page.url
    person.page.get_by_role("button", name="답변 복사").click()
    expect(person.page.get_by_role("button", name="복사함")).to_be_visible()
    assert "갈라질 대화의 질문" in person.page.evaluate("navigator.clipboard.readText()")
    person.page.get_by_test_id("stMain").get_by_role("button", name="더 보기").click()
    person.page.get_by_text("여기서 새 대화로").click()
    person.page.wait_for_url(lambda url: url != before)
    # a list also waits until the old session's answer is gone from the page
    expect(person.answer(1)).to_contain_text(["갈라질 대화의 질문"])


def test_a_suggestion_shows_that_it_was_pressed_before_the_server_answers(visit: Visit) -> None:
    servers, held = list[WebSocketRoute](), list[str | bytes]()
    holding = threading.Event()

    def connect(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        servers.append(server)
        socket.on_message(lambda message: held.append(message) if holding.is_set() else server.send(message))

    person = visit(own=True)
    person.page.route_web_socket(re.compile("/_stcore/stream"), connect)
    person.open()
    buttons = person.page.locator(".st-key-samples button")
    still(person.page)
    holding.set()  # from here on the server hears nothing
    buttons.first.click()
    expect(buttons.first).to_have_attribute("aria-busy", "true")
    expect(buttons.nth(1)).to_have_css("pointer-events", "none")
    expect(person.page.locator(".st-key-invitation")).to_be_visible()
    holding.clear()
    for message in held:
        servers[-1].send(message)
    person.see(1)
    expect(buttons).to_have_count(0)


def test_the_invitation_gives_way_to_the_conversation_at_once(visit: Visit) -> None:
    person = visit()
    expect(person.page.locator(".st-key-invitation")).to_be_visible()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    expect(person.page.locator(".st-key-invitation")).to_have_count(0)
    person.page.keyboard.press("Escape")
    person.see(1)


def test_another_session_does_not_show_through(visit: Visit) -> None:
    person = visit()
    person.ask("첫 대화의 유일한 질문에 답해줘", 1)
    person.page.get_by_role("button", name="새 대화").first.click()
    expect(person.page.locator(".st-key-invitation")).to_be_visible()
    person.say("아주 천천히 답해줘, 목록에서 잘릴 만큼 긴 제목이 되도록 말을 더 붙였어")
    expect(person.live).to_contain_text("도착하는")
    expect(person.page.locator("[class*=st-key-chat-]")).not_to_contain_text("첫 대화의")
    mark = person.page.locator(".gieok-list .open .icon", has_text="more_horiz")
    expect(mark.first).to_be_in_viewport(ratio=1)
    person.page.keyboard.press("Escape")
    person.see(1)


def test_everything_fits_the_screen_also_with_a_long_draft(visit: Visit, subtests: pytest.Subtests) -> None:
    person = visit()
    person.ask("화면에 잘 맞는지 보여줘", 1)
    person.ask("한 번 더 길게 보여줘 https://example.com/" + "a" * 150, 2)
    path = "/?" + person.page.url.partition("?")[2]
    for width, height in SIZES:
        with subtests.test(width=width, height=height):
            person.page.set_viewport_size({"width": width, "height": height})
            person.open(path)
            person.see(2)
            still(person.page)
            size = person.page.evaluate(MEASURE)
            assert size["bottom"] <= size["height"]
            assert size["scroll"] <= 0
            assert size["width"] <= 0
            assert size["across"] <= 0
            assert size["chat"] > 150
            assert size["breaks"] == ["keep-all"]
            if height > 480:
                person.input.fill("\n".join(f"{line}번째 줄" for line in range(12)))
                still(person.page)
                size = person.page.evaluate(MEASURE)
                assert size["bottom"] <= size["height"]
                assert size["scroll"] <= 0


def test_in_a_narrow_window_no_tab_is_cut_and_the_actions_stand_in_one_row(visit: Visit) -> None:
    person = visit(1101, 700, locale="en-US")
    person.ask("Does everything fit?", 1)
    tabs = person.panel.get_by_role("tablist")
    still(person.page)
    assert tabs.evaluate("each => each.scrollWidth - each.clientWidth") <= 0
    person.page.set_viewport_size({"width": 390, "height": 844})
    expect(person.panel).to_be_hidden()
    buttons = [person.answer(1).get_by_role("button", name=name) for name in ("Copy", "More")]

    def stand_in_one_row() -> bool:  # the list may still scroll to its end
        copy, more = [box["y"] + box["height"] / 2 if (box := each.bounding_box()) else None for each in buttons]
        return copy is not None and more is not None and abs(copy - more) <= 5

    until(stand_in_one_row)


def test_on_a_phone_the_panel_is_a_drawer(visit: Visit) -> None:
    person = visit(390, 844)
    person.ask("서랍을 열어볼 거야", 1)
    expect(person.panel).to_be_hidden()
    person.page.get_by_role("button", name="요약 패널").click()
    drawer = person.page.get_by_role("dialog")
    expect(drawer).to_contain_text("대화 요약 히스토리")
    expect(drawer).to_contain_text("시스템과 도구")
    person.page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_on_a_phone_the_sidebar_closes_after_a_choice_and_no_sooner(visit: Visit) -> None:
    person = visit(390, 844)
    person.ask("옆줄을 열어볼 거야", 1)
    person.page.get_by_role("button", name="사이드바 열기").click()
    person.choose("삭제")
    back = person.page.get_by_role("button", name="되돌리기")
    expect(back).to_be_in_viewport()
    expect(person.page.locator(".st-key-invitation")).to_be_visible()
    back.click()
    expect(person.answer(1)).to_be_visible()
    person.page.locator(".st-key-new-chat button").click()
    expect(person.page.locator(".st-key-invitation")).to_be_visible()
    expect(person.page.locator(".st-key-new-chat button")).not_to_be_in_viewport()


@pytest.mark.usefixtures("own_settings")
def test_the_language_changes_in_mid_answer_without_losing_the_conversation_or_ones_place(visit: Visit) -> None:
    person = visit(locale="en-US")
    page, tab = person.page, person.panel.get_by_role("tab", name="컨텍스트", selected=True)
    person.ask("A question in English, please answer", 1)
    expect(page.locator("html")).to_have_attribute("lang", "en")
    person.panel.get_by_role("tab", name="Context").click()
    expect(person.panel.get_by_role("tab", name="Context", selected=True)).to_be_visible()
    person.say("아주 천천히 답해줘")
    expect(person.live).to_contain_text("도착하는")
    page.get_by_role("button", name="Settings", exact=True).click()
    page.get_by_role("tab", name="Appearance").click()
    page.get_by_role("dialog").get_by_role("radio", name="한국어").click()
    expect(page.get_by_role("tab", name="화면", selected=True)).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(tab).to_be_visible()
    expect(page.get_by_role("button", name="중지")).to_be_enabled()  # Escape presses it
    expect(person.live).to_have_count(1)
    page.keyboard.press("Escape")
    person.see(2)
    expect(person.answer(1)).to_contain_text("A question in English")
    expect(person.page.locator("html")).to_have_attribute("lang", "ko")
    page.get_by_role("button", name="문서").click()
    expect(person.panel).to_have_count(0)
    page.go_back()
    expect(tab).to_be_visible()
    page.get_by_role("button", name="설정", exact=True).click()
    page.get_by_role("tab", name="화면").click()
    page.get_by_role("dialog").get_by_role("radio", name="브라우저 설정대로").click()
    expect(page.get_by_role("tab", name="Appearance", selected=True)).to_be_visible()


def test_a_screen_reader_hears_the_start_and_the_end(visit: Visit) -> None:
    person = visit()
    region = person.page.locator("#gieok-live")
    expect(region).to_have_attribute("role", "status")
    person.say("아주 천천히 답해줘")
    expect(region).to_have_text("답변을 시작했습니다.")
    expect(person.live).to_contain_text("도착하는")
    expect(person.page.get_by_role("button", name="중지")).to_be_enabled()  # Escape presses it
    person.page.keyboard.press("Escape")
    expect(region).to_have_text("답변을 중지했습니다.")


def test_buttons_have_names(visit: Visit) -> None:
    person = visit(390, 844)
    expect(person.page.get_by_role("button", name="메시지 보내기")).to_be_visible()
    expect(person.page.get_by_role("button", name="사이드바 열기")).to_be_visible()
    still(person.page)
    nameless = """() => [...document.querySelectorAll("button")].filter(e => e.offsetParent !== null
         && !e.getAttribute("aria-label") && !e.innerText.trim()).map(e => e.outerHTML.slice(0, 200))"""
    person.page.wait_for_function(f"() => String(({nameless})()) === ''")  # they are named a frame after they are drawn


def test_what_streamlit_names_in_english_is_named_in_korean(visit: Visit) -> None:
    person = visit()
    page = person.page
    person.ask("마크다운을 보여줘", 1)
    english = """() => [...document.querySelectorAll("button, section, a, [role=navigation], [role=radiogroup]")]
      .filter((each) => each.checkVisibility() && !each.closest(".gieok-list .rows, .st-key-model-open"))
      .map((each) => each.getAttribute("aria-label") ?? each.textContent)
      .filter((name) => /^[ -~]*[a-z]{3}[ -~]*$/i.test(name))"""
    page.wait_for_function(f"() => String(({english})()) === ''")  # they are named a frame after they are drawn
    ways = page.locator(".st-key-side-pages button p")
    seen = "each => each.filter(way => way.getBoundingClientRect().width > 9).map(way => way.innerText)"
    assert ways.evaluate_all(seen) == ["비공개", "문서", "이야기 세계"]
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="본문으로 건너뛰기")).to_have_count(1)
    person.panel.get_by_role("tab", name="컨텍스트").click()
    expect(person.panel.get_by_role("button", name="늘리기")).to_have_count(1)
    page.get_by_role("button", name="설정", exact=True).click()
    expect(page.get_by_role("button", name="키 표시 또는 숨기기")).to_be_visible()
    expect(page.get_by_role("dialog").locator('button[aria-label="선택지 열기"]').first).to_be_visible()
    page.wait_for_function(f"() => String(({english})()) === ''")


def press(person: Person, target: Locator, key: str = "Enter") -> None:
    """Goes there with the tab key, and presses a key there."""
    expect(target).to_be_visible()
    for _ in range(80):
        if target.evaluate("(element) => element === document.activeElement"):
            person.page.keyboard.press(key)
            return
        person.page.keyboard.press("Tab")
    raise AssertionError("the tab key does not lead there")


def test_the_keyboard_alone_is_enough(visit: Visit) -> None:
    person = visit()
    page, keys = person.page, person.page.keyboard
    person.input.focus()
    keys.type("키보드만으로 물어봅니다")
    keys.press("Enter")
    person.see(1)
    expect(person.input).to_be_focused()
    keys.press("ArrowUp")
    expect(page.get_by_role("textbox", name="질문 고치기")).to_be_focused()
    keys.type(" 정말로")
    press(person, page.locator(".st-key-edit-send button"))
    expect(person.answer(1)).to_contain_text("2/2")
    expect(page.locator(".st-key-question-1")).to_contain_text("키보드만으로 물어봅니다 정말로")
    press(person, person.answer(1).get_by_role("button", name="다시 답변"))
    expect(person.answer(1)).to_contain_text("3/3")
    press(person, person.panel.get_by_role("tab", name="요약"), "ArrowRight")
    expect(person.panel.get_by_role("tab", name="기억")).to_have_attribute("aria-selected", "true")
    press(person, page.get_by_role("button", name="새 대화"))
    expect(page.locator(".st-key-invitation")).to_be_visible()
    press(person, page.locator(".gieok-list .open").first, "ArrowDown")
    page.locator(".gieok-list .open", has_text="키보드만으로").first.press("Enter")
    expect(person.answer(1)).to_contain_text("3/3")


def test_keys_lead_to_the_last_message_and_to_the_search(visit: Visit) -> None:
    person = visit()
    person.ask("위쪽 화살표로 고칠 질문", 1)
    person.input.focus()
    person.page.keyboard.press("ArrowUp")
    expect(person.page.get_by_role("textbox", name="질문 고치기")).to_have_value("위쪽 화살표로 고칠 질문")
    person.page.get_by_role("button", name="취소").click()
    person.page.keyboard.press("Control+k")
    person.page.get_by_role("dialog", name="모든 작업").get_by_role("option", name="대화 검색").click()
    search = person.page.get_by_label("대화 검색")
    expect(search).to_be_focused()
    search.press_sequentially("화살표로 고칠")
    expect(person.page.get_by_text("검색 결과 ")).to_be_visible()


def test_an_exported_chat_comes_back_after_it_was_deleted(visit: Visit, tmp_path: Path) -> None:
    person = visit()
    page = person.page
    person.ask("내보냈다가 가져올 질문", 1)
    person.choose("이름 바꾸기")
    page.get_by_label("이름 바꾸기").fill("내가 붙인 이름")
    page.get_by_label("이름 바꾸기").press("Enter")
    expect(page.locator(".st-key-header")).to_contain_text("내가 붙인 이름")
    person.choose("링크·내보내기")
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON으로 내보내기").click()
    download.value.save_as(tmp_path / "chat.json")
    with page.expect_download() as download:
        page.locator(".st-key-download-html button").click()
    assert download.value.suggested_filename == "내가 붙인 이름.html"
    assert "내보냈다가 가져올 질문</p>" in download.value.path().read_text("utf-8")
    page.get_by_role("button", name="닫기", exact=True).click()
    person.choose("삭제")
    expect(page.get_by_role("button", name="되돌리기")).to_be_visible()
    expect(page.locator(".st-key-invitation")).to_be_visible()
    page.locator(".st-key-import button").click()
    page.get_by_role("dialog").locator("input[type=file]").set_input_files(tmp_path / "chat.json")
    page.get_by_role("button", name="파일 제거").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("dialog").get_by_role("button", name="파일 고르기").click()
    chooser.value.set_files(tmp_path / "chat.json")
    page.get_by_role("dialog").get_by_role("button", name="가져오기", exact=True).click()
    expect(person.answer(1)).to_contain_text("내보냈다가 가져올 질문")


def test_a_chat_of_another_program_goes_on_with_an_answer_put_right_and_a_turn_taken_back(visit: Visit) -> None:
    person, own_words = visit(), "서쪽 회의실이 아니라 동쪽 회의실입니다."
    page = person.page
    page.locator(".st-key-import button").click()
    file: FilePayload = {"name": "conversations.json", "mimeType": "application/json", "buffer": exported("ko", 2)}
    page.get_by_role("dialog").locator("input[type=file]").set_input_files(file)
    page.get_by_role("dialog").get_by_role("button", name="가져오기", exact=True).click()
    expect(person.answer(2)).to_contain_text("예산은 14만 원까지")
    expect(page.locator(".st-key-imported")).to_contain_text("대화 1개")

    def choose(action: str) -> None:
        person.answer(2).get_by_role("button", name="더 보기").click()
        page.get_by_role("menuitem", name=action).click()

    choose("답변 고치기")
    expect(page.get_by_label("답변 고치기")).to_have_value(re.compile("^예산은 14만 원까지"))
    page.get_by_label("답변 고치기").fill(own_words)
    page.get_by_role("button", name="이 답변으로").click()
    expect(person.answer(2)).to_contain_text(own_words)
    expect(person.answer(2)).to_contain_text("2/2")
    choose("이 턴 거두기")
    expect(person.answer(2)).to_have_count(0)
    page.get_by_role("button", name="그 버전으로 돌아가기").click()
    expect(person.answer(2)).to_contain_text(own_words)
    person.ask("그러면 동쪽에서 만나자", 3)


HOSTILE = {
    "html": "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'><b>bold</b>",
    "markdown": "# heading\n1. list **bold** :red[red] ![x](http://127.0.0.1:9/p.png) <u>u</u>",
    "rtl": "‮right to left‬ עברית العربية 그리고 한글",
    "emoji": "👩‍👩‍👧‍👦 e\u0301 \u200b family",
}


def test_hostile_text_is_harmless(visit: Visit, subtests: pytest.Subtests) -> None:
    person = visit(own=True)
    asked: list[str] = []
    person.page.on("request", lambda request: asked.append(request.url))
    for number, (kind, text) in enumerate(HOSTILE.items(), 1):
        person.ask(text, number)
        with subtests.test(kind):
            shown = person.page.locator(f".st-key-question-{number} [data-testid=stText]").inner_text()
            assert shown.split() == text.replace("\u202e", "").replace("\u202c", "").split(), "signs that turn text go"
            assert person.page.evaluate("window.hacked") is None
            assert [url for url in asked if not url.removeprefix("blob:").startswith(person.app.url)] == []
            assert person.page.evaluate(MEASURE)["width"] <= 0


FETCHED = """![x]({url}/a.png) ![y]

[y]: {url}/b.png

![a[b]]({url}/c.png) ![a
b]({url}/d.png) ` ![x]({url}/e.png) `` and ![a\\]b]({url}/f.png)

$$
```
$$
![x]({url}/g.png)
"""


def test_no_picture_of_an_answer_is_fetched_from_outside(visit: Visit) -> None:
    person = visit()
    assert person.app.upstream is not None
    outside = person.app.upstream
    pictures = FETCHED.format(url=outside.url)
    # not simply the next reply, which a call behind the answer of another test could take
    outside.always = lambda body: said(pictures) if "그림을 보여 줘" in str(body["messages"]) else answer(body)
    person.ask("그림을 보여 줘", 1)
    outside.always = answer
    expect(person.answer(1).locator("img").first).to_be_attached()  # what the Markdown's rewriting misses
    person.page.reload()
    person.see(1)
    expect(person.answer(1).locator("img").first).to_be_attached()
    assert [each.path for each in outside.others if each.path.endswith(".png")] == []


def test_a_message_of_100_kilobytes_is_folded(visit: Visit) -> None:
    person = visit()
    person.input.fill("가나다라마바사 " * 4_550)  # of 22 bytes
    person.input.press("Enter")
    person.see(1)
    person.page.get_by_role("button", name=re.compile("전체 보기")).click()
    expect(person.page.get_by_role("button", name="접기")).to_be_visible()
    still(person.page)
    size = person.page.evaluate(MEASURE)
    assert size["bottom"] <= size["height"]


def test_axe_finds_nothing_serious_on_a_phone(visit: Visit) -> None:
    """``test_everybody`` goes to every place of the wide page."""
    person = visit(390, 844)
    assert violations_by_scheme(person.page) == []
    for number, text in enumerate(("15 곱하기 24를 계산해줘", "실패를 보여줘"), 1):
        person.ask(text, number)
    found = violations_by_scheme(person.page)
    assert found == [], json.dumps(found, ensure_ascii=False, indent=1)
    person.page.get_by_role("button", name="요약 패널").click()
    expect(person.page.get_by_role("dialog")).to_contain_text("시스템과 도구")
    found = violations_by_scheme(person.page)
    assert found == [], json.dumps(found, ensure_ascii=False, indent=1)


def test_a_long_answer_costs_few_bytes(visit: Visit) -> None:
    person = visit()
    received: list[int] = []

    def count(payload: str | bytes) -> None:
        received.append(len(payload))

    person.page.on("websocket", lambda socket: socket.on("framereceived", count))
    person.page.reload()
    person.open()
    still(person.page)  # else what is still on its way counts to the answer
    whole = sum(received)
    received.clear()
    answer = person.ask("천천히 답해줘", 1)
    text = len(answer.inner_text().encode())
    # as much as opening the page, whose list holds the chats of other tests, and frames of the text
    assert sum(received) < whole + 15 * text
