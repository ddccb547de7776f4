"""Without a key: what the first page says, the download that can be stopped, and a key of one's own for one tab."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from model.catalogue import QWEN25_CODER
from model.lock import exclusive
from tests.journey.application import App, Person, answer, started
from tests.stub.reply import failed
from tests.stub.upstream import Upstream

pytestmark = pytest.mark.browser

KEY = "sk-typed-by-hand-7f3a9c"
HERE = 157_000_000


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder where somebody else is fetching the weights and has got 14 % of them."""
    folder = tmp_path_factory.mktemp("first")
    place = folder / "data" / "weights"
    place.mkdir(parents=True)
    with (place / f"{QWEN25_CODER.file}.part").open("wb") as part:
        part.truncate(HERE)
    with exclusive(place / f"{QWEN25_CODER.file}.lock"):
        yield folder


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """A server that takes the typed key alone."""
    with Upstream(always=answer, key=KEY) as running:
        yield running


@pytest.fixture(scope="module")
def app(weights: Path, browser: Browser) -> Iterator[App]:
    with started(weights, GIEOK_TITLES="false") as running:
        yield running


@pytest.fixture
def page(app: App, browser: Browser) -> Iterator[Person]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="ko-KR")
    person = Person(context.new_page(), app)
    person.open(ready="")
    yield person
    context.close()


