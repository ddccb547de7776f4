"""The commands of the terminal, in both languages, as if typed and from a pipe."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.messages import BaseMessage
from sqlalchemy import text
from typer.testing import CliRunner

import cli
from component.page.catalogue import _load_catalogue
from door.terminal.command import COMMANDS, is_script, parse_command
from errors import ModelUnreachable
from evaluation.judge import calibration
from evaluation.judge.criterion import BANDS, CRITERIA
from graph.context.report import PartName, Reason
from model import scripted
from model.profile import SMALL
from model.scripted import ScriptedModel
from retrieval import Library
from server.phrase import PHRASES, render_phrase
from tests.door.conftest import Screen
from tests.graph.recalling import fact, folding, noting, ready, settled
from tests.retrieval.conftest import Words as WordVectors
from tests.retrieval.test_loop import said
from tests.table import table

Open = Callable[..., Screen]
LANGUAGES = ("ko", "en")
AWAY = {"memory": True, "redis_url": "redis://127.0.0.1:1/0"}
HANGUL = re.compile("[가-힣]")


def rating(score: float = 8, noise: float = 1, **fields: Any) -> str:
    """The judge's reply as the specification has it."""
    scores = {name: {"score": noise if name == "noise" else score, "reason": f"{name} 이유"} for name in CRITERIA}
    return json.dumps(
        {"overall_score": 81, "scores": scores, "helpful_info": ["값"], "missing_info": [], "summary": "좋다", **fields}
    )


def judging(reply: str) -> Callable[[list[BaseMessage]], str]:
    """A utility model that folds and summarises, and judges with this reply."""
    return lambda messages: reply if "relevance" in str(messages[-1].text) else folding(messages)


def told(screen: Screen, turns: int = 8) -> Screen:
    """The screen after a conversation with a memory: five turns are folded, the others wait."""
    for number in range(1, turns + 1):
        assert screen.pipes(fact(number), screen.terminal.opened.id if screen.terminal.opened else None) == 0
        settled(screen.agent)
    return screen


def rows(screen: Screen) -> int:
    """How many conversations the store has, with or without turns."""
    with screen.agent.store.transaction() as connection:
        return int(connection.execute(text("SELECT count(*) FROM session")).scalar_one())


# --- what is a command ----------------------------------------------------------------------------


@table(
    ("line", "command"),
    [
        ("/memory", ("memory", "")),
        ("/eval 아까 말한 예산이  얼마였지? ", ("eval", "아까 말한 예산이  얼마였지?")),
        ("/rag\t문서", ("rag", "문서")),
        ("/export /tmp/a b.md", ("export", "/tmp/a b.md")),
        ("/요약", ("요약", "")),
        ("/", ("", "")),
        ("/home/me is what?", None),
        ("/etc/passwd", None),
        ("// a comment", None),
        (" /memory", None),
        ("1/2", None),
    ],
)
def test_a_line_is_a_command_unless_it_begins_with_a_path(line: str, command: tuple[str, str] | None) -> None:
    assert parse_command(line) == command


@table(
    ("piped", "script"),
    [
        ("/memory\n", True),
        ("\n\n/memory\r\n안녕\n", True),
        ("/eval 예산이 얼마였지?", True),
        ("/nonsense", True),
        ("/요약", True),
        ("/etc is what?", False),
        ("/home/me is what?", False),
        ("/etc/passwd", False),
        ("안녕\n/memory", False),
        ("", False),
    ],
)
def test_the_first_line_decides_whether_a_pipe_is_run(piped: str, script: bool) -> None:
    assert is_script(piped) is script


def test_every_part_reason_and_band_has_words() -> None:
    wanted = [f"part.{name}" for name in get_args(PartName)] + [f"reason.{name}" for name in get_args(Reason)]
    wanted += [f"band.{name}.{number}" for name in CRITERIA for number in range(len(BANDS))]
    assert [key for key in wanted if key not in PHRASES] == []


def test_all_work_that_the_page_names_has_words_here_too() -> None:
    names = [key for key in _load_catalogue("en") if key.startswith("work.name.")]
    assert names
    assert [key for key in names if key not in PHRASES] == []


