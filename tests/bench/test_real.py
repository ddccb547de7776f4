"""``bench real``: the figures of its groups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import messy, real
from bench.messy import Verdict, dates
from graph.choice.question import read_time_question
from graph.tool.calculate import calculate
from graph.tool.time import configure_tool_clock


def test_a_table_is_counted_with_its_unseen_rows_apart() -> None:
    verdicts = [
        Verdict("days", "a", True),
        Verdict("sums", "b", True, unseen=True),
        Verdict("days", "c", False, unseen=True),
        Verdict("days", "d", True, unseen=True),
    ]
    assert list(real.count_tables("dates", verdicts)) == [
        {"group": "dates", "table": "days", "rows": 3, "right": 0.667, "unseen_rows": 2, "unseen_right": 0.5},
        {"group": "dates", "table": "sums", "rows": 1, "right": 1.0, "unseen_rows": 1, "unseen_right": 1.0},
    ]


@pytest.mark.parametrize("name", real.GROUPS)
def test_every_group_is_a_file_that_judges(name: str) -> None:
    assert callable(real.load_group(name).judge)


def test_every_file_with_a_group_is_listed() -> None:
    files = {path.stem for path in Path(str(messy.__file__)).parent.glob("*.py")} - {"__init__"}
    defining = {name for name in files if hasattr(real.load_group(name), "judge")}
    assert defining == set(real.GROUPS)


def test_what_code_reads_of_the_rows_about_dates_is_right_and_no_everyday_message_is_read() -> None:
    rows = [json.loads(line) for line in dates.DATA.read_text("utf-8").splitlines()]
    read = [(row, found) for row in rows if (found := read_time_question(row["text"], dates.NOW))]
    assert [row["text"] for row, _ in read if not row["value"]] == []
    wrong = [row["text"] for row, found in read if not any(_is_answered(each, row["value"]) for each in found)]
    assert wrong == []
    assert len(read) >= 200
    assert sum(row["unseen"] for row in rows) == 120


def _is_answered(expression: str, value: str) -> bool:
    call = {"type": "tool_call", "name": "calculate", "args": {"expression": expression}, "id": "1"}
    return dates.is_value(calculate.invoke(call, configure_tool_clock(lambda: dates.NOW)), value)
