"""The question about memory in a terminal: one line to ask, one to answer, and open where nobody can answer."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import cast

import pytest
from rich.console import Console

from component.page.catalogue import Words
from door.terminal.terminal import Terminal
from graph.tool.question.ask import Ask, build_ask_artifact
from server.ask import MemoryDecision, parse_memory_decision, render_memory_question
from tests.graph.strong import OpenStrong, asks, strong, values
from tests.stub.strong import Wish, understanding
from tests.table import table

__all__ = ["strong"]

REMEMBER = cast(Ask, build_ask_artifact("remember", {"key": "주소", "value": "서울 [강남]"})["ask"])
FORGET = cast(Ask, build_ask_artifact("forget", {"lines": ["주소: 서울"]})["ask"])
PICK = cast(Ask, build_ask_artifact("forget", {"lines": ["주소: 서울", "여동생:\n지민"], "pick": True})["ask"])
WISH = Wish("내가 사는 데 좀 챙겨 둬", "주소", "서울 [강남]")
Typing = Callable[..., tuple[Terminal, str]]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (REMEMBER, "기억할까요? 주소 = 서울 [강남] [네(y)/아니요(n)]"),
        (FORGET, "잊을까요? 주소: 서울 [네(y)/아니요(n)]"),
        (PICK, "어느 것을 잊을까요? 1) 주소: 서울 2) 여동생: 지민 [번호/아니요(n)]"),
    ],
)
def test_a_question_is_one_line(ask: Ask, said: str) -> None:
    assert render_memory_question("ko", ask) == said


@table(
    ("ask", "typed", "decision"),
    [
        (REMEMBER, "y", MemoryDecision(True)),
        (FORGET, " 네 ", MemoryDecision(True)),
        (FORGET, "응", None),
        (FORGET, "N", MemoryDecision(False)),
        (REMEMBER, "아니요", MemoryDecision(False)),
        (REMEMBER, "", None),
        (REMEMBER, "what for?", None),
        (PICK, "2", MemoryDecision(True, ["여동생:\n지민"])),
        (PICK, "1, 2", MemoryDecision(True, ["주소: 서울", "여동생:\n지민"])),
        (PICK, "아니요", MemoryDecision(False)),
        (PICK, "y", None),
        (PICK, "3", None),
        (PICK, "1 or 2", None),
    ],
)
def test_only_a_clear_answer_decides(ask: Ask, typed: str, decision: MemoryDecision | None) -> None:
    assert parse_memory_decision("ko", ask, typed) == decision


@pytest.fixture
def terminal(strong: OpenStrong) -> Typing:
    """A terminal whose user types these lines and then Ctrl-D; with what it showed beside the answers."""

    def make(*lines: str) -> tuple[Terminal, str]:
        left, side = list(lines), io.StringIO()

        def ask(prompt: str) -> str:
            side.write(prompt)
            if not left:
                raise EOFError
            return left.pop(0)

        out, notes = (Console(file=file, width=200, force_terminal=False) for file in (io.StringIO(), side))
        made = Terminal(strong(understanding([WISH])), out, notes, "ko", Words("ko").error, ask)
        assert made.talk(None) == 0
        return made, side.getvalue()

    return make


def test_after_the_answer_a_line_asks_and_a_yes_keeps_it(terminal: Typing) -> None:
    made, shown = terminal("이 페이지 뭐라고 해?", WISH.text, "y")
    assert "기억할까요? 주소 = 서울 [강남] [네(y)/아니요(n)] 그렇게 했습니다." in shown
    assert values(made.agent, made.session.id) == {"주소": "서울 [강남]"}


@pytest.mark.parametrize(("typed", "said", "left"), [("n", "그대로 두었습니다.", 0), ("글쎄", "웹 화면에서", 1)])
def test_a_no_leaves_memory_and_anything_else_leaves_the_question(
    terminal: Typing, typed: str, said: str, left: int
) -> None:
    made, shown = terminal("이 페이지 뭐라고 해?", WISH.text, typed)
    assert said in shown
    assert values(made.agent, made.session.id) == {}
    assert len(asks(made.agent, made.session.id)) == left


@pytest.mark.parametrize(("typed", "held"), [("네", {"주소": "서울 [강남]"}), ("아니요", {})])
def test_a_question_that_was_left_is_answered_by_a_later_line(
    terminal: Typing, typed: str, held: dict[str, str]
) -> None:
    made, _ = terminal("이 페이지 뭐라고 해?", WISH.text, "글쎄", typed)
    session = made.agent.store.session(made.session.id)
    assert (values(made.agent, session.id), asks(made.agent, session.id)) == (held, [])
    assert session.turn_count == 2, "the answer is no message"


def test_ctrl_d_at_the_question_ends_and_leaves_it_open(terminal: Typing) -> None:
    made, _ = terminal("이 페이지 뭐라고 해?", WISH.text)
    assert len(asks(made.agent, made.session.id)) == 1


def test_without_a_terminal_it_says_how_to_answer_later(terminal: Typing) -> None:
    made, _ = terminal("이 페이지 뭐라고 해?")
    side = io.StringIO()
    made.side = Console(file=side, width=200, force_terminal=False)
    assert made.answer(WISH.text, made.session.id) == 0
    assert "기억할까요? 주소 = 서울 [강남] [네(y)/아니요(n)]" in side.getvalue()
    assert "python cli.py run" in side.getvalue()
    assert values(made.agent, made.session.id) == {}
