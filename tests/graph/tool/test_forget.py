"""What ``forget`` tells the model: what it dropped, and that there was nothing of the kind."""

from __future__ import annotations

import pytest

from graph.tool import memory_tools
from graph.tool.reach import Reach
from memory import Memory
from tests.memory.conftest import Opened, opened, tcp

__all__ = ["opened", "tcp"]


@pytest.fixture
def memory(opened: Opened) -> Memory:
    return opened()


def call(memory: Memory, name: str, turn: int = 9, **arguments: str) -> str:
    """What the tool says in this turn of a session."""
    found = {tool.name: tool for tool in memory_tools(Reach(memory, "acme", "s1", turn, "en", "me", None))}
    return str(found[name].invoke(arguments))


@pytest.mark.parametrize(
    ("key", "value", "what"), [("회의", "5월 3일", "회의 날짜"), ("meeting", "May 3", "the meeting date")]
)
def test_a_value_is_forgotten_by_what_it_tells_of_a_thing(memory: Memory, key: str, value: str, what: str) -> None:
    call(memory, "remember", key=key, value=value)
    assert call(memory, "forget", what=what) == f"Forgotten: {what}."
    assert memory.context("acme", "s1").entities == ()


@pytest.mark.parametrize("what", ["여권 번호", "passport number", "..", "  "])
def test_what_is_not_in_memory_is_not_told_as_forgotten(memory: Memory, what: str) -> None:
    call(memory, "remember", key="meeting", value="May 3")
    memory.note_turn("acme", "s1", 1, "What is my passport number?", "I do not know your passport number.")
    assert call(memory, "forget", what=what).startswith(f"Nothing about {what!r} is in memory.")
    assert memory.context("acme", "s1").entity_text == "meeting: May 3"


@pytest.mark.parametrize("said", [("내 여권 번호는 M1234야.", "내 여권 번호"), ("My dog is Rex.", "my dogs")])
def test_what_only_waits_or_another_conversation_told_is_forgotten_once(memory: Memory, said: tuple[str, str]) -> None:
    memory.note_turn("acme", "s1", 1, said[0], "OK.")
    memory.note_turn("acme", "s2", 1, said[0], "OK.")
    assert memory.settle(10)
    assert call(memory, "forget", what=said[1]) == f"Forgotten: {said[1]}."
    assert call(memory, "forget", what=said[1]).startswith("Nothing")
    assert memory.context("acme", "new", "en").text == ""
