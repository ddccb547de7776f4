"""Without a key: what the first page says, the download that can be stopped, and a model and a key of one's own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from model.choice import kept
from model.embedded.catalogue import QWEN25_CODER
from model.file_lock import hold_file_lock
from tests.journey.application import LASTING, App, Person, answer, list_holding, started
from tests.journey.conftest import Visit
from tests.stub.reply import failed, said
from tests.stub.upstream import Upstream

pytestmark = pytest.mark.browser

KEY = "sk-typed-by-hand-7f3a9c"
HERE = 157_000_000
PATIENCE = 60_000


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder where somebody else is fetching the weights and has got 14 % of them."""
    folder = tmp_path_factory.mktemp("first")
    place = folder / "data" / "weights"
    place.mkdir(parents=True)
    with (place / f"{QWEN25_CODER.file}.part").open("wb") as part:
        part.truncate(HERE)
    with hold_file_lock(place / f"{QWEN25_CODER.file}.lock"):
        yield folder


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """A server that takes the typed key alone."""
    with Upstream(always=answer, key=KEY) as running:
        yield running


@pytest.fixture(scope="module")
def app(weights: Path) -> Iterator[App]:
    with started(weights, GIEOK_TITLES="false") as running:
        yield running


@pytest.fixture(autouse=True)
def unchosen(weights: Path) -> Iterator[None]:
    """What a test chooses holds for the installation; the next test begins without it."""
    yield
    for name in (kept.FILE, kept.KEY_FILE):
        (weights / "data" / name).unlink(missing_ok=True)


@pytest.fixture
def page(visit: Visit) -> Person:
    return visit(ready="")


