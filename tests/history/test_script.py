"""Histories in one message of the user, as SillyTavern's «single user message» sends them."""

from __future__ import annotations

import pytest

from history.script import OneMessageHistory, read_script

SENT = (
    "You tell a story.\n\nMina: Come in.\n\nRowan: I open the door.\n\nMina: It is dark.\n\nA lamp burns."
    "\n\nRowan: I go in."
)


def test_a_history_in_one_message() -> None:
    turns = (("", "Come in."), ("I open the door.", "It is dark.\n\nA lamp burns."))
    assert read_script(SENT) == OneMessageHistory(turns, "I go in.")


def test_two_characters_answer_as_one() -> None:
    script = read_script("Rowan: Hello, both.\n\nMina: Hello.\n\nHaru: Hi.\n\nRowan: How are you?")
    assert script == OneMessageHistory((("Hello, both.", "Hello.\n\nHi."),), "How are you?")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello there.",
        "Subject: a boat\n\nBody: I would like to buy it.",
        "Name: Kim\n\nPlace: Busan\n\nDate: today",
        "Rowan: one\n\nRowan: two\n\nRowan: three",
        "She said: well\nRowan: no\nMina: yes\nRowan: no",
    ],
)
def test_a_message_with_labels_is_no_history(text: str) -> None:
    assert read_script(text) is None
