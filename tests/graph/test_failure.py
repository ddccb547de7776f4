"""Turns and summaries that fail: nothing is lost, and the order stays (design 2.4, design 3.5, design 5.3)."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from sqlalchemy import event

from errors import (
    AnswerRefused,
    ContextTooLong,
    DiskFull,
    EmbeddedFailed,
    Empty,
    GieokError,
    KeyRejected,
    ModelBroken,
    ModelOverloaded,
    ModelUnreachable,
    NothingToRetry,
    SessionUnknown,
    StoreUnavailable,
    TooLong,
)
from graph.turn import request
from graph.turn.agent import Agent, open_agent
from graph.turn.event import SummaryMade
from model import scripted
from model.call.abort import run_beside_call
from model.modelset import ModelSet
from model.profile import SMALL, STRONG, Profile
from model.scripted import ScriptedModel
from settings import load_settings
from tests import process
from tests.graph.conftest import OpenAgent, Route
from tests.graph.talk import (
    answer,
    answering,
    calling,
    done,
    failed,
    only,
    prompts,
    question,
    raw,
    say,
    settled,
    summarised,
    summarising,
    summary_calls,
    talk,
    topic,
)
from tests.graph.test_conversation import NewSession

OVERLOADED = ModelOverloaded(url="http://model")


def failing(times: int, error: Any, then: Callable[[list[BaseMessage]], str]) -> Callable[[list[BaseMessage]], Any]:
    """A model that gives ``error`` (an exception or a text) so often, then answers."""
    left = [times]

    def reply(messages: list[BaseMessage]) -> Any:
        left[0] -= 1
        return error if left[0] >= 0 else then(messages)

    return reply


def connecting(
    agent: OpenAgent, connect: Callable[[], object], count: Callable[[str], int] = len, profile: Profile = STRONG
) -> Agent:
    """An agent whose model's server is connected to so, and counts so."""
    models = scripted.build_scripted_models(answering, summarising, profile=profile)
    return agent(resolve=lambda: replace(models, connect=connect, count=count))


@pytest.mark.parametrize("profile", [STRONG, SMALL])
@pytest.mark.parametrize("text", [question(1), "고마워!"])
def test_the_models_server_runs_before_the_first_token_of_a_prompt_is_counted(
    agent: OpenAgent, session: NewSession, profile: Profile, text: str
) -> None:
    steps: list[str] = []

    def count(text: str) -> int:
        steps.append("count")
        return len(text)

    bot = connecting(agent, lambda: steps.append("connect"), count, profile)
    done(say(bot, session(bot), text))
    assert (steps[0], steps.count("connect")) == ("connect", 1)
    assert "count" in steps


def test_the_models_server_runs_before_a_summary_that_the_turn_waits_for_is_counted(
    agent: OpenAgent, session: NewSession
) -> None:
    steps: list[str] = []

    def count(text: str) -> int:
        steps.append("count")
        return len(text)

    models = replace(
        scripted.build_scripted_models(answering, summarising), connect=lambda: steps.append("connect"), count=count
    )
    bot = agent(resolve=lambda: models, ahead=False)
    own = session(bot)
    for number in range(1, 4):
        done(say(bot, own, question(number)))
    steps.clear()
    assert only(say(bot, own, question(4)), SummaryMade)
    assert steps[0] == "connect"


def test_an_answer_that_code_words_does_not_wait_for_the_models_server(
    agent: OpenAgent, session: NewSession, route: Route
) -> None:
    route("곱하기", "calculate", expression="6*7")
    connected: list[str] = []
    bot = connecting(agent, lambda: connected.append("once"), profile=SMALL)
    own = session(bot)
    end = done(say(bot, own, "6 곱하기 7은?"))
    assert "42" in end.answer
    assert (end.usage.calls, connected) == (0, [])
    assert done(say(bot, own, question(1))).usage.calls == 1
    assert connected == ["once"]