@table(
    ("language", "line"),
    [
        ("en", "Work beside the answers: indexing past turns (for 0 s), title (waiting)"),
        ("ko", "답변 밖에서 하는 일: 지난 대화 색인 (0초째), 제목 (대기)"),
    ],
)
def test_memory_names_the_work_beside_the_answers(screen: Open, language: Any, line: str) -> None:
    made, gate, begun = screen(language=language, memory=True), threading.Event(), threading.Event()
    ready(made.agent)
    made.pipes("/rate 0.3")
    assert made.terminal.opened is not None

    def work(stop: threading.Event) -> None:
        begun.set()
        gate.wait(60)

    background, session = made.agent.background, made.terminal.opened.id
    background.submit(("turns", "", made.agent.user), work, "one", user=made.agent.user)
    background.submit(("turns", "", "other"), work, "one", user="other")
    background.submit(("title", session), work, "one")
    assert begun.wait(60)
    made.pipes("/memory", session)
    assert line in re.sub(r"\d+(?= s\)|초째)", "0", made.out.getvalue())
    gate.set()
    settled(made.agent)
    made.pipes("/memory", session)
    assert line.split(":")[0] not in made.out.getvalue()


# --- every command ----------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_answers_before_a_conversation_has_begun(screen: Open, language: Any) -> None:
    made = screen([], language=language, memory=True, retrieval=True)
    ready(made.agent)
    shown: dict[str, str] = {}
    for name in COMMANDS.keys() - {"rate", "private", "quit"}:
        made.pipes(f"/{name}")
        shown[name] = made.out.getvalue() + made.side.getvalue()
    assert [name for name, seen in shown.items() if not seen.strip()] == []
    assert [name for name, seen in shown.items() if bool(HANGUL.search(seen)) is not (language == "ko")] == []
    assert rows(made) == 0, "looking begins no conversation"
    begun = render_phrase(language, "chat.not_begun")
    assert {name for name, seen in shown.items() if begun in seen} == {"context", "retry"}
    assert render_phrase(language, "judge.no_question") in shown["eval"]
    assert render_phrase(language, "memory.none") in shown["memory"]
    assert render_phrase(language, "entities.none") in shown["entities"]
    assert "/open 1" in shown["load"]
    assert "/export chat.md" in shown["export"]


EXPECTED: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "/memory": (
        ("장기 기억 M1 · 500토큰 중", "item 5 costs $500.", "아직 기억에 반영되지 않은 턴: 6-8"),
        ("Long-term memory M1 · ", "item 5 costs $500.", "Turns that are not in the memory yet: 6-8"),
    ),
    "/entities": (
        ("기억한 값 5개 · 200토큰 중", "  item 3: $300 (3턴)"),
        ("Remembered values: 5 · ", "  item 3: $300 (turn 3)"),
    ),
    "/context": (
        ("9턴의 프롬프트", "장기 기억", "500", "1-3, 4-6", "요약으로 대신함 1-6", "대화 전체를 그대로 보내면"),
        ("The prompt of turn 9", "long-term memory", "500", "1-3, 4-6", "replaced by a summary 1-6", "whole history"),
    ),
    "/eval": (
        (f"질문: {fact(8)}", "종합 81.0 / 100", "관련성 8 / 10 · 관련 정보가 있으나 간접적", "  noise 이유", "  - 값"),
        (f"Query: {fact(8)}", "Overall 81.0 / 100", "Relevance 8 of 10 · related, but indirect", "  noise 이유"),
    ),
    "/eval 예산이 얼마였지?": (("질문: 예산이 얼마였지?", "6-8"), ("Query: 예산이 얼마였지?", "6-8")),
    "/summary": (("1-3턴 요약", "    User: My item 1 costs $100."), ("turns 1-3 summarised",)),
    "/sessions": (("  1  My item 1 costs $100.  (8)",),) * 2,
    "/help": (("/eval ", "/load "),) * 2,
    "/rag x": (("문서 검색을 꺼 두었습니다",), ("Document search is off",)),
    "/rate 0.2": (("압축률 0.2",), ("Compression rate 0.2",)),
    "/load 1": (("대화를 열었습니다: My item 1",), ("Opened: My item 1",)),
    "/retry": (("다시",), ("retry",)),
    "/새로": (("/새로 명령은 없습니다",), ("There is no command /새로",)),
}
REFUSED = ("/rag x", "/새로", "/retry")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_command_of_a_conversation_from_a_pipe_and_as_if_typed(screen: Open, language: Any) -> None:
    made = told(screen(noting, judging(rating()), language=language, memory=True))
    session, calls = made.terminal.session.id, len(made.agent.models().chat.calls)  # type: ignore[attr-defined]
    for line, expected in EXPECTED.items():
        code = made.pipes(line, session)
        shown = made.out.getvalue() + made.side.getvalue()
        assert [part for part in expected[language == "en"] if part not in shown] == [], f"{line}\n{shown}"
        assert code == (1 if line in REFUSED else 0), line
    made.types("/open 1", *EXPECTED)
    typed = made.out.getvalue() + made.side.getvalue()
    assert [part for both in EXPECTED.values() for part in both[language == "en"] if part not in typed] == []
    assert len(made.agent.models().chat.calls) == calls, "no command was sent to the model"  # type: ignore[attr-defined]


