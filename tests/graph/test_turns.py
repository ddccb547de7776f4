from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from graph.context.turns import (
    due_chunks,
    find_current_messages,
    find_last_covered_turn,
    find_next_chunk,
    is_answer,
    make_closing_messages,
    split_into_turns,
    tool_rounds,
)
from graph.state import SummaryRecord
from tests.graph.talk import calling
from tests.table import table


def record(first: int, last: int) -> SummaryRecord:
    turns = list(range(first, last + 1))
    return SummaryRecord(
        thread_id="s",
        turns=turns,
        turn_length=len(turns),
        original_chars=100,
        summary_chars=30,
        compression_rate=0.3,
        summary="요약",
    )


def with_tools(number: int) -> list[AnyMessage]:
    """A turn as specification 2.1 draws it."""
    return [
        HumanMessage(f"q{number}"),
        calling("search", "a"),
        ToolMessage("found", tool_call_id="a"),
        calling("think", "b"),
        ToolMessage("thought", tool_call_id="b"),
        AIMessage(f"a{number}"),
    ]


DUE = range(4, 52, 3)
"""The turns with a summary, when none was missed: 4, 7, 10 …"""


@table(
    ("turn", "covered_to", "first", "due"),
    [
        (0, 0, 1, 4),
        (3, 0, 1, 4),
        (4, 3, 4, 7),
        (6, 3, 4, 7),
        (7, 6, 7, 10),
        (50, 48, 49, 52),
        (5, 5, 6, 9),
        (8, 3, 4, 9),
    ],
)
def test_the_next_summary(turn: int, covered_to: int, first: int, due: int) -> None:
    assert find_next_chunk(turn, covered_to) == ([first, first + 1, first + 2], due)


@table("turn", range(1, 51))
def test_due_chunks_are_exactly_the_trigger_when_none_was_missed(turn: int) -> None:
    records = [record(first, first + 2) for first in range(1, (turn - 2) // 3 * 3, 3)]
    due = list(due_chunks(turn, records))
    assert due == ([[turn - 3, turn - 2, turn - 1]] if turn in DUE else [])


@pytest.mark.parametrize(
    ("turn", "records", "expected"),
    [
        (5, [], [[1, 2, 3]]),
        (8, [], [[1, 2, 3], [4, 5, 6]]),
        (9, [record(1, 3)], [[4, 5, 6]]),
        (20, [record(10, 12), record(13, 15)], [[16, 17, 18]]),
    ],
)
def test_missed_chunks_are_made_up_for_and_retired_ones_are_not(
    turn: int, records: list[SummaryRecord], expected: list[list[int]]
) -> None:
    assert list(due_chunks(turn, records)) == expected


def test_coverage_is_read_from_the_records_and_not_counted() -> None:
    assert find_last_covered_turn([]) == 0
    assert find_last_covered_turn([record(7, 9), record(10, 12)]) == 12


def test_a_turn_with_tool_calls_is_one_turn() -> None:
    turns = split_into_turns([*with_tools(1), *with_tools(2), HumanMessage("q3"), calling("search", "c")], 3)
    assert [turn.number for turn in turns] == [1, 2, 3]
    assert [turn.complete for turn in turns] == [True, True, False]
    assert turns[0].messages == tuple(with_tools(1))
    assert turns[1].text == "q2foundthoughta2"


def test_turn_numbers_come_from_the_messages() -> None:
    questions: list[AnyMessage] = [HumanMessage("q", additional_kwargs={"turn": n}) for n in (5, 9)]
    assert [turn.number for turn in split_into_turns(questions, 9)] == [5, 9]


@table(("tail", "rounds"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (6, 2)])
def test_the_current_turn_starts_at_the_last_question(tail: int, rounds: int) -> None:
    messages = [*with_tools(1), *with_tools(2)[:tail]]
    begins = 6 if tail else 0
    assert find_current_messages(messages) == messages[begins:]
    assert tool_rounds(messages) == (rounds if tail else 2)


@table("end", range(1, 7))
def test_a_turn_that_was_cut_off_anywhere_can_be_closed(end: int) -> None:
    """Every tool call has its result, and the turn ends with an answer (design 3.5)."""
    messages = [*with_tools(1), *with_tools(2)[:end]]
    whole = [*messages, *make_closing_messages(messages, 2)]
    asked = [call["id"] for each in whole if isinstance(each, AIMessage) for call in each.tool_calls]
    results = [each.tool_call_id for each in whole if isinstance(each, ToolMessage)]
    assert sorted(str(call) for call in asked) == sorted(results)
    assert is_answer(whole[-1])
    assert (whole == messages) is (end == 6)


@pytest.mark.parametrize(("calls", "ends"), [(None, True), ([], True), ("one", False)])
def test_none_and_no_tool_calls_both_end_a_turn(calls: Any, ends: bool) -> None:
    message = AIMessage("x") if calls is None else AIMessage("x", tool_calls=[])
    assert is_answer(calling("t") if calls == "one" else message) is ends
