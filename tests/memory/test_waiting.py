"""What a short session was told reaches the next one before anybody waits for a fold."""

from __future__ import annotations

import time

import pytest
import redis

from memory import Memory
from memory.key import Scope
from tests.memory.conftest import Opened
from tests.memory.models import good
from tests.memory.test_memory import fold, forget, talk

TOLD = {
    "en": ("My name is Ana Lopez.", "I'm allergic to peanuts.", "My dog is Rex."),
    "ko": ("내 이름은 김지우야.", "나는 땅콩 알레르기가 있어.", "우리 강아지 이름은 초코야."),
}
WORDS = {"en": ("Ana Lopez", "peanuts", "Rex"), "ko": ("김지우", "땅콩", "초코")}


def tell(memory: Memory, *said: str, session: str = "a", first: int = 1) -> None:
    for number, each in enumerate(said, first):
        memory.note_turn("acme", session, number, each, "Noted.")
    assert memory.settle(10)


@pytest.mark.parametrize("language", TOLD)
def test_a_new_session_starts_from_what_a_short_one_was_told(memory: Memory, language: str) -> None:
    tell(memory, *TOLD[language])
    view = memory.context("acme", "b", language)
    assert view.from_user
    assert all(word in view.text for word in WORDS[language])
    assert WORDS[language][1] in memory.recall("acme", "b", TOLD[language][1])[0]
    assert memory.context("acme", "b", user="somebody else").text == ""
    assert memory.context("acme", "a").text == ""  # there the turns themselves are


def test_a_new_session_that_follows_at_once_is_told_too_and_another_user_is_not(memory: Memory) -> None:
    memory.remember("acme", "a", "locker", "47", turn=1)
    memory.note_turn("acme", "a", 1, TOLD["en"][2], "Noted.")
    view = memory.context("acme", "b", "en")  # the archive does not know of it yet
    assert "Rex" in view.text
    assert view.entity_text == "locker: 47"
    assert memory.context("acme", "b", "en", user="somebody else").text == ""
    assert memory.context("other", "b", "en").text == ""


def test_what_waits_stands_after_what_it_changes_and_its_value_replaces_the_one_before(memory: Memory) -> None:
    memory.remember("acme", "old", "budget", "$500", turn=1)
    tell(memory, "The budget is $500.", session="old")
    memory.fold("acme", "old", models=good(), language="en", rest=True)
    memory.remember("acme", "a", "budget", "$700", turn=1)
    tell(memory, "Remember that the budget is $700.")
    view = memory.context("acme", "b", "en")
    assert view.entity_text == "budget: $700"
    assert view.text.index("$500") < view.text.index("$700")


def test_what_was_forgotten_elsewhere_or_there_is_not_told(memory: Memory) -> None:
    tell(memory, *TOLD["en"])
    forget(memory, "my dog", 4, "a")
    forget(memory, "peanuts", 1, "b")
    view = memory.context("acme", "c", "en")
    assert "Ana Lopez" in view.text
    assert "Rex" not in view.text + view.entity_text
    assert "peanuts" not in view.text


def test_what_was_erased_is_not_told_nor_shown_in_a_prompt_that_was_given_it(memory: Memory) -> None:
    tell(memory, *TOLD["en"])
    memory.give("acme", "b", {"mark": memory.context("acme", "b", "en").text}, time.time())
    tell(memory, "What is my name?", session="b")
    memory.erase("acme", "a")
    assert memory.context("acme", "c", "en").text == ""
    assert memory.given("acme", "b") == {}


def test_who_keeps_sessions_apart_is_told_nothing_that_waits(memory: Memory) -> None:
    tell(memory, *TOLD["en"])
    memory.set_carries("acme", False)
    assert memory.context("acme", "b", "en").text == ""


def test_a_session_that_is_folded_but_not_yet_carried_is_told_too(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(memory, *range(1, 7), session="a")
    with monkeypatch.context() as patched:
        patched.setattr("memory.fold.folding.Folding._carry", lambda *args: None)
        fold(memory, "a")
    assert memory.settle(10)
    view = memory.context("acme", "b", "en", count=lambda text: 0)
    assert all(f"item {number} costs ${number}00" in view.text for number in range(1, 7))


def test_a_memory_that_is_broken_keeps_no_new_session_from_the_others(memory: Memory, tcp: str) -> None:
    tell(memory, TOLD["en"][0])
    tell(memory, TOLD["en"][2], session="broken")
    with redis.Redis.from_url(tcp) as client:
        client.set(Scope("acme", "broken").key("entities"), "} no JSON")
    assert "Ana Lopez" in memory.context("acme", "b", "en").text


def test_what_waits_is_folded_once_a_new_session_has_begun(memory: Memory) -> None:
    tell(memory, *TOLD["en"])
    tell(memory, "What am I allergic to?", session="b")
    assert [(each.session, each.rest) for each in memory.due("acme", "b")] == [("a", True)]
    talk(memory, *range(2, 7), session="b")
    fold(memory, "b")
    assert memory.settle(10)
    assert memory.due("acme", "b") == []  # from now on somebody may be writing in the other one


def test_a_session_that_was_left_alone_is_folded_with_the_next_start(opened: Opened) -> None:
    first = opened()
    tell(first, *TOLD["en"])
    [due] = opened().due_all("acme")
    assert (due.session, due.rest) == ("a", True)
    assert first.fold("acme", "a", models=good(), language="en", rest=due.rest).status == "folded"
    assert first.settle(10)
    assert first.due_all("acme") == []
    text = first.context("acme", "b", "en").text
    assert text.count("Rex") == 1