# --- from a pipe ------------------------------------------------------------------------------------


def test_lines_after_a_command_are_handled_as_typed(screen: Open) -> None:
    made = screen()
    assert made.pipes("/rate 0.2\n파이썬이 뭐야?\n\n/sessions\n") == 0
    assert made.out.getvalue() == "[b]파이썬이 뭐야?[/b]에 대한 답\n  1  파이썬이 뭐야?  (1)\n"
    assert made.agent.store.sessions()[0].compression_rate == 0.2


def test_an_unknown_command_ends_a_pipe_with_1_and_the_list(screen: Open) -> None:
    made = screen([])
    assert made.pipes("/nonsense\n/help") == 1
    assert "/nonsense 명령은 없습니다" in made.side.getvalue()
    assert "/export" in made.side.getvalue()
    assert "/export" in made.out.getvalue(), "the lines after it are run"


def test_a_message_that_begins_with_a_path_goes_to_the_model(screen: Open) -> None:
    made = screen()
    for message in ("/home/me is what?", "/etc is what?", "안녕\n/memory"):
        assert made.pipes(message) == 0
        assert f"{message.splitlines()[-1]}[/b]에 대한 답" in made.out.getvalue()


def test_quit_ends_a_script(screen: Open) -> None:
    made = screen([])
    assert made.pipes("/help\n/quit\n이 줄은 보내지 않는다") == 0


def test_a_failed_turn_ends_a_script_with_1(screen: Open) -> None:
    made = screen([ModelUnreachable(url="http://there")])
    assert made.pipes("/new\n파이썬이 뭐야?\n") == 1


def test_the_command_line_runs_a_command_from_a_pipe() -> None:
    shown = CliRunner().invoke(cli.application, ["chat", "--lang", "en"], input="/help\n")
    assert (shown.exit_code, "/eval" in shown.stdout) == (0, True)
    unknown = CliRunner().invoke(cli.application, ["chat", "--lang", "ko"], input="/모름\n")
    assert (unknown.exit_code, "/모름 명령은 없습니다" in unknown.output) == (1, True)


# --- /eval ------------------------------------------------------------------------------------------


def calibrated(screen: Screen, *, sound: bool) -> None:
    """Calibrates the judge of this screen with a model that gives every row its score, or the same score to all."""

    def scoring(messages: list[BaseMessage]) -> str:
        prompt = str(messages[-1].text)
        rows = [row for row in calibration.load_calibration_rows("ko") if row.query in prompt and row.memory in prompt]
        expected = max(rows, key=lambda row: len(row.memory)).expected
        return rating(expected, expected) if sound else rating()

    judged = calibration.calibrate_judge(scripted.build_scripted_models(utility=scoring), "ko")
    assert judged.has_passed is sound
    calibration.save_calibration(screen.agent.settings.data_dir, judged)


