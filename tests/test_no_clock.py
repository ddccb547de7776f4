"""No assert looks at a clock: what takes how long is measured by ``bench``, and a busy machine makes no test fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CLOCKS = frozenset({"perf_counter", "process_time", "thread_time", "perf_counter_ns", "process_time_ns"})
"""Clocks that tell how long something takes."""
TIMES = frozenset({"monotonic", "monotonic_ns", "time", "time_ns"})
"""Functions of ``time`` that may end a wait for what never comes, or say when something was; no assert reads them."""
FILES = sorted(Path(__file__).parent.rglob("*.py"))


def names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id


def clocks(source: str) -> list[int]:
    """The lines that read a clock to see how long something took."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call | ast.Assert))
    return sorted(node.lineno for node in nodes if reads_clock(node))


def reads_clock(node: ast.Call | ast.Assert) -> bool:
    if isinstance(node, ast.Call):
        return bool(CLOCKS & {*names(node.func)})
    called = (each.func for each in ast.walk(node.test) if isinstance(each, ast.Call))
    return any(
        isinstance(each, ast.Attribute) and each.attr in TIMES and "time" in names(each.value) for each in called
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FILES[0].parent)))
def test_no_assert_looks_at_a_clock(file: Path) -> None:
    assert clocks(file.read_text("utf-8")) == []


def test_a_clock_is_seen() -> None:
    assert clocks("begun = time.process_time()\nassert time.monotonic() - begun < 2") == [1, 2]
    assert clocks("assert begun <= turn.at <= time.time()") == [1]
    assert clocks("until = time.monotonic() + 5\nassert clock.now() == 5\nassert moment.time() == noon") == []
