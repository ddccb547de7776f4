"""The windows over the page, and what a person does with whole chats: look closely, compare, delete, carry over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, messages_to_dict
from playwright.sync_api import Browser, expect

from graph.state import SummaryRecord
from settings import load_settings
from store import Finished, Store
from tests.journey.application import LASTING, PAUSE_MESSAGES, SLOW, App, Person, answer, push, started
from tests.journey.conftest import Visit
from tests.stub.upstream import Request, Upstream
from tests.wait import SECONDS, until

pytestmark = pytest.mark.browser

LONG = "여행의 예산은 500,000원이고 3월 5일에 부산에서 떠나 제주에서 사흘을 보냅니다. " * 4
SUMMARY = "3월 5일 부산에서 제주로 사흘, 예산 500,000원."


def talked(app: App, said: str = "여행") -> str:
    """A session of four finished turns with the summary of three, written into the app's store."""
    store = Store(load_settings(data_dir=app.log.parent / "data").database)
    session = store.create_session("ko", 0.3).id
    for number in range(1, 5):
        asked = f"{number}번째 {said} 질문입니다"
        store.begin_turn(session, asked)
        messages = messages_to_dict([HumanMessage(asked), AIMessage(LONG)])
        store.finish_turn(session, number, Finished("done", answer=LONG, messages=messages))
    record = SummaryRecord(
        thread_id=session,
        turns=[1, 2, 3],
        turn_length=3,
        original_chars=3 * len(LONG),
        summary_chars=len(SUMMARY),
        compression_rate=0.3,
        summary=SUMMARY,
    )
    store.ledger.add(session, [1, 2, 3], 0.3, "active", record=record, kept=["500,000원"], lost=["사흘"])
    store.close()
    return session


def requests(app: App, text: str) -> list[Request]:
    """The calls of the model so far that have this text; other tests' work may go on behind their answers."""
    assert app.upstream is not None
    return [each for each in app.upstream.requests if text in str(each.body)]


@contextmanager
def stored(app: App) -> Iterator[Store]:
    """The app's store, read from here."""
    store = Store(load_settings(data_dir=app.log.parent / "data").database)
    yield store
    store.close()


def address(person: Person) -> str:
    """The id of the open conversation."""
    return person.page.url.rpartition("s=")[2]


def shut(person: Person) -> None:
    person.page.get_by_role("dialog").get_by_role("button", name="닫기").click()
    expect(person.page.get_by_role("dialog")).to_have_count(0)


def test_a_summary_is_read_beside_its_turns_edited_and_put_back(visit: Visit, app: App) -> None:
    person = visit(path=f"/?s={talked(app)}")
    person.panel.get_by_role("button", name="원문과 비교·수정").click()
    window = person.page.get_by_role("dialog")
    expect(window).to_contain_text("3번째 여행 질문입니다")
    expect(window.locator("mark.kept").filter(has_text="500,000원").first).to_be_visible()
    expect(window.locator("mark.lost").filter(has_text="사흘").first).to_be_visible()
    person.unfold(window.get_by_text("요약 고치기").first)
    window.get_by_role("textbox").fill("내가 고쳐 쓴 요약, 예산 500,000원.")
    window.get_by_role("button", name="저장").click()
    expect(window).to_contain_text("직접 고침")
    expect(window.locator("ins").first).to_be_visible()
    shut(person)
    expect(person.panel).to_contain_text("내가 고쳐 쓴 요약")
    person.panel.get_by_role("button", name="원문과 비교·수정").click()
    window.get_by_role("button", name="이 버전 사용").click()
    expect(window.get_by_role("button", name="이 버전 사용")).to_have_count(1)
    expect(window.locator(".gieok-marked").nth(1)).to_contain_text("제주로 사흘")
    shut(person)
    expect(person.panel).to_contain_text(SUMMARY)


def test_a_summary_is_made_again_at_another_rate(visit: Visit, app: App) -> None:
    person = visit(path=f"/?s={talked(app)}")
    person.panel.get_by_role("button", name="원문과 비교·수정").click()
    window = person.page.get_by_role("dialog")
    push(window.get_by_role("slider"), "ArrowRight")
    expect(window.get_by_role("slider")).to_have_value("0.35")
    window.get_by_role("button", name="이 압축률로 다시 요약").click()
    expect(window).to_contain_text("다시 요약함")
    expect(window).to_contain_text("목표 길이 35%")


