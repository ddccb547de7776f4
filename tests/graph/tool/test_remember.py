"""A model that calls ``remember`` is trusted with the choice; its arguments are checked."""

from __future__ import annotations

import pytest

from memory.state import KEY_CHARS, VALUE_CHARS
from tests.graph.tool.calls import call, reaching
from tests.stub.memory import ListedMemory
from tests.table import table


@pytest.mark.parametrize(
    ("key", "value"), [("식단", "채식"), ("diet", "vegetarian"), ("what she said", 'he said "no"\nand left')]
)
def test_any_value_that_its_schema_takes_is_kept(key: str, value: str) -> None:
    memory = ListedMemory()
    assert call(reaching(memory), "remember", key=key, value=value).text == f"Kept in memory: {key} = {value}."
    assert memory.texts == [f"{key}: {value}"]


@table(
    "arguments",
    [
        {"key": "", "value": "x"},
        {"key": "x", "value": ""},
        {"key": "x" * (KEY_CHARS + 1), "value": "x"},
        {"key": "x", "value": "x" * (VALUE_CHARS + 1)},
        {"key": "x"},
        {"key": "x", "value": "y", "when": "now"},
    ],
)
def test_what_its_schema_does_not_take_is_an_error_for_the_model(arguments: dict[str, str]) -> None:
    memory = ListedMemory()
    message = call(reaching(memory), "remember", **arguments)
    assert (message.status, memory.texts) == ("error", [])
    assert "remember takes: key, value" in message.text
