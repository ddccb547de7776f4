"""A damaged export: it is taken in whole or refused whole, with one clear error, and nothing breaks later."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from errors import BadImport, Empty
from memory import Memory
from tests.memory.test_memory import fold, forget, talk

DAMAGE: list[object] = [None, "x", -1, 10**9, 10**30, float("nan"), [], [[]], {}, True, "\ud800"]


@pytest.fixture
def taken(memory: Memory) -> dict[str, Any]:
    """An export of two sessions, one with a version, and of what the user has from both."""
    talk(memory, 1, session="s0")
    talk(memory, *range(1, 7))
    fold(memory)
    memory.remember("acme", "s1", "item 1", "$7", turn=6)
    memory.pin("acme", "s1", "I am Kim.")
    forget(memory, "item 2", 6)
    assert memory.settle(10)
    return memory.export("acme")


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values inside, one of each name."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data[:1]):
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


def damaged(data: dict[str, Any], place: tuple[Any, ...], value: object) -> dict[str, Any]:
    made = copy.deepcopy(data)
    inner: Any = made
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return made


def test_whatever_is_damaged_only_the_one_error_is_raised_and_what_came_in_can_be_used(
    memory: Memory, taken: dict[str, Any]
) -> None:
    memories = taken["memories"]
    memories.sort(key=lambda each: len(each["versions"]), reverse=True)  # the first one is looked through
    assert memory.import_("whole", taken) == 3
    for number, place in enumerate(places(taken)):
        for value in DAMAGE:
            tenant = f"t{number}-{DAMAGE.index(value)}"
            try:
                memory.import_(tenant, damaged(taken, place, value))
            except BadImport:
                assert memory.export(tenant)["memories"] == [], (place, value)
                continue
            memory.context(tenant, "s1")
            memory.context(tenant, "new")
            assert memory.note_turn(tenant, "s1", 7, "Hello.", "Hi."), (place, value)


def test_what_an_earlier_release_wrote_comes_in(memory: Memory, taken: dict[str, Any]) -> None:
    for each in taken["memories"]:
        each["state"]["meta"]["replaced"] = [{"key": "item 1", "old": "$5", "new": "$7", "turn": 6}]
        for version in each["versions"]:
            version["replaced"] = []
    before = memory.context("acme", "s1").text
    assert memory.import_("else", taken) == 3
    assert memory.context("else", "s1").text == before


def test_one_damaged_memory_keeps_out_all(memory: Memory, taken: dict[str, Any]) -> None:
    taken["memories"].sort(key=lambda each: len(each["versions"]))
    taken["memories"][-1]["versions"][0]["created"] = "x"
    with pytest.raises(BadImport):
        memory.import_("else", taken)
    assert memory.export("else")["memories"] == []


@pytest.mark.parametrize(("key", "value"), [(" ", "x"), ("x", "\n"), ("", "")])
def test_what_is_blank_is_not_remembered(memory: Memory, key: str, value: str) -> None:
    with pytest.raises(Empty):
        memory.remember("acme", "s1", key, value, turn=1)
    with pytest.raises(Empty):
        memory.pin("acme", "s1", " ")
    assert memory.context("acme", "s1").entities == ()