def test_a_server_that_cannot_be_connected_to_fails_no_turn_before_the_model_is_called(
    agent: OpenAgent, session: NewSession, tmp_path: Path
) -> None:
    def connect() -> None:
        raise EmbeddedFailed(name="m", reason="out of memory", log=tmp_path / "m.log")

    bot = connecting(agent, connect)
    assert done(say(bot, session(bot), question(1))).answer == answer(1)


@pytest.mark.parametrize("text", [question(1), "고마워!"])
def test_a_stop_does_not_wait_for_a_server_that_is_starting(agent: OpenAgent, session: NewSession, text: str) -> None:
    stop, ended = threading.Event(), threading.Event()

    def connect() -> None:
        stop.set()
        run_beside_call(ended.wait)

    bot = connecting(agent, connect)
    end = done(say(bot, session(bot), text, stop))
    assert (end.stopped, end.usage.calls) == (True, 0)
    ended.set()


def test_a_built_in_server_that_cannot_come_back_fails_the_turn_and_its_row_is_written(
    agent: OpenAgent, session: NewSession, tmp_path: Path
) -> None:
    bot = agent([EmbeddedFailed(name="m", reason="out of memory", log=tmp_path / "m.log"), "다시 왔습니다"])
    own = session(bot)
    end = failed(say(bot, own, question(1)))
    row = bot.store.turn(own, 1)
    assert row is not None
    assert (end.code, row.status) == ("embedded_failed", "failed")
    assert row.error is not None
    assert row.error["values"]["log"] == str(tmp_path / "m.log")
    assert done(list(bot.retry(own))).answer == "다시 왔습니다"


def test_a_failed_turn_is_written_even_when_what_a_tool_left_cannot_be(agent: OpenAgent, session: NewSession) -> None:
    @tool(response_format="content_and_artifact")
    def peek() -> tuple[str, dict[str, Any]]:
        """Look."""
        return "seen", {"odd": object()}

    bot = replace(agent([calling("peek"), AnswerRefused()]), tools=[peek])
    own = session(bot)
    failed(say(bot, own, question(1)))
    row = bot.store.turn(own, 1)
    assert row is not None
    assert row.status == "failed"
    assert row.error is not None


def test_what_had_arrived_when_the_model_broke_is_kept_and_no_model_sees_it(
    agent: OpenAgent, session: NewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = ScriptedModel._stream
    breaks = [True]

    def broken(self: ScriptedModel, *given: Any, **more: Any) -> Iterator[ChatGenerationChunk]:
        for number, chunk in enumerate(stream(self, *given, **more)):
            if breaks[0] and number == 3:
                breaks[0] = False
                raise ModelBroken(url="http://model", reason="gone")
            yield chunk

    monkeypatch.setattr(ScriptedModel, "_stream", broken)
    bot = agent()
    own = session(bot)
    failed(say(bot, own, question(1)))
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert turn.answer
    assert answer(1).startswith(turn.answer)
    talk(bot, own, [2])
    assert [each.text for each in prompts(bot)[-1] if isinstance(each, AIMessage)] == ["…"]


# --- summaries ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "code"),
    [(OVERLOADED, "model_overloaded"), ("", "empty_answer"), ("가" * 5000, "summary_rejected"), (" \n", "")],
)
def test_a_summary_that_fails_leaves_its_turns_raw_and_is_tried_again(
    agent: OpenAgent, session: NewSession, wrong: Any, code: str
) -> None:
    bad = [True]
    bot = agent(utility=lambda messages: wrong if bad[0] else summarising(messages), ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 4))
    events = say(bot, own, question(4))
    (made,) = only(events, SummaryMade)
    assert done(events).answer == answer(4)
    assert (made.turns, made.record) == ((1, 2, 3), None)
    assert made.error
    assert raw(prompts(bot)[-1]) == [topic(n) for n in (1, 2, 3, 4)]
    assert bot.state(own)["summary_history"] == []
    (row,) = bot.store.ledger.summaries(own)
    assert (row.status, row.turns) == ("failed", [1, 2, 3])
    assert row.error is not None
    assert row.error["code"] in (code, "summary_rejected")
    bad[0] = False
    talk(bot, own, [5])
    assert summarised(prompts(bot)[-1]) == [(1, 3)]
    assert raw(prompts(bot)[-1]) == [topic(4), topic(5)]
    assert [(row.status, row.origin) for row in bot.store.ledger.summaries(own)] == [("active", "auto")]