def options(page: Page) -> None:
    page.get_by_role("button", name="설정", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()


def hosted(page: Page, url: str, key: str) -> None:
    """Fills in the fields of a hosted model, as somebody who uses the keyboard does."""
    kind = page.get_by_role("dialog").get_by_role("radio", name="API 연결")
    kind.click()
    expect(kind).to_be_checked()
    expect(page.get_by_label("API 키")).to_be_visible()  # until then an address is that of a local server
    page.get_by_label("서버 주소").fill(url)
    page.get_by_label("서버 주소").press("Tab")
    page.get_by_label("API 키").fill(key)
    page.get_by_label("API 키").press("Tab")


def tried(page: Page) -> Locator:
    """Presses the button that tries what was entered; what comes of it is told there."""
    page.get_by_role("dialog").get_by_role("button", name="테스트하고 쓰기").click()
    return page.locator(".st-key-models-result")


def ready(page: Page) -> Locator:
    """What says that a model is ready."""
    return page.locator("[class*='st-key-chip-ready']")


def chosen(page: Page, url: str) -> None:
    """Chooses the hosted model there with the right key, and closes the window."""
    options(page)
    hosted(page, url, KEY)
    expect(tried(page)).to_contain_text("다음 메시지부터 이 모델을 씁니다", timeout=PATIENCE)
    closed(page)
    expect(ready(page)).to_have_count(1, timeout=PATIENCE)


def closed(page: Page) -> None:
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden(timeout=PATIENCE)


def holding(weights: Path, text: str) -> list[str]:
    """The names of the files of the installation that have this text in them; at least its database is searched."""
    assert list(weights.rglob("*.db"))
    return [Path(path).name for path in list_holding(weights, text, HERE)]


def test_three_lines_say_what_happens_and_the_download_can_be_stopped_and_resumed(page: Person) -> None:
    first = page.page.locator(".st-key-first-run")
    for line in ("처음 한 번만 약 1.1 GB", "이 컴퓨터에서 실행됩니다", "이 컴퓨터를 떠나지 않습니다", "157 / 1,117 MB"):
        expect(first).to_contain_text(line)
    expect(page.page.locator(".st-key-samples button")).to_have_count(3)
    page.page.get_by_role("button", name="받기 취소").click()
    expect(first).to_contain_text("받기를 중단했습니다")
    first.get_by_role("button", name="이어서 받기").click()
    expect(first).to_contain_text("157 / 1,117 MB")


def test_it_says_so_in_english_on_a_phone(visit: Visit) -> None:
    person = visit(390, 844, locale="en-US", ready="")
    expect(person.page.locator(".st-key-first-run")).to_contain_text("What you write does not leave this computer.")
    expect(person.page.locator(".st-key-open-panel button")).to_be_in_viewport(ratio=1)
    assert person.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_test_of_a_choice_says_in_words_what_is_wrong(page: Person, upstream: Upstream, weights: Path) -> None:
    options(page.page)
    dialog = page.page.get_by_role("dialog")
    hosted(page.page, upstream.url, "sk-wrong")
    expect(tried(page.page)).to_contain_text("API 키가 올바르지 않습니다", timeout=PATIENCE)
    hosted(page.page, "http://127.0.0.1:9/v1", KEY)
    expect(tried(page.page)).to_contain_text("모델에 연결할 수 없습니다", timeout=PATIENCE)
    hosted(page.page, "127.0.0.1:9", KEY)
    page.page.get_by_label("API 키").press("Enter")
    expect(dialog).to_contain_text("http:// 또는 https://로 시작", timeout=PATIENCE)
    dialog.get_by_role("radio", name="로컬 서버").click()
    dialog.get_by_role("button", name="모델 다시 찾기").click()
    expect(page.page.get_by_label("API 키")).to_have_count(0)
    page.page.get_by_label("서버 주소").fill("http://127.0.0.1:9/v1")
    page.page.get_by_label("서버 주소").press("Enter")
    expect(dialog).to_contain_text("응답 없음", timeout=PATIENCE)
    expect(tried(page.page).get_by_role("alert")).to_contain_text("127.0.0.1:9", timeout=PATIENCE)
    expect(ready(page.page)).to_have_count(0)
    assert not (weights / "data" / kept.FILE).exists()
    assert holding(weights, KEY) == []


def test_a_typed_key_serves_the_installation_and_is_kept_in_its_file_alone(
    page: Person, app: App, upstream: Upstream, weights: Path, visit: Visit
) -> None:
    options(page.page)
    dialog = page.page.get_by_role("dialog")
    hosted(page.page, upstream.url, KEY)
    expect(tried(page.page)).to_contain_text("stub-model: ", timeout=PATIENCE)
    expect(page.page.get_by_label("API 키")).to_have_value("", timeout=PATIENCE)
    closed(page.page)
    expect(ready(page.page)).to_have_count(1, timeout=PATIENCE)
    page.page.locator(".st-key-samples button").first.click()
    expect(page.see(1, seconds=60)).to_contain_text("지금 서울은 몇 시야?")

    assert KEY not in page.page.url
    assert KEY not in page.page.content()
    browser_keeps = page.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert KEY not in browser_keeps + json.dumps(page.page.context.cookies())
    assert holding(weights, KEY) == [kept.KEY_FILE]
    if os.name == "posix":
        assert (weights / "data" / kept.KEY_FILE).stat().st_mode & 0o077 == 0
    assert KEY not in app.log.read_text("utf-8")

    stranger = visit()
    expect(stranger.page.locator(".st-key-first-run")).to_have_count(0)
    options(stranger.page)
    stranger.page.get_by_role("dialog").get_by_role("radio", name="API 연결").click()
    expect(stranger.page.get_by_label("API 키")).to_have_value("")
    expect(stranger.page.get_by_label("API 키")).to_have_attribute("placeholder", re.compile("저장된 키를 쓰는 중"))
    assert KEY not in stranger.page.content()

    page.page.reload()
    expect(ready(page.page)).to_have_count(1, timeout=PATIENCE)
    options(page.page)
    expect(dialog).to_contain_text("이 설치 전체에서 쓰고, 다시 시작해도 그대로입니다", timeout=PATIENCE)
    dialog.get_by_role("button", name="저장된 키 지우기").click()
    expect(ready(page.page)).to_have_count(0, timeout=PATIENCE)
    assert holding(weights, KEY) == []


def test_a_model_can_be_chosen_while_an_answer_is_running(page: Person, upstream: Upstream) -> None:
    chosen(page.page, upstream.url)
    page.say("아주 천천히 답해줘")
    expect(page.live).to_contain_text("도착하는", timeout=PATIENCE)
    options(page.page)
    dialog = page.page.get_by_role("dialog")
    expect(dialog).to_contain_text("화면에서 고른 모델", timeout=PATIENCE)
    dialog.get_by_role("button", name="원래 모델로").click()
    expect(dialog.get_by_role("button", name="원래 모델로")).to_have_count(0, timeout=PATIENCE)
    expect(ready(page.page)).to_have_count(0, timeout=PATIENCE)  # no Escape here: it stops the answer
    upstream.hurry()
    dialog.get_by_role("button", name="닫기").click()
    page.see_whole(1, LASTING, seconds=120)  # it went on to its end


def test_a_server_that_fails_is_told_with_the_message_kept(page: Person) -> None:
    with Upstream(said("OK"), always=failed(500, "server_error", x_should_retry="false")) as broken:
        chosen(page.page, broken.url)
        page.say("이 질문은 남아 있어야 합니다")
        expect(page.see(1, seconds=60)).to_contain_text("HTTP 500")
        expect(page.page.locator(".st-key-question-1")).to_contain_text("이 질문은 남아 있어야 합니다")


def test_the_app_has_nothing_to_complain_about(app: App) -> None:
    assert app.complaints() == []
