"""The terminal: the same turns as everywhere, as lines of text."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from sqlalchemy import text

from door.terminal.command import COMMANDS
from errors import ModelUnreachable, SessionUnknown
from memory.reader import MemoryReader
from model import scripted
from retrieval import Library
from server.phrase import PHRASES
from store.session.options import AnswerOptions
from tests.door.conftest import Screen
from tests.graph.talk import calling
from tests.retrieval.conftest import Words as WordVectors
from tests.retrieval.test_loop import said


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


def test_a_system_prompt_and_a_temperature_go_with_new_and_with_opened_conversations(
    screen: Callable[..., Screen],
) -> None:
    made = screen()
    made.terminal.options = AnswerOptions("You are a pirate.", 0.5)
    assert made.terminal.answer("보물은 어디에 있어?", None) == 0
    store = made.terminal.agent.store
    session = store.sessions()[0].id
    assert store.options.of(session) == AnswerOptions("You are a pirate.", 0.5)
    store.options.set(session, AnswerOptions("You are a judge.", answer_tokens=900))
    made.terminal.options = AnswerOptions(temperature=1.0)
    assert made.terminal.answer("누가 이겼어?", session) == 0
    assert store.options.of(session) == AnswerOptions("You are a judge.", 1.0, 900), "the rest of it stays"


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
    assert "파이썬이 뭐야?  (1)" in made.out.getvalue()
    assert "대화를 열었습니다: 파이썬이 뭐야?" in made.side.getvalue()
    assert "/open 1" in made.side.getvalue()


def test_that_memory_cannot_be_read_is_said_once(
    screen: Callable[..., Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = screen(memory=True)
    monkeypatch.setattr(MemoryReader, "read_turn", lambda *_, **__: 1 / 0)
    made.types("파이썬이 뭐야?", "러스트가 뭐야?")
    assert made.side.getvalue().count("지금은 장기 기억을 읽을 수 없습니다") == 1


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
    low = scripted.build_scripted_models([asked, "관련 문서를 찾지 못했습니다."], lambda _: said([1], confidence=0.1))
    made.terminal.agent = replace(agent, library=library, models=lambda: low)
    made.types("배는 언제 익어?")
    assert "→ 문서: FAQ와 가이드 보기, 추가하기: python cli.py index PATH" in made.side.getvalue()
    assert "?view" not in made.side.getvalue()


def test_a_private_conversation_is_stored_nowhere_and_ends_with_a_new_one(
    screen: Callable[..., Screen], tmp_path: Path
) -> None:
    made = screen()
    made.types("/private", "비공개표식 이야기", "/sessions", "/new", "저장되는 이야기", "/private", "비공개표식 둘")
    assert "[b]비공개표식 이야기[/b]에 대한 답" in made.out.getvalue()
    assert made.side.getvalue().count("어디에도 저장하지 않으며") == 2
    assert made.side.getvalue().count("비공개 대화가 사라졌습니다.") == 2
    assert [each.title for each in made.terminal.agent.store.sessions()] == ["저장되는 이야기"]
    found = [each for each in tmp_path.rglob("*") if each.is_file() and "비공개표식".encode() in each.read_bytes()]
    assert found == []
