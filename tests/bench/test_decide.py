from __future__ import annotations

import json

import pytest
from langchain_core.messages import ToolCall

from bench import decide
from bench.train.router import EXAMPLES
from tests.table import table


def _right(row: dict[str, object], decision: str) -> bool:
    name, arguments = next(iter(json.loads(decision).items()))
    calls = [] if name == "reply" else [ToolCall(name=name, args=arguments, id="1", type="tool_call")]
    return decide.right(row, calls)


@table(
    ("decision", "expected"),
    [
        ('{"calculate": {"expression": "320*0.45"}}', True),
        ('{"calculate": {"expression": "45% of 320"}}', True),
        ('{"calculate": {"expression": "320*45"}}', False),
        ('{"calculate": {"expression": "열"}}', False),
        ('{"current_time": {"zone": "local"}}', False),
        ('{"reply": {}}', False),
    ],
)
def test_an_expression_is_judged_by_its_value(decision: str, expected: bool) -> None:
    assert _right({"tool": "calculate", "value": "144"}, decision) is expected


@pytest.mark.parametrize(
    ("place", "expected"),
    [("Europe/Berlin", True), ("베를린", True), ("Germany", True), ("local", False), ("?", False)],
)
def test_a_place_is_judged_by_its_zone(place: str, expected: bool) -> None:
    assert (
        _right({"tool": "current_time", "zone": "Europe/Berlin"}, json.dumps({"current_time": {"zone": place}}))
        is expected
    )


def test_no_call_is_right_where_none_is_needed() -> None:
    assert _right({"tool": None}, '{"reply": {}}')
    assert not _right({"tool": None}, '{"current_time": {"zone": "local"}}')


def test_the_questions_are_forty_half_with_a_tool_and_no_example_of_the_router() -> None:
    rows = [json.loads(line) for line in decide.QUESTIONS.read_text("utf-8").splitlines()]
    assert [sum(row["language"] == tongue for row in rows) for tongue in ("ko", "en")] == [20, 20]
    assert sum(row["tool"] is not None for row in rows) == 20
    rows += [json.loads(line) for line in decide.HELD_OUT.read_text("utf-8").splitlines()]
    examples = EXAMPLES.read_text("utf-8")
    assert not [row for row in rows if json.dumps(row["question"], ensure_ascii=False) in examples]
