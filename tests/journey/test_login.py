"""Several users of one page, in a real browser: behind a proxy that names them, and with a login of the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from bench.port import free_port
from memory import USER
from tests.journey.application import App, Person, answer, started
from tests.journey.axe import violations
from tests.stub.provider import Provider
from tests.stub.upstream import Upstream

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
SECRET = "복숭아표식4711"
HEADER = "X-Forwarded-User"


@pytest.fixture(scope="module")
def upstream() -> Iterator[dict[str, str]]:
    """The settings of a hosted model that is a stub on loopback."""
    with Upstream(always=answer) as running:
        yield {"OPENAI_BASE_URL": running.url, "OPENAI_API_KEY": "x", "GIEOK_TITLES": "false"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, upstream: dict[str, str]) -> Iterator[App]:
    """The app behind a proxy that names the user, with long-term memory."""
    own = {"GIEOK_USER_HEADER": HEADER, "GIEOK_MEMORY": "true"}
    with started(tmp_path_factory.mktemp("header"), **upstream, **own) as running:
        yield running
        assert running.complaints() == []


def visitor(browser: Browser, app: App, name: str, **form: Any) -> Person:
    """Somebody whose requests come through the proxy: the header stands on the websocket, too."""
    encoded = name.encode().decode("latin-1")
    context = browser.new_context(locale="ko-KR", extra_http_headers={HEADER: encoded}, **form)
    return Person(context.new_page(), app)


def test_two_users_of_one_page_never_meet(browser: Browser, app: App) -> None:
    alice, bob = visitor(browser, app, "alice"), visitor(browser, app, "bob")
    alice.open()
    alice.ask(f"{SECRET} 하나를 말할게", 1)
    address = alice.page.url.removeprefix(app.url)
    assert "s=" in address
    expect(alice.row(SECRET)).to_be_visible()
    expect(alice.page.locator(".st-key-user")).to_contain_text("alice")

    bob.open()
    expect(bob.page.locator(".st-key-user")).to_contain_text("bob")
    expect(bob.page.locator(".gieok-list .row")).to_have_count(0)
    bob.open(address)
    expect(bob.page.get_by_text("찾을 수 없습니다").first).to_be_visible()
    expect(bob.page.locator(".st-key-answer-1")).to_have_count(0)
    bob.ask("내 표식이 뭐였지?", 1)
    expect(bob.page.locator("body")).not_to_contain_text(SECRET)

    alice.page.reload()
    expect(alice.row(SECRET)).to_be_visible()
    expect(alice.page.locator(".gieok-list .row")).to_have_count(1)
    again = visitor(browser, app, "alice")
    again.open(address)
    expect(again.answer(1)).to_contain_text(SECRET)
    for person in (alice, bob, again):
        person.page.context.close()


def test_the_machines_own_user_cannot_be_named_by_a_proxy(browser: Browser, app: App) -> None:
    somebody = visitor(browser, app, USER)
    somebody.page.goto(app.url)
    expect(somebody.page.locator(".st-key-login")).to_contain_text(USER)
    expect(somebody.input).to_have_count(0)
    somebody.page.context.close()


def test_a_login_by_openid_connect_opens_the_users_own_conversations(
    browser: Browser, tmp_path: Path, upstream: dict[str, str]
) -> None:
    port, secrets = free_port(), tmp_path / "secrets.toml"
    with Provider(sub="7", name="김민수", email="minsu@example.com") as provider:
        secrets.write_text(provider.section(f"http://127.0.0.1:{port}"), "utf-8")
        own = {"STREAMLIT_SECRETS_FILES": str(secrets)}
        with started(tmp_path / "app", port, **upstream, **own) as running:
            minsu = Person(browser.new_context(locale="ko-KR").new_page(), running)
            enter(minsu)
            expect(minsu.page.locator(".st-key-user")).to_contain_text("김민수")
            minsu.ask(f"{SECRET} 하나를 말할게", 1)
            address = minsu.page.url

            provider.claims = {"sub": "8", "name": "Zoé"}
            zoe = Person(browser.new_context(locale="ko-KR").new_page(), running)
            zoe.page.goto(address)
            expect(zoe.page.locator(".st-key-login")).to_be_visible()
            expect(zoe.page.locator("body")).not_to_contain_text(SECRET)
            found = violations(zoe.page)
            assert found == [], json.dumps(found, ensure_ascii=False, indent=1)
            enter(zoe)
            expect(zoe.page.locator(".st-key-user")).to_contain_text("Zoé")
            expect(zoe.page.locator(".gieok-list .row")).to_have_count(0)

            minsu.page.locator(".st-key-log-out button").click()
            expect(minsu.page.locator(".st-key-login")).to_be_visible()
            expect(minsu.page.locator("body")).not_to_contain_text(SECRET)
            assert "/end" in provider.asked, "the provider's own session ends as well"
            provider.claims = {"sub": "7", "name": "김민수"}
            enter(minsu)
            expect(minsu.row(SECRET)).to_be_visible()
            for person in (minsu, zoe):
                person.page.context.close()


def enter(person: Person) -> None:
    """Logs in with the page's button; the provider asks nothing."""
    person.page.goto(person.app.url)
    person.page.locator(".st-key-login-default button").click()
    expect(person.input).to_be_visible()
    expect(person.page.locator("[class*='st-key-chip-ready']")).to_have_count(1)
