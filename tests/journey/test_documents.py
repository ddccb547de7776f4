"""Documents in a real browser: uploaded, asked about, cited, traced and deleted, against a stub model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from retrieval import Library
from settings import load_settings
from store import Store
from tests.journey.application import App, started
from tests.journey.axe import still
from tests.journey.conftest import Visit
from tests.journey.library import MANUAL, REFUND, reply
from tests.stub.upstream import Upstream

pytestmark = pytest.mark.browser
LONG = 60_000


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with an empty library; the stub searches the documents that are added and cites what it finds."""
    folder = tmp_path_factory.mktemp("app")
    begun(folder / "data")
    with Upstream(always=reply) as upstream:
        settings = {"OPENAI_BASE_URL": upstream.url, "OPENAI_API_KEY": "x", "GIEOK_MODEL_RETRIES": "0"}
        settings |= {"GIEOK_TITLES": "false", "GIEOK_RETRIEVAL": "true"}
        with started(folder, **settings) as running:
            yield running


def begun(data: Path) -> None:
    """Gives the library in this folder a first, empty index: only to a new library does the app add Gieok's own
    documents."""
    chosen = load_settings(_env_file=None, data_dir=data)
    with closing(Store(chosen.database)) as store, closing(Library.open(chosen, store)) as library:
        library.rebuild()
        assert not library.is_new


def upload(page: Page, *files: tuple[str, bytes]) -> None:
    """Gives files to the field, as a drop does."""
    given: list[FilePayload] = [
        {"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files
    ]
    page.locator("[data-testid=stFileUploader] input[type=file]").set_input_files(given)


def test_two_files_are_uploaded_asked_about_cited_traced_and_one_deleted(visit: Visit) -> None:
    person = visit()
    page = person.page
    page.get_by_role("button", name="문서", exact=True).click()
    upload(page, ("환불.md", REFUND.encode()), ("broken.pdf", b"%PDF-1.4 nothing else"))
    expect(page.get_by_text("추가 1 · 실패 1")).to_be_visible(timeout=LONG)
    expect(page.locator(".st-key-documents-adding")).to_contain_text("broken.pdf")
    rows = page.locator(".st-key-document-rows")
    expect(rows).to_contain_text("섹션 2개, 문단 2개")
    page.reload()
    expect(rows).to_contain_text("환불.md", timeout=LONG)

    page.get_by_role("button", name="새 대화").first.click()
    answer = person.ask("환불은 며칠 안에 신청하나요?", 1, seconds=60)
    expect(answer).to_contain_text("7일 안에 신청할 수 있습니다")
    source = answer.get_by_role("button", name="[1] 환불.md › 환불 기간")
    source.click()
    window = page.get_by_role("dialog")
    expect(window.locator("mark.passage")).to_contain_text("환불은 구매일로부터 7일")
    expect(window.locator("mark.passage b").first).to_have_text("환불은")
    page.keyboard.press("Escape")
    expect(window).to_have_count(0)
    number = answer.get_by_role("link", name="[1]")
    for opens in (number.click, partial(number.press, "Enter")):
        opens()
        expect(window.locator("mark.passage")).to_contain_text("환불은 구매일로부터 7일")
        page.keyboard.press("Escape")
        expect(window).to_have_count(0)
    for address in ("#source-1-1, .st-key-new-chat button", "#source-1-1 button"):  # as a model could write it
        number.evaluate("(link, address) => link.setAttribute('href', address)", address)
        number.click()
        expect(window).to_have_count(0)
    expect(answer).to_be_visible()
    assert len(page.context.pages) == 1, "it leads nowhere else"
    assert "#" not in page.url

    page.get_by_role("tab", name="찾은 문단").click()
    hits = page.locator(".gieok-hits")
    expect(hits.get_by_role("row", name="[1] 환불.md › 환불 기간")).to_be_visible()
    expect(person.panel).to_contain_text("답하기에 충분함")

    page.get_by_role("button", name="문서", exact=True).click()
    for name in ("환불.md", "broken.pdf"):
        entry = rows.locator("[data-testid=stLayoutWrapper]", has=page.get_by_text(name, exact=True))
        entry.get_by_role("button", name="문서 메뉴").last.click()
        page.get_by_role("menuitem", name="삭제").click()
        page.get_by_role("button", name="삭제", exact=True).click()
        expect(rows.get_by_text(name, exact=True)).to_have_count(0)
    page.get_by_role("button", name="대화로 돌아가기").click()
    person.answer(1).get_by_role("button", name="[1]").click()
    expect(window).to_contain_text("이 문서가 삭제되었습니다")
    expect(window.locator("mark.passage")).to_contain_text("7일")
    assert person.app.complaints() == []


def test_a_file_dropped_into_the_chat_is_in_before_its_question_is_answered(visit: Visit) -> None:
    person = visit(locale="en-US")
    page = person.page
    data: FilePayload = {"name": "manual.md", "mimeType": "text/markdown", "buffer": MANUAL.encode()}
    page.locator("[data-testid=stChatInput] input[type=file]").set_input_files(data)
    expect(page.locator("[data-testid=stChatInput]")).to_contain_text("manual.md")
    person.input.fill("How long does the warranty last?")
    expect(page.get_by_role("button", name="Send message")).to_be_enabled()  # until then the file is on its way
    person.input.press("Enter")
    answer = person.see(1, seconds=60)
    expect(answer).to_contain_text("two years from the day of purchase. [1]")
    chip = page.locator(".st-key-chips-1").get_by_role("button", name="manual.md")
    expect(chip).to_be_visible()
    page.reload()
    chip.click(timeout=LONG)
    window = page.get_by_role("dialog")
    expect(window).to_contain_text("two years from the day of purchase")
    page.keyboard.press("Escape")
    expect(window).to_have_count(0)

    reach, tip = page.locator(".st-key-reach").get_by_role("button"), page.get_by_role("tooltip")
    reach.hover()
    expect(tip).to_have_count(1)
    reach.click()
    expect(page.get_by_text("Files of this chat", exact=True)).to_be_visible()
    expect(tip).to_have_count(0)  # it would lie over what the button has opened
    page.get_by_text("Files of this chat", exact=True).click()
    expect(page.get_by_role("checkbox", name="Files of this chat")).not_to_be_checked()
    page.keyboard.press("Escape")
    expect(person.ask("Is there a warranty?", 2, seconds=60)).not_to_contain_text("two years")


def test_on_a_phone_documents_are_reached_and_nothing_is_cut_off(visit: Visit) -> None:
    person = visit(width=390, height=844)
    page = person.page
    page.goto(f"{person.app.url}/?view=documents")
    upload(page, ("phone.md", MANUAL.encode()))
    expect(page.locator(".st-key-document-rows")).to_contain_text("phone.md", timeout=LONG)
    wide = "document.documentElement.scrollWidth - innerWidth"
    still(page)
    assert page.evaluate(wide) <= 0
    page.locator(".st-key-document-rows").scroll_into_view_if_needed()
    menu = page.locator("[class*=st-key-document-menu-] button").first
    box = menu.bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 390
    page.get_by_role("button", name="대화로 돌아가기").click()
    person.ask("warranty는 몇 년인가요?", 1, seconds=60)
    person.answer(1).locator("[class*=st-key-source-] button").first.click()
    expect(page.get_by_role("dialog").locator("mark.passage")).to_contain_text("two years")
    assert page.evaluate(wide) <= 0