@pytest.mark.parametrize("ahead", [True, False])
def test_a_server_that_fails_is_asked_with_growing_pauses(agent: OpenAgent, session: NewSession, ahead: bool) -> None:
    """And where three chunks wait by then, code summarises them (``graph.summary.backlog``)."""
    bad = [True]
    bot = agent(utility=lambda messages: OVERLOADED if bad[0] else summarising(messages), ahead=ahead)
    own = session(bot)
    begin = 3 if ahead else 4  # a summary ahead is tried after the third turn, any other before the fourth answer
    asked = list[int]()
    for number in range(1, 10):
        before = summary_calls(bot)
        talk(bot, own, [number])
        asked += [number] * (summary_calls(bot) - before)
    assert asked == [begin, begin + 1, begin + 3]
    assert raw(prompts(bot)[-1]) == [topic(n) for n in range(1, 10)]
    (row,) = bot.store.ledger.summaries(own)
    assert (row.status, row.turns, row.error and row.error["until"]) == ("failed", [1, 2, 3], begin + 7)
    bad[0] = False
    talk(bot, own, [10])
    assert summarised(prompts(bot)[-1]) == [(1, 3), (4, 6), (7, 9)]


def test_turns_that_have_no_room_are_summarised_by_code_where_the_server_fails(
    agent: OpenAgent, session: NewSession
) -> None:
    bot = agent(utility=lambda _: OVERLOADED, context_size=2000)
    own = session(bot)
    talk(bot, own, range(1, 9))
    assert [row.origin for row in bot.store.ledger.summaries(own)[:1]] == ["extracted"]
    assert len(raw(prompts(bot)[-1])) < 8


@pytest.mark.parametrize("wrong", ["", "가" * 5000, AnswerRefused()])
@pytest.mark.parametrize("ahead", [True, False])
def test_a_summary_that_fails_twice_is_made_of_the_original(
    agent: OpenAgent, session: NewSession, wrong: Any, ahead: bool
) -> None:
    bot = agent(utility=lambda _messages: wrong, ahead=ahead)
    own = session(bot)
    talk(bot, own, range(1, 6))
    (record,) = bot.state(own)["summary_history"]
    said = [each.answer for each in bot.store.turns(own)] + [topic(number) for number in (1, 2, 3)]
    assert any(part in record["summary"] for text in said if text for part in text.split(". "))
    assert record["turns"] == [1, 2, 3]
    assert 0 < record["summary_chars"] < record["original_chars"]
    (row,) = bot.store.ledger.summaries(own)[:1]
    assert (row.status, row.origin) == ("active", "extracted")
    assert raw(prompts(bot)[-1]) == [topic(4), topic(5)]


@pytest.mark.parametrize("fails", [(OVERLOADED, "", OVERLOADED, ""), ("", OVERLOADED, OVERLOADED, "")])
def test_only_failures_that_the_text_meets_again_count(
    agent: OpenAgent, session: NewSession, fails: tuple[Any, ...]
) -> None:
    left = list(fails)
    bot = agent(utility=lambda messages: left.pop(0) if left else summarising(messages), ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 7))
    assert (bot.state(own)["summary_history"], len(left)) == ([], 1)
    talk(bot, own, [7])
    assert [row.origin for row in bot.store.ledger.summaries(own)] == ["extracted", "auto"]


