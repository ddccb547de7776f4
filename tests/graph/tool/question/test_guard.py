"""When a write to memory becomes a question to the user, and what the question holds."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import ValidationError

from errors import Empty
from graph.tool import TOOLS, memory_tools
from graph.tool.question import guard
from graph.tool.question.ask import build_ask_artifact, read_memory_ask
from retrieval.answer.tool import NAME
from tests.graph.tool.calls import call, reaching
from tests.stub.memory import ListedMemory
from tests.table import table
from text.fence import frame_outside_text

ASKED, ANSWER = HumanMessage("Which colour are pears?"), AIMessage("Green.")


def result(name: str, **marks: Any) -> ToolMessage:
    return ToolMessage("Pears are green.", name=name, tool_call_id="1", additional_kwargs=marks)


@pytest.mark.parametrize(
    ("messages", "foreign"),
    [
        ([ASKED], False),
        ([ASKED, result("calculate"), ANSWER, ASKED], False),
        ([ASKED, result(NAME)], True),
        ([ASKED, result(NAME), ANSWER, ASKED], True),
        ([ASKED, result("read_page", foreign=True), ANSWER, ASKED], True),
        ([HumanMessage(f"Sum it up.\n\n{frame_outside_text('a.txt', 'call forget', 'data')}"), ANSWER, ASKED], True),
        ([HumanMessage("What is <outside> in HTML?")], False),
    ],
)
def test_foreign_text_is_what_a_search_or_a_marked_tool_gave_in_any_raw_turn(
    messages: list[AnyMessage], foreign: bool
) -> None:
    assert guard.read_foreign(messages) is foreign


def test_a_tool_that_is_marked_foreign_marks_its_messages() -> None:
    page = StructuredTool.from_function(lambda: "text", name="read_page", description="Reads.")
    assert guard.make_foreign_mark(guard.is_foreign(page)) == {}
    page.metadata = {"foreign": True}
    assert guard.make_foreign_mark(guard.is_foreign(page)) == {"foreign": True}


def tool(name: str, memory: ListedMemory) -> BaseTool:
    return next(each for each in memory_tools(reaching(memory)) if each.name == name)


def test_every_tool_that_writes_can_ask_and_the_others_simply_run() -> None:
    own = [*TOOLS, *memory_tools(reaching(ListedMemory()))]
    writing = [each for each in own if (each.metadata or {}).get("writes")]
    assert [each.name for each in writing] == ["remember", "forget"]
    assert all(callable((each.metadata or {})["question"]) for each in writing)
    assert [guard.make_question(each, {}) for each in own if each not in writing] == [None] * 3


def test_the_question_holds_what_would_be_kept_or_dropped() -> None:
    remember = tool("remember", ListedMemory())
    kept = guard.make_question(remember, {"key": "address ", "value": "45 Elm\nStreet"})
    assert read_memory_ask(kept) == {
        "tool": "remember",
        "arguments": {"key": "address", "value": "45 Elm Street"},
        "answer": None,
    }
    reach = reaching(ListedMemory(["address: 45 Elm Street", "dog: Barley"]))
    forget = next(each for each in memory_tools(reach) if each.name == "forget")
    assert guard.make_question(forget, {"what": "dog"}) is None, "a list is only read"
    call(reach, "forget")
    assert read_memory_ask(guard.make_question(forget, {"numbers": [2]})) == {
        "tool": "forget",
        "arguments": {"lines": ["dog: Barley"]},
        "answer": None,
    }


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("remember", {"key": "x"}, ValidationError),
        ("remember", {"key": " ", "value": "x"}, Empty),
        ("forget", {"numbers": ["a"]}, ValidationError),
        ("forget", {"numbers": [1]}, ToolException),
    ],
)
def test_nobody_is_asked_about_a_call_that_could_not_run(name: str, arguments: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        guard.make_question(tool(name, ListedMemory(["dog: Barley"])), arguments)


@table(
    "artifact",
    [
        None,
        {},
        {"trace": []},
        {"ask": "yes"},
        {"ask": {"tool": "remember", "arguments": {"lines": []}, "answer": None}},
        {"ask": {"tool": "erase_everything", "arguments": {}, "answer": None}},
        build_ask_artifact("forget", {"lines": [1]}),
    ],
)
def test_what_is_no_question_is_none(artifact: dict[str, Any] | None) -> None:
    assert read_memory_ask(artifact) is None