def test_what_the_judge_says_is_shown_with_how_far_it_can_be_relied_on(screen: Open) -> None:
    reply = rating(overall_score=40, missing_info=["기간\x1b[2J"], summary="반쯤\n좋다")
    made = told(screen(noting, judging(reply), profile=SMALL, memory=True), 6)
    session = made.terminal.session.id
    assert made.pipes("/eval", session) == 0
    assert "? 평가 모델 scripted: 보정 검사를 한 적이 없어" in made.out.getvalue()
    calibrated(made, sound=False)
    assert made.pipes("/eval", session) == 0
    assert "✗ 평가 모델 scripted: 보정 검사를 통과하지 못했으니" in made.out.getvalue()
    calibrated(made, sound=True)
    assert made.pipes("/eval", session) == 0
    shown = made.out.getvalue()
    assert "평가 모델 scripted: 보정 검사를 통과했습니다." in shown
    assert "모델이 직접 적은 종합 점수(40점)" in shown
    assert "이렇게 작은 모델이 매긴 점수는" in shown
    assert "  - 기간[2J\n" in shown
    assert "한 줄 평가: 반쯤 좋다" in shown
    assert "\x1b" not in shown


UNSCORED: dict[str, Any] = {
    "no JSON": "좋은 기억입니다.",
    "scores.relevance.score": rating(11),
    "model_unreachable": ModelUnreachable(url="http://there"),
}


def test_a_judgement_without_a_score_is_never_zero(screen: Open) -> None:
    replies = list[Any]()

    def utility(messages: list[BaseMessage]) -> Any:
        is_judge = any("relevance" in str(message.text) for message in messages)
        return replies[-1] if is_judge else folding(messages)

    made = told(screen(noting, utility, memory=True), 6)
    for why, reply in UNSCORED.items():
        replies.append(reply)
        assert made.pipes("/eval", made.terminal.session.id) == 1
        assert "채점하지 못했습니다" in made.side.getvalue()
        assert why in made.side.getvalue()
        assert "종합" not in made.out.getvalue()
        assert "0" not in made.out.getvalue().replace(fact(6), "")


def test_an_empty_memory_is_not_sent(screen: Open) -> None:
    made = told(screen(noting, [], memory=True), 2)
    assert made.pipes("/eval", made.terminal.session.id) == 0
    assert "기억이 비어 있어 모델에 묻지 않았습니다" in made.out.getvalue()
    assert "아직 기억에 반영되지 않은 턴: 1-2" in made.out.getvalue()


def test_ctrl_c_stops_a_judgement_and_the_conversation_goes_on(screen: Open) -> None:
    before = signal.getsignal(signal.SIGINT)

    def slow(messages: list[BaseMessage]) -> str:
        if "relevance" in str(messages[-1].text):
            os.kill(os.getpid(), signal.SIGINT)
            return "하나 " * 1000
        return folding(messages)

    made = told(screen(noting, ScriptedModel(slow, delay=0.01), memory=True), 6)
    session = made.terminal.session.id
    made.types("/open 1", "/eval", "/rate 0.4")
    assert "멈추었습니다." in made.side.getvalue()
    assert "종합" not in made.out.getvalue()
    assert made.agent.store.session(session).compression_rate == 0.4, "the next line is handled"
    assert made.pipes("/eval\n/rate 0.5", session) == 130
    assert made.agent.store.session(session).compression_rate == 0.4, "Ctrl-C ends a script"
    assert signal.getsignal(signal.SIGINT) is before


# --- memory that is away, off, cut or private ---------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_redis_they_tell_the_same(screen: Open, language: Any) -> None:
    made = told(screen(noting, folding, language=language, **AWAY), 6)
    for line, shown in (("/memory", "item 5 costs $500."), ("/entities", "item 5: $500")):
        assert made.pipes(line, made.terminal.session.id) == 0, line
        assert shown in made.out.getvalue()


def test_what_has_no_room_is_listed_apart_and_pins_are_marked(screen: Open) -> None:
    made = told(screen(noting, folding, memory=True), 6)
    agent, session = made.agent, made.terminal.session.id
    assert agent.memory is not None
    agent.memory.writer.pin(agent.tenant, session, "My item 2 costs $200.")
    made.terminal.agent = made.terminal.shared = agent.using(None, {"budget_memory": 16, "budget_entities": 6})
    assert made.pipes("/memory\n/entities", session) == 0
    kept, _, cut = made.out.getvalue().partition("예산을 넘어 프롬프트에서 빠지는 문장")
    assert "My item 2 costs $200 (고정)" in kept.replace("200.", "200")
    assert "사용자에 관한 사실" in kept
    assert "item 1 costs $100." not in kept
    assert "item 1 costs $100." in cut
    assert "item 1: $100 (1턴) · 예산을 넘어 프롬프트에서 빠짐" in cut


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_long_term_memory_its_commands_say_so(screen: Open, language: Any) -> None:
    made = screen(language=language)
    for line in ("/memory", "/entities", "/eval 뭐였지?"):
        assert made.pipes(line) == 1
        assert render_phrase(language, "memory.off") in made.side.getvalue()
    made.types("/private", "/memory")
    assert render_phrase(language, "memory.private") in made.side.getvalue()


