"""What goes wrong while an answer arrives: the line, the tab, the app, the model, the disk. Nothing is lost."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from bench.port import is_taken
from component.chat.jump import WINDOW
from graph.context.turns import CHUNK
from tests.journey.application import LASTING, LONG, REPEATED, SLOW, App, Person, answer, free_port, started
from tests.journey.conftest import Visit
from tests.journey.test_reading import talked
from tests.stub.reply import said
from tests.stub.upstream import Upstream
from tests.wait import until

pytestmark = pytest.mark.browser

SOCKETS = """
const Native = window.WebSocket;
window.sockets = [];
window.WebSocket = class extends Native { constructor(...a) { super(...a); window.sockets.push(this); } };
"""
RETRY, RESUME = "다시 시도", "이 답변 다시 받기"


@contextmanager
def visitor(browser: Browser, app: App, locale: str = "ko-KR") -> Iterator[Person]:
    """Someone with the app's page open."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale=locale)
    person = Person(context.new_page(), app)
    person.open()
    yield person
    context.close()


def settings(upstream: Upstream) -> dict[str, str]:
    own = {"OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "x", "GIEOK_MODEL_RETRIES": "0"}
    return {**own, "GIEOK_TITLES": "false", "GIEOK_AHEAD": "false"}


def session_of(person: Person) -> str:
    found = re.search(r"s=(\w+)", person.page.url)
    assert found
    return found[1]


def written(app: App, session: str, number: int) -> None:
    """Waits until the record has the answer of a turn."""

    def is_done() -> bool:
        with closing(sqlite3.connect(app.log.parent / "data" / "gieok.db", timeout=60)) as record:
            wanted = "select status from turn where session_id = ? and number = ?"
            return bool(record.execute(wanted, (session, number)).fetchone() == ("done",))

    until(is_done)


def arrived(app: App, text: str) -> None:
    """Waits until the record has this of an answer that grows."""

    def is_there() -> bool:
        with closing(sqlite3.connect(app.log.parent / "data" / "gieok.db", timeout=60)) as record:
            return any(text in part for (part,) in record.execute("select text from partial"))

    until(is_there)


def slow(person: Person, number: int = 1, how: str = "천천히") -> None:
    """Asks for a long answer and waits until it has begun."""
    person.say(f"{how} 답해줘")
    expect(person.page.locator(f".st-key-question-{number}")).to_be_visible()
    expect(person.live).to_contain_text("도착하는")


def whole(person: Person, number: int = 1) -> None:
    """The long answer is there, complete and once."""
    person.see_whole(number, REPEATED)


def test_a_lost_connection_in_mid_answer_loses_nothing(visit: Visit, app: App) -> None:
    person = visit(own=True)
    person.page.add_init_script(SOCKETS)
    person.open()
    slow(person)
    person.page.context.set_offline(True)
    person.page.evaluate("window.sockets.forEach((socket) => socket.close())")
    written(app, session_of(person), 1)
    person.page.context.set_offline(False)
    whole(person)
    person.ask("연결이 돌아온 뒤의 질문", 2)


def test_a_tab_that_is_closed_in_mid_answer_loses_nothing(visit: Visit, app: App) -> None:
    person = visit()
    slow(person)
    session = session_of(person)
    person.page.close()
    written(app, session, 1)
    whole(visit(path=f"/?s={session}"))


def test_two_tabs_follow_the_same_answer_queue_behind_it_and_either_stops_it(visit: Visit) -> None:
    first = visit()
    slow(first, how="아주 천천히")
    second = visit(path=f"/?s={session_of(first)}")
    expect(second.live).to_contain_text("도착하는")
    second.say("둘째 탭에서 묻는 질문")
    expect(second.page.get_by_text("전송 대기 중")).to_be_visible()
    second.page.keyboard.press("Escape")
    for person in (first, second):
        expect(person.see(2, seconds=60)).to_contain_text("둘째 탭에서 묻는 질문")
        expect(person.answer(1)).to_contain_text("중지함")


COMPOSING = """(input) => input.dispatchEvent(new KeyboardEvent("keydown", {
  key: "Escape", code: "Escape", isComposing: true, bubbles: true, cancelable: true,
}))"""


def test_an_idle_tab_shows_what_another_one_does_and_keeps_what_is_typed(visit: Visit) -> None:
    asking = visit()
    asking.ask("두 탭에서 볼 첫 질문", 1)
    idle = visit(path=f"/?s={session_of(asking)}")
    idle.see(1)
    idle.input.fill("아직 보내지 않은 글")
    asking.ask("다른 탭에서 한 질문", 2)
    expect(idle.answer(2)).to_contain_text("다른 탭에서 한 질문")
    expect(idle.input).to_have_value("아직 보내지 않은 글")
    asking.page.locator(".st-key-new-chat button").click()
    expect(asking.page.locator(".st-key-invitation")).to_be_visible()  # else it goes to the old chat
    asking.ask("다른 대화의 질문", 1)
    expect(idle.page.locator(".st-key-sessions")).to_contain_text("다른 대화의 질문")
    expect(idle.input).to_have_value("아직 보내지 않은 글")


LEFT_OVER = """() => [...document.querySelectorAll("[data-stale=true]")]
  .filter((each) => each.textContent.trim() && each.checkVisibility()).map((each) => each.outerHTML.slice(0, 200))"""
"""What is still to be seen of the run of the page before this one."""

LAST = WINDOW + CHUNK - WINDOW % CHUNK
"""A turn with which the first one leaves the page, and after which a summary is made."""


def test_nothing_of_an_answer_that_grew_stays_while_the_page_waits_for_the_summary_after_it(
    visit: Visit, app: App
) -> None:
    path, upstream = f"/?s={talked(app, LAST - 1)}", app.upstream
    assert upstream is not None
    tabs = person, _ = visit(path=path), visit(path=path)
    for tab in tabs:
        tab.see(LAST - 1)
    person.say(f"곰곰이 생각하고 답해줘, 아주 {SLOW} 질문이야")
    until(lambda: [each for each in upstream.requests if SLOW in str(each.body) and "tools" not in each.body])
    for tab in tabs:
        answer = tab.see(LAST, seconds=60)
        tab.page.wait_for_function(f"() => String(({LEFT_OVER})()) === ''")
        expect(tab.page.get_by_role("button", name="중지")).to_have_count(0)
        thought = answer.get_by_text("초 동안 생각함")
        expect(thought).to_have_count(1)
        tab.unfold(thought)
        once = "초 동안 생각함(?:(?!생각한 답).)*무엇을 물었나.*생각한 답(?!.*생각한 답)"
        expect(answer).to_have_text(re.compile(once, re.S))
    upstream.hurry()


def test_who_goes_to_other_turns_in_mid_answer_sees_those_alone(visit: Visit, app: App) -> None:
    person = visit(path=f"/?s={talked(app, 60)}")
    page, questions = person.page, person.page.locator("[class*='st-key-question-']")
    person.see(60)
    page.get_by_role("button", name="이전 대화").click()
    expect(questions).to_have_count(40)
    slow(person, 61, how="아주 천천히")
    expect(questions).to_have_count(21)
    page.get_by_label("턴으로 이동").first.fill("10")
    page.keyboard.press("Enter")
    expect(person.answer(10)).to_be_in_viewport()
    expect(questions).to_have_count(20)
    expect(person.live).to_have_count(0)
    page.get_by_role("button", name="최근 대화로").click()
    expect(person.live).to_contain_text("도착하는")
    expect(questions).to_have_count(21)
    page.get_by_role("button", name="중지").click()
    expect(person.see(61)).to_contain_text("중지함")
    expect(page.get_by_role("button", name="중지")).to_have_count(0)


def test_esc_in_the_search_or_while_letters_are_composed_stops_no_answer(visit: Visit) -> None:
    person = visit()
    slow(person, how="아주 천천히")
    person.page.get_by_label("대화 검색").press("Escape")
    person.input.focus()
    person.input.evaluate(COMPOSING)
    expect(person.live).to_contain_text("긴 답변입니다. 기억은")
    expect(person.page.get_by_role("button", name="중지")).to_be_enabled()
    person.input.press("Escape")
    expect(person.see(1)).to_contain_text("중지함")


def test_an_app_that_is_killed_in_mid_answer_goes_on_after_its_restart(browser: Browser, tmp_path: Path) -> None:
    port, upstream = free_port(), Upstream(always=answer)
    with upstream, started(tmp_path, port, **settings(upstream)) as app, visitor(browser, app) as person:
        person.ask("죽기 전에 묻는 질문", 1)
        upstream.always = said(LONG * LASTING).but(pause=0.3)  # it lasts until the kill on a busy machine, too
        slow(person, 2)
        person.say("기다리던 질문")
        expect(person.page.get_by_text("전송 대기 중")).to_be_visible()
        arrived(app, "천천히 도착하는")
        os.kill(app.pid, signal.SIGKILL)
        while is_taken(port):  # a process of some size is gone a moment later
            time.sleep(0.05)
        notice = person.page.locator("#gieok-lost")
        expect(notice).to_contain_text("저장되어 있습니다")
        expect(person.page.get_by_role("dialog")).to_have_count(0)  # Streamlit's own says it in English, over the page
        expect(person.page.locator("[class*='st-key-chip-ready']")).to_be_hidden()
        upstream.always = answer
        with started(tmp_path, port, **settings(upstream)) as again:
            expect(notice).to_have_count(0)
            resume = person.page.get_by_role("button", name=RESUME)
            expect(resume).to_be_visible()  # by itself: nobody reloads the page
            expect(person.answer(1)).to_contain_text("죽기 전에 묻는 질문")
            expect(person.answer(2)).to_contain_text("끊겼습니다")
            expect(person.answer(2)).to_contain_text("천천히 도착하는")  # what had arrived
            expect(person.page.locator(".st-key-queued-0")).to_contain_text("기다리던 질문")
            resume.click()
            whole(person, 2)
            person.page.get_by_role("button", name="지금 보내기").click()
            expect(person.see(3)).to_contain_text("기다리던 질문")
            assert again.complaints() == []


def test_a_model_server_that_dies_in_mid_answer_can_be_asked_again(browser: Browser, tmp_path: Path) -> None:
    port = free_port()
    dying = Upstream(always=said(LONG * LASTING).but(pause=0.3), port=port)
    with started(tmp_path, **settings(dying)) as app, dying, visitor(browser, app) as person:
        slow(person)
        dying.__exit__()
        expect(person.see(1)).to_contain_text("모델이 답변 도중에 끊겼습니다")
        expect(person.answer(1)).to_contain_text("도착하는")  # what had arrived
        expect(person.answer(1)).to_contain_text("완성된 답변으로 보지 않습니다")
        person.page.get_by_role("button", name=RETRY).click()
        expect(person.answer(1)).to_contain_text("모델에 연결할 수 없습니다")
        with Upstream(always=answer, port=port):
            person.page.get_by_role("button", name=RETRY).click()
            whole(person)
        assert app.complaints() == []


@pytest.mark.small_model
def test_an_embedded_server_that_is_killed_in_mid_answer_is_back_for_the_next_try(
    browser: Browser, small_model: Path, tmp_path: Path
) -> None:
    environment = {"GIEOK_PROVIDER": "embedded", "GIEOK_EMBEDDED_PATH": str(small_model), "GIEOK_TITLES": "false"}
    small = {"GIEOK_ANSWER_TOKENS": "500", "GIEOK_EMBEDDED_THREADS": "1", "GIEOK_AHEAD": "false"}
    with started(tmp_path, **environment, **small) as app, visitor(browser, app) as person:
        person.say("Write a very long story about a fox, a lake and a mountain, in many chapters.")
        expect(person.live.locator(".st-key-live-answer p").first).to_be_visible()
        state = next((tmp_path / "data").rglob("state.json"))
        os.kill(json.loads(state.read_text())["pid"], signal.SIGKILL)
        expect(person.see(1, seconds=60)).to_contain_text("모델이 답변 도중에 끊겼습니다")
        person.page.get_by_role("button", name=RETRY).click()
        expect(person.answer(1)).to_contain_text("출력", timeout=120_000)
        expect(person.page.get_by_role("button", name=RETRY)).to_have_count(0)


def test_a_disk_without_room_keeps_the_message_until_there_is_some(browser: Browser, tmp_path: Path) -> None:
    """No file may grow: what the kernel refuses here it refuses to every user, not to root alone."""
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    upstream = Upstream(always=answer)
    with upstream, started(tmp_path, **settings(upstream)) as app, visitor(browser, app) as person:
        person.ask("자리가 있을 때의 질문", 1)
        resource.prlimit(app.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        person.say("자리가 없을 때의 질문")
        expect(person.page.locator("[class*='st-key-chat-'] [role=alert]")).to_be_visible()
        expect(person.input).to_have_value("자리가 없을 때의 질문")
        resource.prlimit(app.pid, resource.RLIMIT_FSIZE, unlimited)
        person.input.press("Enter")
        expect(person.see(2)).to_contain_text("자리가 없을 때의 질문")
        expect(person.input).to_have_value("")


HURRIED = 8


def test_messages_a_tenth_of_a_second_apart_are_turns_in_their_order(visit: Visit, app: App) -> None:
    person = visit()
    person.hurry("급한 질문 {}번", HURRIED)
    person.see(HURRIED)
    assert list_questions(app, session_of(person)) == [f"급한 질문 {number}번" for number in range(1, HURRIED + 1)]


def list_questions(app: App, session: str) -> list[str]:
    """What the record has as asked in a session, in order."""
    with closing(sqlite3.connect(app.log.parent / "data" / "gieok.db", timeout=60)) as record:
        rows = record.execute("select question from turn where session_id = ? order by number", (session,))
        return [question for (question,) in rows]
