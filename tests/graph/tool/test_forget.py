"""``forget`` lists the lines of memory with numbers, then drops those that it is given."""

from __future__ import annotations

import pytest

from graph.tool.forget import MOST_LISTED
from tests.graph.tool.calls import call, reaching
from tests.stub.memory import ListedMemory

TOLD = ["address: 45 Elm Street", "sister: Hannah", "dog: Barley"]


def test_without_numbers_it_lists_the_lines_and_drops_none() -> None:
    memory = ListedMemory([*TOLD])
    said = call(reaching(memory), "forget", what="my address").text
    assert "1. address: 45 Elm Street\n2. sister: Hannah\n3. dog: Barley\n" in said
    assert "Call forget again with the numbers" in said
    assert memory.texts == TOLD


def test_with_numbers_it_drops_these_lines() -> None:
    memory = ListedMemory([*TOLD])
    reach = reaching(memory)
    call(reach, "forget", what="my address")
    assert call(reach, "forget", numbers=[3, 1, 3]).text == "Forgotten:\n- address: 45 Elm Street\n- dog: Barley"
    assert memory.texts == ["sister: Hannah"]


def test_a_number_means_the_line_that_was_listed_though_memory_has_changed() -> None:
    memory = ListedMemory([*TOLD])
    reach = reaching(memory)
    call(reach, "forget")
    memory.texts.insert(0, "rent: $1,800")
    call(reach, "forget", numbers=[1])
    assert memory.texts == ["rent: $1,800", "sister: Hannah", "dog: Barley"]
    assert "4. rent: $1,800\n2. sister: Hannah\n3. dog: Barley\n" in call(reach, "forget").text
    call(reach, "forget", numbers=[2])
    assert memory.texts == ["rent: $1,800", "dog: Barley"]


@pytest.mark.parametrize("listed", [False, True])
def test_numbers_that_no_list_of_this_turn_has_are_an_error_with_the_list(listed: bool) -> None:
    memory = ListedMemory([*TOLD])
    reach = reaching(memory)
    if listed:
        call(reach, "forget")
    message = call(reach, "forget", numbers=[2, 7] if listed else [2])
    assert message.status == "error"
    assert ("no line 7 was listed" if listed else "only after the lines were listed") in message.text
    assert "2. sister: Hannah" in message.text
    assert memory.texts == TOLD
    assert call(reach, "forget", numbers=[2]).status == "success"


def test_of_many_lines_those_nearest_to_what_is_looked_for_are_listed_first() -> None:
    memory = ListedMemory([*(f"item {number}: ${number}00" for number in range(60)), "여권 번호: M1234"])
    reach = reaching(memory)
    said = call(reach, "forget", what="내 여권 번호").text.splitlines()
    assert said[1] == "1. 여권 번호: M1234"
    assert len([line for line in said if "$" in line or "M1234" in line]) == MOST_LISTED
    assert said[-1].startswith("21 lines")
    call(reach, "forget", numbers=[1])
    assert len(memory.texts) == 60


def test_it_says_that_memory_is_empty_or_has_a_line_no_more() -> None:
    assert call(reaching(ListedMemory()), "forget").text == "Nothing is in memory."
    reach = reaching(memory := ListedMemory([*TOLD]))
    call(reach, "forget")
    memory.texts.remove("dog: Barley")
    assert "not in memory any more" in call(reach, "forget", numbers=[3]).text