def options(page: Page) -> None:
    page.get_by_role("button", name="설정", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible(timeout=20_000)


def hosted(page: Page, url: str, key: str) -> None:
    """Fills in the fields of a hosted model, as somebody who uses the keyboard does."""
    kind = page.get_by_role("dialog").get_by_role("radio", name="외부 서비스")
    kind.click()
    expect(kind).to_be_checked()
    page.get_by_label("서버 주소").fill(url)
    page.get_by_label("서버 주소").press("Tab")
    page.get_by_label("API 키").fill(key)
    page.get_by_label("API 키").press("Tab")


def test_three_lines_say_what_happens_and_the_download_can_be_stopped_and_resumed(page: Person) -> None:
    first = page.page.locator(".st-key-first-run")
    for said in ("처음 한 번만 약 1.1 GB", "이 컴퓨터에서 돌아갑니다", "이 컴퓨터를 떠나지 않습니다", "157 / 1,117 MB"):
        expect(first).to_contain_text(said, timeout=20_000)
    expect(page.page.locator(".st-key-samples button")).to_have_count(3)
    page.page.get_by_role("button", name="받기 취소").click()
    expect(first).to_contain_text("받기를 중단했습니다", timeout=20_000)
    first.get_by_role("button", name="이어서 받기").click()
    expect(first).to_contain_text("157 / 1,117 MB", timeout=20_000)


def test_it_says_so_in_english_on_a_phone(app: App, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, locale="en-US")
    person = Person(context.new_page(), app)
    person.open(ready="")
    expect(person.page.locator(".st-key-first-run")).to_contain_text("What you write does not leave this computer.")
    expect(person.page.locator(".st-key-open-panel button")).to_be_in_viewport(ratio=1)
    assert person.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    context.close()


def test_the_test_button_says_in_words_what_is_wrong(page: Person, upstream: Upstream) -> None:
    options(page.page)
    dialog = page.page.get_by_role("dialog")
    hosted(page.page, upstream.url, "sk-wrong")
    dialog.get_by_role("button", name="연결 테스트").click()
    expect(dialog).to_contain_text("키를 받아들이지 않았습니다 (HTTP 401)", timeout=20_000)
    hosted(page.page, "http://127.0.0.1:9/v1", KEY)
    dialog.get_by_role("button", name="연결 테스트").click()
    expect(dialog).to_contain_text("모델에 연결할 수 없습니다", timeout=20_000)
    hosted(page.page, "127.0.0.1:9", KEY)
    page.page.get_by_label("API 키").press("Enter")
    expect(dialog).to_contain_text("http:// 또는 https://로 시작", timeout=20_000)
    dialog.get_by_role("radio", name="로컬 서버").click()
    dialog.get_by_role("button", name="모델 다시 찾기").click()
    page.page.get_by_label("서버 주소").fill("http://127.0.0.1:9/v1")
    page.page.get_by_label("서버 주소").press("Enter")
    expect(dialog).to_contain_text("응답 없음")
    dialog.get_by_role("button", name="연결 테스트").click()
    expect(dialog.get_by_role("alert")).to_contain_text("127.0.0.1:9", timeout=20_000)


def test_a_typed_key_serves_this_tab_and_is_kept_nowhere(
    page: Person, app: App, upstream: Upstream, weights: Path, browser: Browser
) -> None:
    options(page.page)
    dialog = page.page.get_by_role("dialog")
    hosted(page.page, upstream.url, KEY)
    dialog.get_by_role("button", name="연결 테스트").click()
    expect(dialog).to_contain_text("stub-model: ", timeout=20_000)
    dialog.get_by_role("button", name="이 모델 쓰기").click()
    expect(page.page.locator("[class*='st-key-chip-ready']")).to_have_count(1, timeout=20_000)
    page.page.locator(".st-key-samples button").first.click()
    expect(page.see(1)).to_contain_text("지금 서울은 몇 시야?")

    assert KEY not in page.page.url
    browser_keeps = page.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert KEY not in browser_keeps + json.dumps(page.page.context.cookies())
    written = [path for path in weights.rglob("*") if path.is_file() and path.stat().st_size < HERE]
    assert any(path.suffix == ".db" for path in written)
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in app.log.read_text("utf-8")

    other = browser.new_context(viewport={"width": 1440, "height": 900}, locale="ko-KR")
    stranger = Person(other.new_page(), app)
    stranger.open(ready="")
    expect(stranger.page.locator(".st-key-first-run")).to_be_visible(timeout=20_000)
    options(stranger.page)
    stranger.page.get_by_role("dialog").get_by_role("radio", name="외부 서비스").click()
    expect(stranger.page.get_by_label("API 키")).to_have_value("")
    assert KEY not in stranger.page.content()
    other.close()

    page.page.reload()
    expect(page.page.locator("[class*='st-key-chip-ready']")).to_have_count(0, timeout=20_000)
    options(page.page)
    expect(dialog).not_to_contain_text("이 탭에서만 고른 모델", timeout=20_000)


def test_a_model_can_be_chosen_while_an_answer_is_running(page: Person, upstream: Upstream) -> None:
    options(page.page)
    hosted(page.page, upstream.url, KEY)
    page.page.get_by_role("button", name="이 모델 쓰기").click()
    expect(page.page.locator("[class*='st-key-chip-ready']")).to_have_count(1, timeout=20_000)
    page.say("천천히 답해줘")
    expect(page.live).to_contain_text("도착하는", timeout=20_000)
    options(page.page)
    dialog = page.page.get_by_role("dialog")
    expect(dialog).to_contain_text("이 탭에서만 고른 모델")
    dialog.get_by_role("button", name="원래 모델로").click()
    expect(dialog).to_be_hidden()
    expect(page.see(1)).to_contain_text("이 답변은 한 단어씩")


def test_a_server_that_fails_is_told_with_the_message_kept(page: Person) -> None:
    with Upstream(always=failed(500, "server_error", x_should_retry="false")) as broken:
        options(page.page)
        hosted(page.page, broken.url, KEY)
        page.page.get_by_role("button", name="이 모델 쓰기").click()
        page.say("이 질문은 남아 있어야 합니다")
        expect(page.see(1, seconds=60)).to_contain_text("HTTP 500")
        expect(page.page.locator(".st-key-question-1")).to_contain_text("이 질문은 남아 있어야 합니다")


def test_the_app_has_nothing_to_complain_about(app: App) -> None:
    assert app.complaints() == []
