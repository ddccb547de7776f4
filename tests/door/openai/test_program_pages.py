"""The pages of SillyTavern and Open WebUI in Chromium, in front of the service: what a person clicks there, the session
in Gieok follows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from store import Store
from store.export.portable import import_conversations
from tests.door.openai.program import OpenWebUI, SillyTavern, told, versions
from tests.door.openai.running import Running
from tests.stub.reply import said
from tests.wait import until

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    opened = context.new_page()
    opened.set_default_timeout(120_000)
    yield opened
    context.close()


def opened_since(served: Running, before: set[str]) -> str:
    """The one session that is new."""
    [session] = set(served.sessions()) - before
    return session


# --- SillyTavern --------------------------------------------------------------------------------


def open_tavern(page: Page, tavern: SillyTavern) -> Locator:
    """Opens the chat with the first character; returns its messages."""
    file = tavern.data / "default-user" / "settings.json"
    settings = json.loads(file.read_text("utf-8"))
    settings |= {"firstRun": False, "main_api": "openai"}
    source = {"chat_completion_source": "custom", "custom_url": tavern.endpoint, "custom_model": "gieok"}
    settings["oai_settings"] |= source
    settings["power_user"]["auto_connect"] = True
    file.write_text(json.dumps(settings), "utf-8")
    page.goto(tavern.url)
    page.wait_for_function("window.SillyTavern && !document.querySelector('#preloader')")
    page.wait_for_function(
        "(its => its.characters.length && its.onlineStatus !== 'no_connection')(SillyTavern.getContext())"
    )
    # it goes on drawing its welcome, message by message, into whatever chat is opened meanwhile
    page.wait_for_function(
        "document.querySelector('.welcomePanel') && document.querySelectorAll('#chat .mes').length > 1"
    )
    select, selected = "SillyTavern.getContext().selectCharacterById(0)", "SillyTavern.getContext().characterId"
    while str(page.evaluate(selected)) != "0":  # it drops a choice while it saves another chat
        page.evaluate(select)
        page.wait_for_timeout(100)
    messages = page.locator("#chat .mes")
    expect(messages).to_have_count(1)  # the greeting
    return messages


def test_what_is_clicked_in_sillytavern_is_followed(page: Page, tavern: SillyTavern, served: Running) -> None:
    before, messages = set(served.sessions()), open_tavern(page, tavern)

    def sees(answer: str) -> None:
        expect(page.locator("#chat .last_mes .mes_text")).to_have_text(answer)
        page.wait_for_function("!document.body.dataset.generating")  # it takes nothing before

    def say(text: str, answer: str) -> None:
        served.answers[text] = said(answer)
        page.fill("#send_textarea", text)
        page.click("#send_but")
        sees(answer)

    say("Hello, my name is Minsu.", "Welcome, Minsu.")
    say("I live in Busan.", "By the sea, then.")
    session = opened_since(served, before)
    served.answers["I live in Busan."] = said("A fine harbour.")
    page.locator("#chat .last_mes .swipe_right").click()
    sees("A fine harbour.")
    until(lambda: told(served.turns(session))[1:] == [("I live in Busan.", "A fine harbour.")])
    served.answers["I live in Daegu."] = said("Hot summers there.")
    asked = messages.nth(3)
    asked.hover()
    asked.locator(".mes_edit").click()
    page.fill("#curEditTextarea", "I live in Daegu.")
    asked.locator(".mes_edit_done").click()
    page.click("#options_button")
    page.click("#option_regenerate")
    sees("Hot summers there.")
    page.fill("#send_textarea", "/del 2")
    page.click("#send_but")
    expect(messages).to_have_count(3)
    say("I have a dog.", "What is it called?")
    assert opened_since(served, before) == session
    kept = [("Hello, my name is Minsu.", "Welcome, Minsu."), ("I have a dog.", "What is it called?")]
    until(lambda: told(served.turns(session)) == kept)
    assert versions(served, session, 3) == 4  # the greeting is turn 1
    check_chat_file(tavern)


def check_chat_file(tavern: SillyTavern) -> None:
    """The file that the program itself wrote of the chat comes over as a story."""
    store, asked = Store("sqlite://").of("reader"), "I have a dog."
    folder = tavern.data / "default-user" / "chats"
    until(lambda: any(asked in file.read_text("utf-8") for file in folder.glob("*/*.jsonl")))
    [file] = [file for file in folder.glob("*/*.jsonl") if asked in file.read_text("utf-8")]
    made = import_conversations(store, file.read_bytes(), 10**7, len)
    assert made.faults == ()
    greeting, *turns = store.turns(made.sessions[0])
    assert (greeting.number, greeting.question) == (0, "")
    assert [turn.question for turn in turns] == ["Hello, my name is Minsu.", asked]
    assert turns[0].answer == "Welcome, Minsu."
    world = store.worlds.world(store.session(made.sessions[0]).world)
    assert (world.name, world.player) == ("Seraphina", "User")
    store.close()


# --- Open WebUI ---------------------------------------------------------------------------------


def test_what_is_clicked_in_open_webui_is_followed(page: Page, webui: OpenWebUI, served: Running) -> None:
    before = set(served.sessions())
    news = page.get_by_role("button", name="Okay, Let's Go!")  # of a new version
    page.add_locator_handler(news, lambda shown: shown.click())
    page.goto(webui.url)
    served.answers["</chat_history>"] = said(json.dumps({"title": "A cat", "tags": ["pets"], "follow_ups": ["Why?"]}))

    def say(text: str, answer: str, number: int) -> None:
        served.answers[text] = said(answer)
        page.click("#chat-input")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        sees(answer, number)

    def sees(answer: str, number: int) -> None:
        expect(page.get_by_text(answer)).to_have_count(1)
        expect(page.get_by_label("Regenerate")).to_have_count(number)  # it takes nothing before

    say("My cat is called Nabi.", "A pretty name.", 1)
    say("Where is she?", "On the roof.", 2)
    session = opened_since(served, before)
    served.answers["Where is she?"] = said("In the garden.")
    page.get_by_label("Regenerate").last.click()
    page.get_by_text("Try Again").click()
    sees("In the garden.", 2)
    until(lambda: told(served.turns(session))[1:] == [("Where is she?", "In the garden.")])
    served.answers["How old is she?"] = said("Two years.")
    asked = page.locator("[id^=message-]", has_text=re.compile("Where is she"))
    asked.first.hover()
    asked.first.get_by_label("Edit").first.click()
    page.locator("textarea[id^=message-edit-]").fill("How old is she?")
    page.locator("#confirm-edit-message-button").click()
    sees("Two years.", 2)
    say("And how heavy?", "Four kilograms.", 3)
    until(lambda: page.title().startswith("A cat"))
    assert opened_since(served, before) == session
    kept = [
        ("My cat is called Nabi.", "A pretty name."),
        ("How old is she?", "Two years."),
        ("And how heavy?", "Four kilograms."),
    ]
    until(lambda: told(served.turns(session)) == kept)
    assert [versions(served, session, number) for number in (1, 2, 3)] == [1, 3, 1]