# --- /rag -------------------------------------------------------------------------------------------


def documented(made: Screen, utility: Any = ()) -> Screen:
    agent = made.agent
    library = Library(agent.settings, agent.store, WordVectors())
    library.add(
        [("과일\x1b[2J.md", "# 과일\n\n## 배\n\n배는 9월에 익습니다.\n\n## 귤\n\n귤은 11월에 익습니다.\n".encode())]
    )
    made.terminal.shared = made.terminal.agent = replace(agent, library=library)
    return made


def test_rag_shows_what_the_tool_would_find_and_asks_no_chat_model(screen: Open) -> None:
    made = documented(screen([], [said([1], sufficient=True)]))
    assert made.pipes("/rag 배는 언제 익어?") == 0
    first, excerpt, *others = made.out.getvalue().splitlines()
    assert re.fullmatch(r"\[1\] 과일\[2J\.md › 배 \(점수 [\d.]+\)", first)
    assert "9월에 익습니다" in excerpt
    assert any("› 귤" in line for line in others)


def test_rag_says_when_nothing_fits_and_where_else_to_look(screen: Open) -> None:
    made = documented(screen([], lambda _: said([1], confidence=0.1)))
    assert made.pipes("/rag 양자역학이 뭐야?") == 0
    assert "관련 문서를 찾지 못했습니다." in made.out.getvalue()
    assert "python cli.py index PATH" in made.out.getvalue()


def test_rag_says_that_there_are_no_documents(screen: Open) -> None:
    made = screen([], retrieval=True)
    assert made.pipes("/rag 배는 언제 익어?") == 0
    assert "python cli.py index" in made.out.getvalue()


# --- /export ----------------------------------------------------------------------------------------


def test_a_conversation_is_exported_as_json_or_markdown(screen: Open, tmp_path: Path) -> None:
    made = screen()
    made.types("파이썬이 뭐야?", f"/export {tmp_path}/대화 하나.json", f"/export {tmp_path}/a.MD")
    one, two = tmp_path / "대화 하나.json", tmp_path / "a.MD"
    assert json.loads(one.read_text("utf-8"))["turns"][0]["question"] == "파이썬이 뭐야?"
    assert "## 1번째 턴" in two.read_text("utf-8")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (one, two)] == [0o600, 0o600]
    assert f"대화를 {one}에 저장했습니다." in made.side.getvalue()


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_export_never_silently_replaces_a_file(screen: Open, tmp_path: Path, language: Any) -> None:
    made, path = screen(language=language), tmp_path / "chat.md"
    path.write_text("mine")
    made.pipes("파이썬이 뭐야?")
    session = made.terminal.session.id
    assert made.pipes(f"/export {path}", session) == 1
    assert path.read_text() == "mine"
    assert f"/export --force {path}" in " ".join(made.side.getvalue().split())
    assert made.pipes(f"/export --force {path}", session) == 0
    assert "파이썬이 뭐야?" in path.read_text("utf-8")
    assert made.pipes(f"/export {tmp_path}/none/chat.md", session) == 1
    assert f"{tmp_path}/none/chat.md" in made.side.getvalue()
    assert bool(HANGUL.search(made.side.getvalue())) is (language == "ko")


def test_a_private_conversation_is_exported_because_the_user_asks(screen: Open, tmp_path: Path) -> None:
    made, path = screen(), tmp_path / "secret.md"
    made.types("/private", "비공개표식 이야기", f"/export {path}")
    assert "비공개표식" in path.read_text("utf-8")
    assert "대화가 끝나도 이 파일은 남습니다" in made.side.getvalue()