def test_a_failed_summary_is_made_after_the_next_turn_and_nobody_waits_for_it(
    agent: OpenAgent, session: NewSession
) -> None:
    bot = agent(utility=failing(1, OVERLOADED, summarising))
    own = session(bot)
    talk(bot, own, range(1, 4))
    assert [row.status for row in bot.store.ledger.summaries(own)] == ["failed"]
    talk(bot, own, [4, 5])
    assert [summarised(prompt) for prompt in prompts(bot)[-2:]] == [[], [(1, 3)]]
    assert [row.status for row in bot.store.ledger.summaries(own)] == ["active"]


# --- answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "code", "retryable"),
    [
        ("", "empty_answer", True),
        (" \n ", "empty_answer", True),
        ("\x00", "empty_answer", True),
        (OVERLOADED, "model_overloaded", True),
        (KeyRejected(url="http://model", status=401), "key_rejected", False),
        (ValueError("secret words"), "unexpected", True),
    ],
)
@pytest.mark.parametrize("greeting", [False, True])
def test_a_turn_without_an_answer_keeps_its_question_and_can_be_retried(
    agent: OpenAgent, session: NewSession, wrong: Any, code: str, retryable: bool, greeting: bool
) -> None:
    bot = agent(failing(1, wrong, answering))
    own = session(bot)
    text = "안녕하세요" if greeting else question(1)
    end = failed(say(bot, own, text))
    assert (end.turn, end.code, end.retryable) == (1, code, retryable)
    assert "secret" not in end.message
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert (turn.question, turn.status, turn.answer) == (text, "failed", None)
    assert turn.error is not None
    assert turn.error["code"] == code
    again = done(list(bot.retry(own)))
    assert (again.turn, again.answer) == (1, answering(prompts(bot)[-1]))
    assert [turn.status for turn in bot.store.turns(own)] == ["done"]
    assert bot.store.session(own).turn_count == bot.state(own)["turn_count"] == 1
    with pytest.raises(NothingToRetry):
        list(bot.retry(own))


def test_the_next_message_does_not_merge_into_a_failed_turn(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(failing(1, OVERLOADED, answering))
    own = session(bot)
    failed(say(bot, own, question(1)))
    assert done(say(bot, own, question(2))).turn == 2
    prompt = prompts(bot)[-1]
    assert [message.type for message in prompt] == ["system", "human", "ai", "human"]
    assert raw(prompt) == [topic(1), topic(2)]
    assert [turn.status for turn in bot.store.turns(own)] == ["failed", "done"]


def test_a_retry_goes_on_where_the_turn_ended(agent: OpenAgent, session: NewSession) -> None:
    """The summary of turn 4 is there already; only the answer is asked for again."""
    calls: list[int] = []

    def reply(messages: list[BaseMessage]) -> Any:
        calls.append(1)
        return OVERLOADED if len(calls) in (4, 5) else answering(messages)

    bot = agent(reply, ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 4))
    assert only(say(bot, own, question(4)), SummaryMade)
    events = list(bot.retry(own))
    assert not only(events, SummaryMade)
    failed(events)
    events = list(bot.retry(own))
    assert not only(events, SummaryMade)
    assert done(events).turn == 4
    assert summarised(prompts(bot)[-1]) == [(1, 3)]
    assert raw(prompts(bot)[-1]) == [topic(4)]


