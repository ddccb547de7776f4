"""kill -9 in each node and between row and checkpoint: nothing is lost, nothing orphaned (design 3.3)."""

from __future__ import annotations

import signal
import sqlite3
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from graph.turn.agent import Agent
from graph.turn.event import SummaryMade, ToolStarted
from tests.graph import killed
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import ready
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
    scripted,
    summarised,
    summary_calls,
    talk,
    topic,
)
from tests.graph.test_conversation import NewSession
from tests.process import end, start

UNANSWERED = ["before_graph", "summary", "after_ledger", "llm", "tool", "between", "after_tool", "casual"]
ANSWERED = ["before_row", "before_prune"]
BEFORE = 3
"""Turns before the one that is cut off: it is turn 4, so a summary is due."""


def kill(bot: Agent, session: str, place: str) -> str:
    """Runs turn 4 in a process of its own that is killed at the place; gives its question."""
    text = "고마워요" if place == "casual" else question(4)
    folder = str(bot.settings.data_dir)
    assert end(start(killed.main, folder, session, place, text)) == -signal.SIGKILL
    for name in ("gieok.db", "checkpoint.db"):
        connection = sqlite3.connect(Path(folder) / name)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
    return text


def whole(prompt: list[BaseMessage]) -> None:
    """What OpenAI-style APIs demand: every call has its result right after it, roles make sense, nothing is empty."""
    open_calls: list[str] = []
    for before, message in pairwise(prompt):
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in open_calls
            open_calls.remove(message.tool_call_id)
        else:
            assert open_calls == []
        if isinstance(message, AIMessage):
            open_calls = [str(call["id"]) for call in message.tool_calls]
            assert message.tool_calls or str(message.text)
        assert (before.type, message.type) != ("human", "human")
    assert open_calls == []


def check_prompts(bot: Agent) -> None:
    for prompt in prompts(bot):
        whole(prompt)


@pytest.fixture
def before(agent: OpenAgent, session: NewSession) -> Any:
    """A session of three turns, and the agent of the new process."""

    def make(*script: Any) -> tuple[Agent, str]:
        old = agent(ahead=False)
        own = session(old)
        talk(old, own, range(1, BEFORE + 1))
        old.close()
        return agent(*script, ahead=False), own

    return make


@pytest.mark.parametrize("place", UNANSWERED)
def test_a_turn_that_was_cut_off_is_completed_by_a_retry(before: Any, place: str) -> None:
    bot, own = before()
    text = kill(bot, own, place)
    bot.reconcile(own)
    row = bot.store.turn(own, 4)
    assert (row.question, row.status) == (text, "running")
    events = list(bot.retry(own))
    assert done(events).turn == 4
    assert done(events).answer == answering(prompts(bot)[-1])
    assert summary_calls(bot) == (1 if place in ("before_graph", "summary") else 0)
    if place != "casual":
        assert summarised(prompts(bot)[-1]) == [(1, 3)]
        assert raw(prompts(bot)[-1]) == [topic(4)]
    assert [each.name for each in only(events, ToolStarted)] == (["calculate"] if place in ("tool", "between") else [])
    if place in ("tool", "between", "after_tool"):
        assert [step["name"] for step in bot.store.turn(own, 4).steps] == ["calculate"]
    assert not bot.snapshot(own).next
    talk(bot, own, range(5, 9))
    assert summarised(prompts(bot)[-1]) == [(1, 3), (4, 6)]
    assert raw(prompts(bot)[-1]) == [topic(7), topic(8)]
    assert [turn.status for turn in bot.store.turns(own)] == ["done"] * 8
    check_prompts(bot)


@pytest.mark.parametrize("place", UNANSWERED)
def test_a_new_message_instead_closes_the_turn_that_was_cut_off(before: Any, place: str) -> None:
    bot, own = before()
    text = kill(bot, own, place)
    events = say(bot, own, question(5))
    assert done(events).turn == 5
    assert [turn.status for turn in bot.store.turns(own)] == ["done", "done", "done", "failed", "done"]
    row = bot.store.turn(own, 4)
    assert (row.question, row.error["code"]) == (text, "interrupted")
    made = len(only(events, SummaryMade))
    # the side work of the turn before may have been quick enough before the search in past turns was over
    expected = (
        {0, 1}
        if place == "before_graph"
        else {int(place not in ("after_ledger", "llm", "tool", "between", "after_tool"))}
    )
    assert made in expected
    assert summarised(prompts(bot)[-1]) == [(1, 3)]
    assert raw(prompts(bot)[-1]) == ([topic(5)] if place == "casual" else [topic(4), topic(5)])
    assert [row.status for row in bot.store.ledger.summaries(own, superseded=True)] == ["active"]
    talk(bot, own, range(6, 9))
    assert summarised(prompts(bot)[-1]) == [(1, 3), (4, 6)]
    assert bot.state(own)["turn_count"] == 8
    check_prompts(bot)


