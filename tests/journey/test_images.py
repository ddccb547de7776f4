"""Images in a real browser: sent with a question, seen by the model, shown with the turn, and refused in words."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import FilePayload, Page, expect

from tests.journey.application import App
from tests.journey.conftest import Visit

pytestmark = pytest.mark.browser
LONG = 60_000


def draw(colour: str) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (600, 400), colour).save(written, "PNG")
    return written.getvalue()


def attach(page: Page, name: str, data: bytes) -> None:
    payload: FilePayload = {"name": name, "mimeType": "image/png", "buffer": data}
    page.locator("[data-testid=stChatInput] input[type=file]").set_input_files(payload)
    expect(page.locator("[data-testid=stChatInput]")).to_contain_text(name)
    expect(page.get_by_role("button", name="Send message")).to_be_enabled(timeout=LONG)


def count_images(app: App) -> int:
    """How many images the last question that reached the model had."""
    assert app.upstream is not None
    contents: list[Any] = [request.body["messages"][-1]["content"] for request in app.upstream.requests]
    asked = [content for content in contents if "colour" in str(content)]
    return sum(part["type"] == "image_url" for part in asked[-1]) if isinstance(asked[-1], list) else 0


def test_an_image_is_seen_by_the_model_and_stays_with_its_turn(visit: Visit) -> None:
    person = visit(locale="en-US")
    page = person.page
    attach(page, "red.png", draw("red"))
    person.ask("What colour is this?", 1)
    assert count_images(person.app) == 1
    shown = page.locator(".st-key-question-1 [data-testid=stImage] img")
    expect(shown).to_have_attribute("alt", "red.png")
    expect(shown).to_have_js_property("naturalWidth", 600)  # whole, for the view in full size
    expect(shown).to_have_js_property("width", 220)
    person.ask("Is the colour dark?", 2)
    assert count_images(person.app) == 1, "it goes along with the next questions"
    page.reload()
    expect(shown).to_be_visible(timeout=LONG)


def test_an_image_without_words_waits_for_them_and_can_be_taken_off(visit: Visit) -> None:
    person = visit(locale="en-US")
    page = person.page
    for name in ("one.png", "two.png"):
        attach(page, name, draw("blue"))
        page.get_by_role("button", name="Send message").click()
        waiting = page.locator(".st-key-next-files [data-testid=stImage] img")
        expect(waiting.last).to_have_attribute("alt", name, timeout=LONG)
    expect(waiting).to_have_count(2)
    page.get_by_role("button", name="Remove this file").last.click()
    expect(waiting).to_have_count(1)
    person.ask("Which colour do you see?", 1)
    assert count_images(person.app) == 1
    expect(waiting).to_have_count(0)
    expect(page.locator(".st-key-question-1 [data-testid=stImage] img")).to_have_attribute("alt", "one.png")


def test_what_is_no_image_is_refused_beside_the_input_and_the_text_stays(visit: Visit) -> None:
    person = visit()
    page = person.page
    attach_broken: FilePayload = {"name": "사진.png", "mimeType": "image/png", "buffer": b"no image"}
    page.locator("[data-testid=stChatInput] input[type=file]").set_input_files(attach_broken)
    person.input.fill("이 사진은 무슨 색이야?")
    send = page.locator("[data-testid=stChatInputSubmitButton]")
    expect(send).to_be_enabled(timeout=LONG)
    send.click()
    expect(page.locator(".st-key-file-refused")).to_contain_text("사진.png", timeout=LONG)
    expect(person.input).to_have_value("이 사진은 무슨 색이야?")


def test_a_text_that_comes_back_stays_though_the_page_is_drawn_again_at_once(visit: Visit) -> None:
    person = visit()
    page = person.page
    person.ask("그 전의 질문", 1)
    for round_, pause in enumerate((10, 60, 150, 400)):
        text, name = f"{round_}번째로 돌아온 글", f"사진{round_}.png"
        attach_broken: FilePayload = {"name": name, "mimeType": "image/png", "buffer": b"no image"}
        page.locator("[data-testid=stChatInput] input[type=file]").set_input_files(attach_broken)
        expect(page.locator("[data-testid=stChatInput]")).to_contain_text(name, timeout=LONG)
        person.input.fill(text)
        expect(page.locator("[data-testid=stChatInputSubmitButton]")).to_be_enabled(timeout=LONG)
        page.evaluate(
            """(pause) => {
                document.querySelector('[data-testid="stChatInputSubmitButton"]').click();
                setTimeout(() => document.querySelector('[class*="st-key-thumb-"] button').click(), pause);
            }""",
            pause,
        )
        expect(page.locator(".st-key-file-refused")).to_contain_text(name, timeout=LONG)
        expect(person.input).to_have_value(text, timeout=LONG)
        person.input.fill("")


def test_a_pasted_image_goes_with_the_message(visit: Visit) -> None:
    person = visit(locale="en-US")
    page = person.page
    person.input.focus()
    page.evaluate(
        """(bytes) => {
            const file = new File([new Uint8Array(bytes)], "image.png", {type: "image/png"});
            const clipboardData = new DataTransfer();
            clipboardData.items.add(file);
            document.activeElement.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true}));
        }""",
        list(draw("green")),
    )
    expect(page.locator("[data-testid=stChatInput]")).to_contain_text("image.png")
    expect(page.get_by_role("button", name="Send message")).to_be_enabled(timeout=LONG)
    person.ask("What colour was pasted?", 1)
    assert count_images(person.app) == 1