def test_a_summary_that_is_being_made_again_is_stopped_by_closing_its_window(visit: Visit, app: App) -> None:
    session = talked(app, f"아주 {SLOW}")
    person = visit(path=f"/?s={session}")
    person.panel.get_by_role("button", name="원문과 비교·수정").click()
    window, before = person.page.get_by_role("dialog"), len(requests(app, SLOW))
    window.get_by_role("button", name="이 압축률로 다시 요약").click()
    expect(window.get_by_role("button", name="중지")).to_be_visible()
    (call,) = until(lambda: requests(app, SLOW)[before:])  # the button may be there before the call
    shut(person)
    assert call.gone.wait(SECONDS)
    with stored(app) as store:
        assert [each.origin for each in store.ledger.versions(session, 1)] == ["auto"]
    person.panel.get_by_role("button", name="원문과 비교·수정").click()
    expect(window.get_by_role("button", name="이 압축률로 다시 요약")).to_be_enabled()


def test_an_edit_that_is_being_typed_outlives_the_summary_that_is_made_meanwhile(visit: Visit, app: App) -> None:
    session = talked(app)
    person = visit(path=f"/?s={session}")
    person.ask(f"아주 {SLOW} 다섯 번째 이야기입니다", 5)
    person.ask(f"아주 {SLOW} 여섯 번째 이야기입니다", 6)
    until(lambda: [call for call in requests(app, "여섯 번째 이야기입니다") if "tools" not in call.body])
    person.panel.get_by_role("button", name="원문과 비교·수정").click()
    window = person.page.get_by_role("dialog")
    person.unfold(window.get_by_text("요약 고치기").first)
    window.get_by_role("textbox").press_sequentially("쓰고 있는 요약")
    upstream = app.upstream
    assert upstream is not None
    with stored(app) as store:

        def is_summarised() -> bool:
            upstream.hurry()  # the summary comes now, not sooner; a reply that is asked for again comes at once, too
            return [each.turns for each in store.ledger.summaries(session)] == [[1, 2, 3], [4, 5, 6]]

        until(is_summarised)
    person.page.wait_for_timeout(1500)  # what would close the window comes with the next look
    assert "쓰고 있는 요약" in window.get_by_role("textbox").input_value()
    window.get_by_role("button", name="저장").click()
    expect(window).to_contain_text("직접 고침")
    expect(window.locator(".gieok-marked").nth(1)).to_contain_text("쓰고 있는 요약")
    shut(person)
    expect(person.panel).to_contain_text("사용자와 AI가 여행 이야기를 나눔")


@pytest.mark.parametrize("name", ["settings", "comparison"])
def test_what_is_being_typed_in_a_window_outlives_the_end_of_the_answer_below_it(
    visit: Visit, app: App, name: str
) -> None:
    person = visit(own=True)
    person.page.add_init_script(PAUSE_MESSAGES)
    person.open(f"/?s={talked(app)}")
    person.say("아주 천천히 답해 줘")
    expect(person.live).to_contain_text("이 답변은")
    if name == "settings":
        person.page.get_by_role("button", name="설정", exact=True).click()
    else:
        person.panel.get_by_role("tab", name="컨텍스트").click()
        person.panel.get_by_role("button", name="비교하기").click()
    window = person.page.get_by_role("dialog")
    field = window.get_by_role("textbox").first
    field.fill("")
    field.press_sequentially("쓰고 ")
    assert app.upstream is not None
    with person.keep_window():
        app.upstream.hurry()
        with stored(app) as store:
            until(lambda: store.turns(address(person), limit=1)[0].status == "done")
        person.page.wait_for_timeout(3000)  # what would close the window comes with the next look
        person.page.keyboard.type("있는 글")  # into what has the focus
    expect(field).to_have_value("쓰고 있는 글")
    shut(person)
    person.see_whole(5, LASTING)


def test_the_drawer_on_a_phone_works_and_stays_while_an_answer_runs_and_after_it(visit: Visit, app: App) -> None:
    path = f"/?s={talked(app)}"
    person, other = visit(width=390, height=844, path=path), visit(path=path)
    person.say("아주 천천히 답해 줘")
    expect(person.live).to_contain_text("이 답변은")
    person.page.get_by_role("button", name="요약 패널").click()
    drawer = person.page.get_by_role("dialog")
    expect(drawer).to_contain_text("[1-3턴 요약]")
    drawer.get_by_role("tab", name="컨텍스트").click()
    expect(drawer).to_contain_text("첫 답변 뒤에")
    expect(person.live).to_have_count(1)
    other.page.reload()
    other.page.get_by_role("button", name="중지").click()
    expect(drawer).to_contain_text("6턴의 프롬프트 미리 보기")
    shut(person)
    expect(person.answer(5)).to_be_visible()