def test_failed_turns_are_summarised_in_order(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(lambda messages: OVERLOADED if topic(2) in str(messages[-1].text) else answering(messages))
    own = session(bot)
    for number in range(1, 8):
        say(bot, own, question(number))
        settled(bot)
    assert summarised(prompts(bot)[-1]) == [(1, 3), (4, 6)]
    assert bot.state(own)["summary_history"][0]["original_chars"] == sum(
        len(question(n)) + (len(answer(n)) if n != 2 else 0) for n in (1, 2, 3)
    )


def test_models_that_cannot_be_had_fail_the_turn_and_not_the_session(agent: OpenAgent, session: NewSession) -> None:
    chosen = scripted.build_scripted_models(answering, summarising)
    missing: list[Exception] = [KeyRejected(url="http://model", status=401), OSError("no route")]

    def resolve() -> ModelSet:
        if missing:
            raise missing.pop(0)
        return chosen

    bot = agent(resolve=resolve)
    own = session(bot)
    assert failed(say(bot, own, question(1))).code == "key_rejected"
    failed(list(bot.retry(own)))
    assert done(list(bot.retry(own))).answer == answer(1)
    assert [turn.question for turn in bot.store.turns(own)] == [question(1)]


def test_turns_that_never_reached_the_graph_are_in_the_next_prompt(agent: OpenAgent, session: NewSession) -> None:
    chosen = scripted.build_scripted_models(answering, summarising)
    down = [True]

    def resolve() -> ModelSet:
        if down[0]:
            raise OVERLOADED
        return chosen

    bot = agent(resolve=resolve)
    own = session(bot)
    failed(say(bot, own, question(1)))
    failed(say(bot, own, question(2)))
    down[0] = False
    talk(bot, own, [3])
    assert raw(prompts(bot)[-1]) == [topic(1), topic(2), topic(3)]
    talk(bot, own, [4])
    assert summarised(prompts(bot)[-1]) == [(1, 3)]


def test_a_question_that_is_too_long_for_the_model_says_so(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(context_size=1000)
    own = session(bot)
    talk(bot, own, [1])
    end = failed(say(bot, own, "가" * 20_000))
    assert (end.code, end.retryable) == (ContextTooLong.code, False)
    assert not only(say(bot, own, question(3)), SummaryMade)
    assert bot.store.session(own).turn_count == 3


@pytest.mark.parametrize(("text", "error"), [("", Empty), (" \n", Empty), ("\x00", Empty), ("x" * 21, TooLong)])
def test_a_message_that_is_refused_is_no_turn(
    agent: OpenAgent, session: NewSession, monkeypatch: pytest.MonkeyPatch, text: str, error: type[Exception]
) -> None:
    monkeypatch.setattr(request, "MESSAGE_LIMIT", 20)
    bot = agent()
    own = session(bot)
    with pytest.raises(error):
        say(bot, own, text)
    assert bot.store.session(own).turn_count == 0


@pytest.mark.parametrize("name", ["nobody", "", "\ud800", "a\x00b", "../../etc/passwd", "한글 🙂", "x" * 5000])
def test_an_unknown_session_is_said_to_be_unknown(agent: OpenAgent, name: str) -> None:
    bot = agent()
    for call in (lambda: say(bot, name, "안녕"), lambda: list(bot.retry(name)), lambda: bot.store.session(name)):
        with pytest.raises(SessionUnknown):
            call()


# --- the store ----------------------------------------------------------------------------------


def _break(bot: Agent, statement: str, times: list[int]) -> None:
    """Makes statements that begin so fail like a full disk, as often as ``times`` says."""

    @event.listens_for(bot.store.engine, "before_cursor_execute")
    def full(_c: Any, _cursor: Any, sql: str, *_: Any) -> None:
        if sql.startswith(statement) and times[0] > 0:
            times[0] -= 1
            raise sqlite3.OperationalError("database or disk is full")


def test_a_full_disk_when_the_question_comes_takes_nothing(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    _break(bot, "INSERT INTO turn", [1])
    with pytest.raises(DiskFull):
        say(bot, own, question(1))
    assert bot.store.session(own).turn_count == 0
    talk(bot, own, [1, 2])


def test_a_full_disk_when_the_answer_comes_keeps_it_in_the_state(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    talk(bot, own, [1])
    _break(bot, "UPDATE turn", [1])
    end = failed(say(bot, own, question(2)))
    assert (end.code, end.retryable) == ("disk_full", True)
    calls = len(prompts(bot))
    assert done(list(bot.retry(own))).answer == answer(2)
    assert len(prompts(bot)) == calls
    assert [turn.status for turn in bot.store.turns(own)] == ["done", "done"]
    talk(bot, own, [3])
    assert raw(prompts(bot)[-1]) == [topic(1), topic(2), topic(3)]


def test_old_checkpoints_that_cannot_be_deleted_do_not_fail_the_turn(agent: OpenAgent, session: NewSession) -> None:
    def prune(_: str) -> None:
        raise StoreUnavailable(where="x", reason="locked")

    kept = agent()
    bot = replace(kept, checkpoints=replace(kept.checkpoints, prune=prune))
    own = session(bot)
    talk(bot, own, [1, 2])
    assert [turn.status for turn in bot.store.turns(own)] == ["done", "done"]


def test_failed_turns_leave_one_checkpoint_too(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([answer(1), *[ModelUnreachable(url="x") for _ in range(5)], answer(7)])
    own = session(bot)
    done(say(bot, own, question(1)))
    for number in range(2, 7):
        failed(say(bot, own, question(number)))
    connection = bot.checkpoints.saver.conn  # type: ignore[attr-defined]
    assert connection.execute("SELECT count(*) FROM checkpoints").fetchone() == (1,)
    assert done(say(bot, own, question(7))).answer == answer(7)


def test_full_checkpoints_fail_the_turn_clearly_and_lose_nothing(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    talk(bot, own, [1])
    connection = bot.checkpoints.saver.conn  # type: ignore[attr-defined]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    end = failed(say(bot, own, "가" * 100_000))
    assert end.code == "disk_full"
    connection.execute("PRAGMA max_page_count=1000000")
    assert done(list(bot.retry(own))).turn == 2
    turns = bot.store.turns(own)
    assert [(turn.status, len(turn.question)) for turn in turns] == [("done", len(question(1))), ("done", 100_000)]


def fill_the_disk(folder: Path, said: Any) -> None:
    """A process whose files may not grow in its second turn; says its error, then how it goes on."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    bot = open_agent(load_settings(data_dir=folder), lambda: scripted.build_scripted_models(answering, summarising))
    own = bot.store.create_session("ko", 0.3).id
    talk(bot, own, [1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        said.put(failed(say(bot, own, question(2))).code)
    except GieokError as error:
        said.put(error.code)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    said.put(done(say(bot, own, question(3))).turn)
    said.put([turn.question for turn in bot.store.turns(own)] == [question(1), question(3)])


def test_files_that_cannot_grow_give_an_error_of_ours_and_the_session_goes_on(tmp_path: Path) -> None:
    said = process.channel()
    assert process.end(process.start(fill_the_disk, tmp_path, said)) == 0
    assert said.get(timeout=60) in ("disk_full", "store_unavailable")
    assert [said.get(timeout=60), said.get(timeout=60)] == [2, True]


def test_a_folder_that_is_a_file_is_an_error_that_names_it(agent: OpenAgent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnavailable, match="file"):
        agent(data_dir=tmp_path / "file")


@pytest.mark.parametrize("name", ["gieok.db", "checkpoint.db"])
def test_a_database_that_is_none_is_an_error_that_names_it(agent: OpenAgent, tmp_path: Path, name: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / name).write_text("this is not a database at all, but text " * 100)
    with pytest.raises(StoreUnavailable, match=name):
        agent()


def open_as_nobody(folder: Path, said: Any) -> None:
    """A process of another user, who may only read the folder; says its error."""
    os.setresuid(65534, 65534, 65534)
    try:
        open_agent(load_settings(data_dir=folder))
    except GieokError as error:
        said.put(error.code)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
@pytest.mark.parametrize("opened_before", [False, True])
def test_a_read_only_folder_is_an_error_of_ours(agent: OpenAgent, tmp_path: Path, opened_before: bool) -> None:
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    if opened_before:
        agent().close()
    for part in (folder, *folder.parents):
        if "pytest-of-" in str(part):  # the folders that pytest closes to others
            part.chmod(part.stat().st_mode | 0o055)
    said = process.channel()
    assert process.end(process.start(open_as_nobody, folder, said)) == 0
    assert said.get(timeout=60) == "store_unavailable"
