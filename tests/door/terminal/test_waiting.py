"""What a waiting turn wants to know, in a terminal: one line asks, one line answers."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from rich.console import Console

from component.page.catalogue import Words
from door.terminal.terminal import Terminal
from graph.tool.question.form import find_form_problems, list_form_fields, read_typed_value
from server import waiting
from store.turn.question import NO, UserAnswer, UserQuestion
from tests.graph.conftest import OpenAgent, agent
from tests.graph.talk import calling
from tests.graph.test_waiting import Door
from tests.table import table

__all__ = ["agent"]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "persons": {"type": "integer", "maximum": 8},
        "price": {"type": "number"},
        "seat": {"type": "string", "oneOf": [{"const": "w", "title": "Window"}, {"const": "i", "title": "Inside"}]},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "quiet": {"type": "boolean"},
        "mail": {"type": "string", "format": "email"},
    },
    "required": ["persons"],
}
FORM = UserQuestion("f", "form", "c", "table__book", "How many?", server="table", schema=SCHEMA)
FILLED = {"persons": 4, "price": 2.5, "seat": "w", "extras": ["a", "b"], "quiet": True, "mail": "a@b.c"}
APPROVE = UserQuestion("a", "approve", "c", "files__delete", server="files", arguments={"path": "b"})
CHOOSE = UserQuestion("o", "choose", "c", "ask_user", "Which day?", choices=("Monday", "Tuesday"))
LOGIN = UserQuestion("l", "login", "c", "mail__send", server="mail", url="https://mail.example/go")


def typing(*lines: str) -> tuple[Callable[[str], str], Callable[[str], None], list[str]]:
    left, shown = list(lines), list[str]()

    def ask(prompt: str) -> str:
        shown.append(prompt)
        return left.pop(0)

    return ask, shown.append, shown


@table(
    ("question", "lines", "answer"),
    [
        (APPROVE, ["1"], UserAnswer("once")),
        (APPROVE, ["2"], UserAnswer("always")),
        (APPROVE, ["3"], NO),
        (APPROVE, ["sure", "", "yes"], NO),
        (CHOOSE, ["2"], UserAnswer("answer", "Tuesday")),
        (CHOOSE, ["Friday"], UserAnswer("answer", "Friday")),
        (CHOOSE, [""], NO),
        (LOGIN, ["1"], UserAnswer("answer")),
        (LOGIN, ["3"], NO),
        (replace(LOGIN, url="http://mail.example"), [], NO),
        (FORM, ["4", "", "", "", "", ""], UserAnswer("answer", {"persons": 4})),
        (FORM, ["x", "4", "2.5", "Window", "a, b", "y", "a@b.c"], UserAnswer("answer", FILLED)),
        (FORM, ["9", "", "", "", "", "", "8", "", "", "", "", ""], UserAnswer("answer", {"persons": 8})),
        (FORM, [""] * 18, NO),
    ],
)  # fmt: skip
def test_lines_become_an_answer(question: UserQuestion, lines: list[str], answer: UserAnswer) -> None:
    ask, tell, _ = typing(*lines)
    assert waiting.ask_waiting_questions("en", [question], ask, tell) == {question.id: answer}


def test_all_that_is_decided_on_is_shown() -> None:
    assert waiting.render_waiting_question("en", APPROVE) == 'May files run delete?\n{\n "path": "b"\n}'
    assert waiting.render_waiting_question("ko", CHOOSE) == "여쭤볼 것이 있습니다.\nWhich day?\n1) Monday\n2) Tuesday"
    assert waiting.render_waiting_question("en", LOGIN).endswith("https://mail.example/go")


@pytest.mark.parametrize("schema", [{}, {"properties": 1}, {"properties": {"a": 1}}, {"type": 7}])
def test_a_schema_that_is_none_is_an_empty_form(schema: Mapping[str, Any]) -> None:
    assert list_form_fields(schema) == ()
    assert find_form_problems(schema, {}) == {}


def test_a_choice_is_typed_by_number_value_or_label() -> None:
    seat = list_form_fields(SCHEMA)[2]
    assert [read_typed_value(seat, text) for text in ("1", "i", "Inside", " ")] == ["w", "i", "i", None]
    with pytest.raises(ValueError, match="3"):
        read_typed_value(seat, "3")


@pytest.mark.parametrize(("line", "opened"), [("1", ["front"]), ("3", [])])
def test_the_turn_goes_on_in_the_terminal(agent: OpenAgent, line: str, opened: list[str]) -> None:
    door: BaseTool = Door()
    bot = agent([calling("open_door", which="front"), "All right."])
    shown, lines = io.StringIO(), ["Open the door.", line]

    def ask(prompt: str) -> str:
        shown.write(prompt)
        if not lines:
            raise EOFError
        return lines.pop(0)

    out, side = (Console(file=file, width=200, force_terminal=False) for file in (io.StringIO(), shown))
    terminal = Terminal(replace(bot, tools=[*bot.tools, door]), out, side, "en", Words("en").error, ask)
    assert terminal.talk(None) == 0
    assert isinstance(door, Door)
    assert door.opened == opened
    assert "May house run open_door?" in shown.getvalue()
    assert isinstance(out.file, io.StringIO)
    assert "All right." in out.file.getvalue()


def test_a_pipe_leaves_the_question_open(agent: OpenAgent) -> None:
    bot = agent([calling("ask_user", question="Which day?")])
    out, side = (Console(file=io.StringIO(), width=200, force_terminal=False) for _ in range(2))
    terminal = Terminal(bot, out, side, "en", Words("en").error)
    assert terminal.answer("Book a table.", None) == 1
    assert bot.store.status(bot.store.session(terminal.session.id)) == "waiting"
    assert isinstance(side.file, io.StringIO)
    assert "waits for your answer" in side.file.getvalue()