@pytest.mark.parametrize("place", ANSWERED)
@pytest.mark.parametrize("opened", [True, False])
def test_an_answer_that_only_misses_its_row_is_found_again(before: Any, place: str, opened: bool) -> None:
    bot, own = before()
    kill(bot, own, place)
    if opened:
        bot.reconcile(own)
        assert bot.store.turn(own, 4).status == "done"
        assert bot.store.turn(own, 4).answer == answer(4)
    calls = len(prompts(bot))
    assert calls == 0
    talk(bot, own, [5])
    assert bot.store.turn(own, 4).answer == answer(4)
    assert [turn.status for turn in bot.store.turns(own)] == ["done"] * 5
    assert summarised(prompts(bot)[-1]) == [(1, 3)]
    assert raw(prompts(bot)[-1]) == [topic(4), topic(5)]
    check_prompts(bot)


def test_a_retry_of_an_answer_that_only_misses_its_row_asks_no_model(before: Any) -> None:
    bot, own = before()
    kill(bot, own, "before_row")
    found = done(list(bot.retry(own)))
    assert (found.turn, found.answer) == (4, answer(4))
    assert prompts(bot) == []


def test_a_retry_that_fails_after_a_crash_can_be_retried(before: Any) -> None:
    bot, own = before([RuntimeError("down"), answering])
    kill(bot, own, "llm")
    failed(list(bot.retry(own)))
    assert done(list(bot.retry(own))).answer == answer(4)


def test_a_killed_session_that_is_killed_again_still_goes_on(before: Any) -> None:
    bot, own = before()
    kill(bot, own, "after_tool")
    kill(bot, own, "tool")  # turn 5: closes turn 4 and dies in its own tool
    talk(bot, own, [6])
    assert [turn.status for turn in bot.store.turns(own)] == ["done"] * 3 + ["failed"] * 2 + ["done"]
    check_prompts(bot)


@pytest.mark.parametrize("turns", [2, 5])
def test_a_lost_checkpoint_file_is_filled_up_from_the_record(agent: OpenAgent, session: NewSession, turns: int) -> None:
    old = agent()
    own = session(old)
    talk(old, own, range(1, turns + 1))
    old.background.idle(5)
    old.close()
    for path in old.settings.data_dir.glob("checkpoint.db*"):
        path.unlink()
    bot = agent(ahead=False)  # turn 6 would make the next summary ahead: here only calls for the lost one count
    talk(bot, own, [turns + 1])
    chunks = [(1, 3)] if turns == 5 else []
    assert summarised(prompts(bot)[-1]) == chunks
    assert raw(prompts(bot)[-1]) == [topic(n) for n in range(3 * len(chunks) + 1, turns + 2)]
    spoken = [str(message.text) for message in prompts(bot)[-1] if message.type == "ai"]
    assert spoken == [answer(n) for n in range(3 * len(chunks) + 1, turns + 1)]
    assert scripted(bot.models().utility).calls == []
    check_prompts(bot)


def test_the_harness_reaches_the_end_when_nothing_kills_it(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ahead=False)
    own = session(bot)
    assert end(start(killed.main, str(bot.settings.data_dir), own, "nowhere", question(1))) == 0
    assert bot.store.turn(own, 1).answer == answer(1)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["remember", "forget"])
def test_memory_that_a_killed_turn_changed_is_changed_once(agent: OpenAgent, session: NewSession, name: str) -> None:
    old = ready(agent(memory=True, ahead=False))
    assert old.memory is not None
    own, folder = session(old), str(old.settings.data_dir)
    for key, value in (("desk", "oak"), ("chair", "elm")):
        old.memory.writer.remember(old.tenant, own, key, value, turn=0, user=old.user)
    listed = [line.text for line in old.memory.reader.read_lines(old.tenant, own, user=old.user)]
    old.close()
    number = 1 + next(at for at, text in enumerate(listed) if text.startswith("desk"))
    calls, text = {
        "remember": ([calling("remember", key="lamp", value="brass")], "Please remember the lamp: brass."),
        "forget": (
            [calling("forget", "list", what="desk"), calling("forget", "drop", numbers=[number])],
            "Please forget the desk: oak.",
        ),
    }[name]
    assert end(start(killed.memory_change, folder, own, calls, text)) == -signal.SIGKILL
    bot = ready(agent([answering], memory=True, ahead=False))
    assert bot.memory is not None
    bot.reconcile(own)
    done(list(bot.retry(own)))
    read = bot.memory.reader.read_lines(bot.tenant, own, user=bot.user)
    lines = [line.text for line in read if line.kind in ("profile", "entity")]
    desk = [] if name == "forget" else ["desk: oak"]
    lamp = ["lamp: brass"] if name == "remember" else []
    assert sorted(lines) == sorted([*desk, *lamp, "chair: elm"])
