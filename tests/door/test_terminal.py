"""The terminal: the same turns as everywhere, as lines of text."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from rich.console import Console
from sqlalchemy import text

from component.catalogue import Words
from door.phrase import PHRASES
from door.terminal import COMMANDS, Terminal
from errors import ModelUnreachable, SessionUnknown
from graph.agent import open_agent
from model import scripted
from retrieval import Library
from settings import load
from tests.graph.talk import calling
from tests.retrieval.conftest import Words as WordVectors
from tests.retrieval.test_loop import said


def reply(messages: list[BaseMessage]) -> str:
    return f"[b]{str(messages[-1].text).splitlines()[-1]}[/b]에 대한 답"


@dataclass
class Screen:
    """A terminal whose user types ``lines`` and then Ctrl-D; what it shows is read from ``out`` and ``side``."""

    terminal: Terminal
    out: io.StringIO
    side: io.StringIO
    lines: list[str]

    def types(self, *lines: str) -> str:
        self.lines.extend(lines)
        assert self.terminal.talk(None) == 0
        return self.out.getvalue()


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Callable[..., Screen]]:
    opened = []

    def make(chat: Any = reply, **settings: Any) -> Screen:
        models = scripted.models(chat, lambda messages: "요약")
        agent = open_agent(load(**{"data_dir": tmp_path, "titles": False, **settings}), lambda: models)
        opened.append(agent)
        out, side, lines = io.StringIO(), io.StringIO(), list[str]()
        answers, notes = (Console(file=file, width=200, force_terminal=False) for file in (out, side))
        terminal = Terminal(agent, answers, notes, "ko", Words("ko").error, lambda _: lines.pop(0) if lines else _end())
        return Screen(terminal, out, side, lines)

    yield make
    for agent in opened:
        agent.close()


def _end() -> str:
    raise EOFError


def test_an_answer_is_shown_as_it_is_with_its_brackets(screen: Callable[..., Screen]) -> None:
    assert "[b]안녕하세요, 날씨가 좋네요[/b]에 대한 답\n" in screen().types("안녕하세요, 날씨가 좋네요")


def test_from_a_pipe_only_the_answer_goes_out(screen: Callable[..., Screen]) -> None:
    made = screen()
    assert made.terminal.answer("파이썬이 뭐야?", None) == 0
    assert made.out.getvalue() == "[b]파이썬이 뭐야?[/b]에 대한 답\n"


def test_a_failed_turn_says_why_and_ends_a_pipe_with_1(screen: Callable[..., Screen]) -> None:
    made = screen(chat=[ModelUnreachable(url="http://there")])
    assert made.terminal.answer("파이썬이 뭐야?", None) == 1
    assert "http://there" in made.side.getvalue()
    assert "/retry" in made.side.getvalue()


def test_an_answer_that_used_up_its_tokens_says_so(screen: Callable[..., Screen]) -> None:
    made = screen(chat=[AIMessage("먼저 물을", response_metadata={"finish_reason": "length"})])
    assert made.terminal.answer("국수 끓이는 법은?", None) == 0
    assert made.out.getvalue() == "먼저 물을\n"
    assert "GIEOK_ANSWER_TOKENS" in made.side.getvalue()


def test_what_a_terminal_would_obey_does_not_reach_it(screen: Callable[..., Screen]) -> None:
    made = screen(chat=["하나\x1b]52;c;aGFja2Vk\x07 \x1b[2J둘\n\x9b8m넷"])
    assert made.terminal.answer("질문 하나 할게", None) == 0
    assert made.out.getvalue() == "하나]52;c;aGFja2Vk [2J둘\n8m넷\n"
    made.terminal.note("\x1b[8m숨은 말")
    made.terminal._show_failure("unknown", "\x1b[8m숨은 말", {})
    assert "\x1b" not in made.side.getvalue()


def test_an_empty_message_ends_a_pipe_with_1(screen: Callable[..., Screen]) -> None:
    made = screen()
    assert made.terminal.answer("  \n", None) == 1
    made.types("/new", "/sessions")
    with made.terminal.agent.store.transaction() as connection:
        assert connection.execute(text("SELECT count(*) FROM session")).scalar() == 0


def test_retry_answers_the_failed_turn(screen: Callable[..., Screen]) -> None:
    made = screen(chat=[ModelUnreachable(url="http://there"), "이제 됩니다"])
    assert "이제 됩니다" in made.types("파이썬이 뭐야?", "/retry")


def test_summaries_are_told_and_listed(screen: Callable[..., Screen]) -> None:
    made = screen(ahead=False)
    made.types(*(f"{number}번째 질문입니다. 파이썬에 대해 알려 주세요." for number in range(1, 5)), "/summary")
    assert "1-3턴" in made.side.getvalue()


def test_conversations_are_listed_and_opened_again(screen: Callable[..., Screen]) -> None:
    made = screen()
    made.types("파이썬이 뭐야?", "/new", "러스트가 뭐야?", "/sessions", "/open 2", "/open x")
    assert "파이썬이 뭐야?  (1)" in made.side.getvalue()
    assert "대화를 열었습니다: 파이썬이 뭐야?" in made.side.getvalue()
    assert "/open 1" in made.side.getvalue()


def test_that_memory_is_away_is_said_once(screen: Callable[..., Screen]) -> None:
    made = screen(memory=True, redis_url="redis://127.0.0.1:1/0")
    made.types("파이썬이 뭐야?", "러스트가 뭐야?")
    assert made.side.getvalue().count("장기 기억에 지금 닿지 않습니다") == 1


def test_the_rate_is_set_or_refused(screen: Callable[..., Screen]) -> None:
    made = screen()
    made.types("/rate 0.2", "/rate 0.9", "/rate much")
    assert made.terminal.agent.store.session(made.terminal.session.id).compression_rate == 0.2
    assert "0.9" in made.side.getvalue()
    assert "/rate 0.3" in made.side.getvalue()


def test_an_unknown_command_is_not_sent_to_the_model(screen: Callable[..., Screen]) -> None:
    made = screen(chat=[])
    made.types("/nonsense", "/help", "/quit")
    assert "/nonsense" in made.side.getvalue()


def test_ctrl_c_stops_the_answer_and_keeps_what_was_said(screen: Callable[..., Screen]) -> None:
    before = signal.getsignal(signal.SIGINT)
    words = iter(["하나", "둘", "셋"])

    def slow(_messages: list[BaseMessage]) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return " ".join(words)

    made = screen(chat=scripted.ScriptedModel(slow, delay=0.05))
    made.types("천천히 세어 줘, 하나부터 셋까지")
    assert "(멈춤)" in made.out.getvalue()
    assert signal.getsignal(signal.SIGINT) is before


def test_an_unknown_session_is_an_error(screen: Callable[..., Screen]) -> None:
    with pytest.raises(SessionUnknown):
        screen().terminal.talk("nowhere")


def test_every_command_is_explained() -> None:
    assert {f"help.{name}" for name in COMMANDS} == {key for key in PHRASES if key.startswith("help.")}


def test_both_languages_take_the_same_values() -> None:
    import string

    def values(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert [key for key, (ko, en) in PHRASES.items() if values(ko) != values(en)] == []


def test_a_search_in_documents_shows_places_not_passages(screen: Callable[..., Screen]) -> None:
    asked = calling("search_documents", query="배는 언제 익어?")
    made = screen(chat=[asked, "9월에 익습니다 [1]."])
    agent = made.terminal.agent
    library = Library(agent.settings, agent.store, WordVectors())
    library.add([("과일.md", "# 과일\n\n## 배\n\n배는 9월에 익습니다.\n".encode())])
    made.terminal.agent = replace(agent, library=library)
    assert "9월에 익습니다 [1]." in made.types("배는 언제 익어?")
    assert "[1] 과일.md › 배" in made.side.getvalue()
    assert "<passage" not in made.side.getvalue()


def test_when_no_document_fits_the_terminal_says_where_else_to_look(screen: Callable[..., Screen]) -> None:
    asked = calling("search_documents", query="배는 언제 익어?")
    made = screen()
    agent = made.terminal.agent
    library = Library(agent.settings, agent.store, WordVectors())
    library.add([("과일.md", "# 과일\n\n사과는 빨갛습니다.\n".encode())])
    low = scripted.models([asked, "관련 문서를 찾지 못했습니다."], lambda _: said([1], confidence=0.1))
    made.terminal.agent = replace(agent, library=library, models=lambda: low)
    made.types("배는 언제 익어?")
    assert "→ 문서: FAQ와 가이드 보기, 추가하기: python cli.py index PATH" in made.side.getvalue()
    assert "?view" not in made.side.getvalue()