def test_two_answers_are_compared_side_by_side_and_nothing_is_kept(visit: Visit, app: App) -> None:
    person = visit(path=f"/?s={talked(app)}")
    person.panel.get_by_role("tab", name="컨텍스트").click()
    person.panel.get_by_role("button", name="비교하기").click()
    window = person.page.get_by_role("dialog")
    expect(window).to_contain_text(re.compile("입력 약 [0-9,]+ 토큰, 모델 호출 2번"))
    window.get_by_role("button", name="두 답변 받기").click()
    expect(window.get_by_text("알겠습니다.")).to_have_count(2)
    expect(window.get_by_text("토큰").nth(1)).to_be_visible()
    shut(person)
    expect(person.answer(4)).to_be_visible()
    expect(person.answer(5)).to_have_count(0)


def test_a_comparison_is_stopped_by_its_button_and_by_closing_its_window(visit: Visit, app: App) -> None:
    question = "아주 천천히 둘로 답해 줘"
    person = visit(path=f"/?s={talked(app)}")
    person.panel.get_by_role("tab", name="컨텍스트").click()
    person.panel.get_by_role("button", name="비교하기").click()
    window = person.page.get_by_role("dialog")
    window.get_by_role("textbox").fill(question)
    window.get_by_role("textbox").press("Control+Enter")
    window.get_by_role("button", name="두 답변 받기").click()
    expect(window.get_by_text("이 답변은")).to_have_count(2)
    window.get_by_role("button", name="중지").click()
    expect(window.get_by_role("button", name="중지")).to_have_count(0)
    expect(window.get_by_text("이 답변은")).to_have_count(2)
    assert all(call.gone.wait(SECONDS) for call in requests(app, question))
    window.get_by_role("button", name="두 답변 받기").click()
    until(lambda: len(requests(app, question)) == 4)
    shut(person)
    assert all(call.gone.wait(SECONDS) for call in requests(app, question))


def test_a_deleted_chat_comes_back_whole(visit: Visit) -> None:
    person = visit()
    person.ask("지웠다가 되돌릴 질문", 1)
    address = person.page.url
    person.choose("삭제")
    expect(person.page.locator(".st-key-invitation")).to_be_visible()
    person.page.get_by_role("button", name="되돌리기").click()
    expect(person.answer(1)).to_contain_text("지웠다가 되돌릴 질문")
    expect(person.page).to_have_url(address)
    person.ask("되돌린 뒤의 질문", 2)


def test_a_chat_is_carried_to_an_empty_store_and_goes_on_there_in_english_and_dark(
    visit: Visit, browser: Browser, app: App, tmp_path: Path
) -> None:
    person = visit(path=f"/?s={talked(app)}")
    person.choose("링크·내보내기")
    with person.page.expect_download() as download:
        person.page.get_by_role("button", name="JSON으로 내보내기").click()
    download.value.save_as(tmp_path / "chat.json")
    upstream = Upstream(always=answer)
    with upstream, started(tmp_path, OPENAI_BASE_URL=upstream.url, OPENAI_API_KEY="x", GIEOK_TITLES="false") as empty:
        context = browser.new_context(
            viewport={"width": 1440, "height": 900}, locale="en-US", color_scheme="dark", accept_downloads=True
        )
        other = Person(context.new_page(), empty)
        other.open()
        other.page.get_by_role("button", name="Import").click()
        other.page.get_by_role("dialog").locator("input[type=file]").set_input_files(tmp_path / "chat.json")
        other.page.get_by_role("dialog").get_by_role("button", name="Import", exact=True).click()
        expect(other.answer(4)).to_be_visible()
        expect(other.panel).to_contain_text(SUMMARY)
        other.ask("Please go on with the trip", 5)
        expect(other.panel).to_contain_text("[Turns 1-3]")
        back = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
        assert other.page.evaluate(back) == "rgb(17, 23, 23)"
        chrome = other.page.locator("[data-testid=stSidebar]").inner_text()
        titles = ("한국어", "여행 질문입니다")
        assert [
            line for line in chrome.splitlines() if re.search("[가-힣]", line) and not any(t in line for t in titles)
        ] == []
        context.close()
