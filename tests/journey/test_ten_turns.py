"""The whole way on a real model: ten turns in a real browser, with everything between a click and llama.cpp."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.journey.application import Person, started

pytestmark = [pytest.mark.browser, pytest.mark.small_model]

QUESTIONS = (
    "My name is Mina and I live in Busan with two cats. Tell me something about Busan.",
    "I want to plan a trip to Jeju on March 5. What could I see there?",
    "My budget is 500 dollars for three days. Is that enough?",
    "What food should I try on the island?",
    "Which of these places is best with children?",
    "I like hiking. Name one mountain that I could climb.",
    "What should I pack for the weather in March?",
    "How do I get from the airport to the city?",
    "Write a short list of things to book before I go.",
    "Please say in one sentence what we planned.",
)


@pytest.mark.timeout(900)
def test_ten_turns_with_a_slider_and_a_refresh(browser: Browser, small_model: Path, tmp_path: Path) -> None:
    environment = {"GIEOK_PROVIDER": "embedded", "GIEOK_EMBEDDED_PATH": str(small_model)}
    small = {"GIEOK_ANSWER_TOKENS": "60", "GIEOK_EMBEDDED_THREADS": "1"}
    with started(tmp_path, **environment, **small) as app:
        context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
        person = Person(context.new_page(), app)
        person.open()
        for number, question in enumerate(QUESTIONS, 1):
            person.say(question)
            if number == 5:
                person.move_slider(2)
            if number == 7:
                begun = person.live.locator("[data-testid=stMarkdown]")
                expect(begun.or_(person.answer(number)).first).to_be_visible()  # it may end before it is looked at
                person.page.reload()
            person.see(number, seconds=180)
        panel = person.panel
        for head in ("[Turns 1-3]", "[Turns 4-6]", "[Turns 7-9]"):
            expect(panel).to_contain_text(head)
        expect(panel).to_contain_text("Current compression: 0.4")
        expect(panel).to_contain_text("The summary of turns 10-12 is used from turn 13 on.")
        expect(panel).to_contain_text(re.compile("The full history would have been|same as the full history"))
        said = panel.text_content() or ""  # earlier summaries are folded
        context.close()
    agrees_with_the_record(said, tmp_path / "data" / "gieok.db")
    assert app.complaints() == []


def agrees_with_the_record(said: str, database: Path) -> None:
    """Every answer is kept whole, and the panel says of every chunk what the ledger says."""
    with sqlite3.connect(database) as record:
        turns = record.execute("select number, status, length(answer) from turn order by number").fetchall()
        ledger = record.execute(
            "select first_turn, rate, json_extract(record, '$.original_chars'), json_extract(record, '$.summary_chars')"
            " from summary where status != 'superseded' order by first_turn"
        ).fetchall()
    record.close()
    assert [(number, status) for number, status, _ in turns] == [(number, "done") for number in range(1, 11)]
    assert all(length for _, _, length in turns)
    assert [first for first, *_ in ledger] == [1, 4, 7]
    rates = [rate for _, rate, *_ in ledger]
    assert rates == [0.3, 0.4, 0.4], "from the next summary on"
    made = [(original, length) for _, _, original, length in ledger if original is not None]
    for original, length in made:
        assert f"{original} → {length} characters" in said
    assert f"Summaries: {len(made)} (covering {3 * len(made)} turns)" in said
    assert said.count("was not used") == len(ledger) - len(made)
