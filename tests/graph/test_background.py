"""Side work: summaries ahead of time, and who goes first (design 5.4)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from graph.turn.event import SummaryLater, SummaryMade, SummaryStarted, Token
from graph.turn.process.engine import build_graph_config
from graph.turn.process.side_work import MOST_AT_ONCE, Background
from model.call.stream import Stopped
from model.scripted import ScriptedModel
from store.database import schema
from store.world.record import NewNode
from tests.graph.conftest import OpenAgent
from tests.graph.talk import (
    answering,
    done,
    hurry,
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
from tests.wait import until
from world.file.file import WorldFiles

WIDE, NARROW = 100_000, 2000
"""Tokens of context: far more than four turns take, and so few that three raw turns nearly fill it."""


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


def test_the_next_summary_is_ready_before_its_turn(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    talk(bot, own, range(1, 3))
    assert bot.background.idle(5)
    assert summary_calls(bot) == 0
    talk(bot, own, [3])
    assert bot.background.idle(5)
    assert summary_calls(bot) == 1
    (row,) = bot.store.ledger.summaries(own)
    assert (row.status, row.turns, row.ahead, row.rate, row.model) == ("ready", [1, 2, 3], True, 0.3, "scripted")
    events = say(bot, own, question(4))
    assert summary_calls(bot) == 1
    assert not only(events, SummaryStarted)
    (made,) = only(events, SummaryMade)
    assert made.ahead
    assert made.record == row.record
    assert bot.store.ledger.summaries(own)[0].status == "active"
    assert done(events).usage.calls == 1


def test_small_talk_holds_no_summary_up(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(utility=lambda messages: summarising(messages) if "요약" in str(messages) else "별말씀을요")
    own = session(bot)
    talk(bot, own, range(1, 4))
    for _ in range(3):
        done(say(bot, own, "고마워요"))
        assert bot.background.idle(5)
    events = say(bot, own, question(7))
    assert [(made.turns, made.ahead) for made in only(events, SummaryMade)] == [((1, 2, 3), True), ((4, 5, 6), True)]


def test_a_summary_that_is_late_is_waited_for_by_nobody(
    agent: OpenAgent, session: NewSession, gate: threading.Event
) -> None:
    """Typed at once after every answer while the model for side work hangs: turns 4 and 7 are answered all the same."""
    utility = ScriptedModel(summarising, gate=gate)
    bot = agent(utility=utility)
    own = session(bot)
    turns = hurry(bot, own, range(1, 9))
    later = {number: [each.turns for each in only(events, SummaryLater)] for number, events in enumerate(turns, 1)}
    assert later == {number: [(1, 2, 3)] if number >= 4 else [] for number in range(1, 9)}
    assert not [each for events in turns for each in only(events, SummaryStarted)]
    assert raw(prompts(bot)[-1]) == [topic(number) for number in range(1, 9)]
    gate.set()
    settled(bot)
    events = say(bot, own, question(9))
    assert [(each.turns, each.ahead) for each in only(events, SummaryMade)] == [((1, 2, 3), True), ((4, 5, 6), True)]
    assert summarised(prompts(bot)[-1]) == [(1, 3), (4, 6)]
    assert raw(prompts(bot)[-1]) == [topic(number) for number in (7, 8, 9)]


@pytest.mark.parametrize("ready", [True, False])
def test_a_context_that_would_overflow_waits_with_a_visible_step(
    agent: OpenAgent, session: NewSession, gate: threading.Event, ready: bool
) -> None:
    utility = ScriptedModel(summarising, gate=gate)
    bot = agent(utility=utility, context_size=WIDE)
    own = session(bot)
    hurry(bot, own, range(1, 4))
    until(lambda: utility.calls)
    stop = threading.Event()
    events = bot.using(replace(bot.models(), context_size=NARROW)).run(own, question(4), stop=stop)
    assert next(events) == SummaryStarted((1, 2, 3))
    (gate if ready else stop).set()
    rest = list(events)
    assert done(rest).stopped is not ready
    assert [each.ahead for each in only(rest, SummaryMade)] == ([True] if ready else [])
    assert len(utility.calls) == 1


@pytest.mark.parametrize(("kind", "yields"), [("embedded", True), ("local", True), ("hosted", False)])
def test_side_work_of_another_session_yields_where_one_model_serves_all(
    agent: OpenAgent, session: NewSession, gate: threading.Event, kind: str, yields: bool
) -> None:
    utility, chat = ScriptedModel(summarising, gate=gate), ScriptedModel(answering)
    bot = agent(chat, utility=utility, kind=kind)
    one, two = session(bot), session(bot)
    hurry(bot, one, range(1, 4))
    until(lambda: utility.calls)
    chat.gate = threading.Event()
    events = bot.run(two, question(1))
    assert any(isinstance(each, Token) for each in events)
    until(lambda: (not bot.background._running) is yields)
    gate.set()
    time.sleep(0.1)
    assert len(utility.calls) == 1
    chat.gate.set()
    list(events)
    assert bot.background.idle(5)
    assert len(utility.calls) == (2 if yields else 1)
    assert bot.store.ledger.ready(one, [1, 2, 3], 0.3) is not None


@pytest.mark.parametrize("number", [3, 2])
def test_a_summary_that_comes_late_stays_with_the_turns_it_was_made_from(
    agent: OpenAgent, session: NewSession, gate: threading.Event, number: int
) -> None:
    """A turn is asked otherwise while the summary of what was there before is being made."""
    utility = ScriptedModel(summarising, gate=gate)
    bot = agent(utility=utility)
    own = session(bot)
    hurry(bot, own, range(1, 4))
    until(lambda: utility.calls)
    done(list(bot.again(own, number, question(10 * number))))
    gate.set()
    settled(bot)
    talk(bot, own, range(4 - (3 - number), 5))
    (taken,) = (row for row in bot.store.ledger.summaries(own) if row.status == "active")
    assert topic(10 * number).removeprefix("주제") in str(taken.record)
    assert topic(number).removeprefix("주제") not in str(taken.record)
    assert summarised(prompts(bot)[-1]) == [(1, 3)]
    bot.switch(own, number, 0)
    (first,) = bot.store.ledger.summaries(own)
    assert (first.status, topic(number).removeprefix("주제") in str(first.record)) == ("ready", True)


def test_closing_is_quick_while_side_work_runs(agent: OpenAgent, session: NewSession, gate: threading.Event) -> None:
    utility = ScriptedModel(summarising, gate=gate)
    bot = agent(utility=utility)
    own = session(bot)
    hurry(bot, own, range(1, 4))
    until(lambda: utility.calls)
    sides = list(bot.background._threads)
    bot.close()
    assert not any(side.is_alive() for side in sides), "it is not waited for in vain"
    again = agent()
    talk(again, own, [4, 5])
    assert [summarised(prompt) for prompt in prompts(again)] == [[], [(1, 3)]]


def test_a_hanging_call_of_one_session_holds_up_no_other_session(
    agent: OpenAgent, session: NewSession, gate: threading.Event
) -> None:
    """The first session's summary hangs; the second one's summary and title are made all the same."""
    held = topic(1).removeprefix("주제")

    def side(messages: list[Any]) -> str:
        if held in str(messages):
            gate.wait(60)
        return summarising(messages)

    bot = agent(utility=side, kind="hosted", titles=True)
    one, two = session(bot), session(bot)
    hurry(bot, one, range(1, 4))
    until(lambda: bot.background._running)
    hurry(bot, two, range(11, 14))
    until(lambda: bot.store.ledger.ready(two, [1, 2, 3], 0.3))
    until(lambda: bot.store.session(two).titled == "model")
    assert bot.background.has(lambda key: one in str(key))
    assert bot.store.ledger.ready(one, [1, 2, 3], 0.3) is None
    gate.set()
    assert bot.background.idle(5)
    assert bot.store.ledger.ready(one, [1, 2, 3], 0.3) is not None


@pytest.mark.parametrize(("kind", "most"), [("embedded", 1), ("local", 1), ("hosted", 2)])
def test_a_model_that_serves_everything_gets_one_side_call_at_a_time(
    agent: OpenAgent, session: NewSession, gate: threading.Event, kind: str, most: int
) -> None:
    bot = agent(utility=ScriptedModel(summarising, gate=gate), kind=kind)
    for own in (session(bot), session(bot)):
        hurry(bot, own, range(1, 4))
    until(lambda: len(bot.background._running) == most)
    gate.set()
    assert bot.background.idle(5)


def test_a_deleted_story_takes_its_files_with_it(agent: OpenAgent) -> None:
    one = agent()
    world = one.store.worlds.create("Ersia", "en")
    node = one.store.worlds.add(world.id, None, NewNode("Where am I?", ("Here.",), "Here.", "raw"))
    files, folder = WorldFiles(one.settings.data_dir / "world"), one.settings.data_dir / "world" / world.id
    files.write(world.id, "npc.md", "Oskar")
    files.write_story(world.id, node.session, "Turn 1")
    one.delete_session(node.session)
    assert [path.name for path in folder.iterdir()] == ["npc.md"]


def test_a_deleted_session_leaves_nothing_even_when_its_summary_comes_late(
    agent: OpenAgent, session: NewSession, gate: threading.Event
) -> None:
    utility = ScriptedModel(summarising, gate=gate)
    bot = agent(utility=utility)
    own = session(bot)
    hurry(bot, own, range(1, 4))
    until(lambda: utility.calls)
    bot.delete_session(own)
    gate.set()
    assert bot.background.idle(5)
    with bot.store.everyone.transaction() as connection:
        assert connection.execute(select(schema.summary).where(schema.summary.c.session_id == own)).all() == []
    assert bot.checkpoints.saver.get(build_graph_config(own)) is None


def test_nothing_is_made_ahead_when_it_is_switched_off(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ahead=False)
    talk(bot, session(bot), range(1, 4))
    assert bot.background.idle(1)
    assert summary_calls(bot) == 0


@pytest.mark.parametrize("ahead", [True, False])
def test_the_call_for_a_summary_counts_once_as_usage(agent: OpenAgent, session: NewSession, ahead: bool) -> None:
    bot = agent(ahead=ahead)
    talk(bot, session(bot), range(1, 5))
    assert bot.background.idle(5)
    assert summary_calls(bot) == 1
    works = [row.work for row in bot.store.usages.read_since(0)]
    assert sorted(works) == ["answer"] * 4 + ["summary"] * ahead, "within a turn, the turn's usage has it"


# --- the worker itself --------------------------------------------------------------------------


@pytest.fixture
def worker() -> Iterator[Background]:
    background = Background(yields=lambda: True)
    yield background
    background.close()


def stoppable(seen: list[str], name: str, first: float = 0.05) -> Callable[[threading.Event], None]:
    """Work that ends by itself, its first run after ``first`` seconds."""

    def work(stop: threading.Event) -> None:
        is_first = f"{name} began" not in seen
        seen.append(f"{name} began")
        if not stop.wait(first if is_first else 0.05):
            seen.append(f"{name} ended")
            return
        seen.append(f"{name} stopped")
        raise Stopped

    return work


def test_stopped_work_is_taken_up_again_after_the_turn(worker: Background) -> None:
    seen: list[str] = []
    worker.submit("a", stoppable(seen, "a", first=60))
    until(lambda: seen)
    with worker.turn(lambda _: False):
        until(lambda: "a stopped" in seen)
        time.sleep(0.1)
        assert seen == ["a began", "a stopped"]
    assert worker.idle(5)
    assert seen == ["a began", "a stopped", "a began", "a ended"]


def test_work_that_the_turn_needs_goes_on(worker: Background) -> None:
    seen: list[str] = []
    worker.submit("a", stoppable(seen, "a"))
    until(lambda: seen)
    with worker.turn(lambda job: job == "a"):
        assert worker.finish("a", threading.Event())
    assert seen == ["a began", "a ended"]


def test_work_that_only_waits_is_taken_off_the_list(worker: Background) -> None:
    seen: list[str] = []
    with worker.turn(lambda _: False):
        worker.submit("a", stoppable(seen, "a"))
        assert not worker.finish("a", threading.Event())
    assert worker.idle(1)
    assert seen == []


def test_waiting_for_work_ends_with_a_stop(worker: Background, gate: threading.Event) -> None:
    def work(_: threading.Event) -> None:
        gate.wait(60)

    worker.submit("a", work)
    until(lambda: worker._running)
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    assert not worker.finish("a", stop)


def test_the_same_key_waits_once(worker: Background) -> None:
    seen: list[Any] = []
    with worker.turn(lambda _: False):
        for number in range(3):
            worker.submit("a", lambda _, number=number: seen.append(number))  # type: ignore[misc]
    assert worker.idle(5)
    assert seen == [2]


def test_work_that_fails_does_not_end_the_worker(worker: Background) -> None:
    seen: list[int] = []

    def fail(_: threading.Event) -> None:
        raise RuntimeError("burst")

    worker.submit("a", fail)
    worker.submit("b", lambda _: seen.append(1))
    assert worker.idle(5)
    assert seen == [1]


def test_work_of_one_lane_goes_in_order_and_lanes_run_beside_each_other(worker: Background) -> None:
    seen, both = list[str](), threading.Barrier(2)

    def meeting(name: str) -> Callable[[threading.Event], None]:
        def work(_: threading.Event) -> None:
            both.wait(60)
            seen.append(name)

        return work

    for number in range(3):
        worker.submit(("a", number), meeting(f"a{number}"), "a")
    for number in range(3):
        worker.submit(("b", number), meeting(f"b{number}"), "b")
    assert worker.idle(10)
    assert not both.broken
    for lane in "ab":
        assert [name for name in seen if name.startswith(lane)] == [f"{lane}{number}" for number in range(3)]


def test_at_most_so_many_pieces_of_work_run_at_once(worker: Background, gate: threading.Event) -> None:
    def wait(_: threading.Event) -> None:
        gate.wait(60)

    for number in range(MOST_AT_ONCE + 3):
        worker.submit(number, wait, number)
    until(lambda: len(worker._running) == MOST_AT_ONCE)
    assert len(worker._threads) == MOST_AT_ONCE
    gate.set()
    assert worker.idle(5)


def test_stopped_work_of_every_lane_comes_back_before_what_waits_behind_it(worker: Background) -> None:
    seen: list[str] = []
    for lane in "ab":
        worker.submit(lane, stoppable(seen, lane, first=60), lane)
    until(lambda: len(seen) == 2)
    with worker.turn(lambda _: False):
        for lane in "ab":
            worker.submit(f"{lane}2", stoppable(seen, f"{lane}2"), lane)
        until(lambda: not worker._running)
    assert worker.idle(5)
    for lane in "ab":
        assert [each for each in seen if each.startswith(lane) and not each.endswith("stopped")] == [
            f"{lane} began",
            f"{lane} began",
            f"{lane} ended",
            f"{lane}2 began",
            f"{lane}2 ended",
        ]


def test_closing_ends_the_work_of_every_lane(worker: Background) -> None:
    stopped = list[str]()

    def wait(lane: str) -> Callable[[threading.Event], None]:
        def work(stop: threading.Event) -> None:
            assert stop.wait(60)
            stopped.append(lane)
            raise Stopped

        return work

    for lane in "abc":
        worker.submit(lane, wait(lane), lane)
        worker.submit(f"{lane}2", wait(f"{lane}2"), lane)
    until(lambda: len(worker._running) == 3)
    worker.close()
    assert sorted(stopped) == ["a", "b", "c"]
    assert not any(thread.is_alive() for thread in worker._threads)
    assert worker.idle(0)


def test_nothing_is_taken_after_closing(worker: Background) -> None:
    worker.close()
    worker.submit("a", lambda _: None)
    assert worker.idle(0.1)


def test_what_runs_and_what_waits_can_be_told(worker: Background, gate: threading.Event) -> None:
    begun, before = threading.Event(), time.time()

    def work(stop: threading.Event) -> None:
        begun.set()
        gate.wait(60)

    worker.submit(("title", "one"), work, "one")
    assert begun.wait(60)
    worker.submit("read ahead", work, "one", "one")
    worker.submit(("memory", "one"), work, "one")
    listed = worker.list_work()
    assert [(each.name, each.session, each.is_running) for each in listed] == [
        ("title", "one", True),
        ("read ahead", "one", False),
        ("memory", "one", False),
    ]
    ended = time.time()
    assert all(before <= each.since <= ended for each in listed)
    assert [each.is_for("one", "me") for each in listed] == [True] * 3
    assert not any(each.is_for("two", "me") or each.is_for("", "") for each in listed)
    gate.set()
    assert worker.idle(10)
    assert worker.list_work() == []


def test_work_for_all_sessions_of_a_user_is_for_no_other_user(worker: Background, gate: threading.Event) -> None:
    begun, runs = threading.Event(), list[int]()

    def work(stop: threading.Event) -> None:
        runs.append(1)
        begun.set()
        gate.wait(60)
        if len(runs) == 1:
            raise Stopped

    worker.submit(("turns", "", "me"), work, "vectors", user="me")
    worker.submit(("imported", "one"), lambda _: None, "vectors", user="me")
    assert begun.wait(60)
    listed = worker.list_work()
    assert {each.name for each in listed if each.is_for("two", "me")} == {"imported", "turns"}
    assert {each.name for each in listed if each.is_for("", "me")} == {"imported", "turns"}
    assert not any(each.is_for("two", "other") for each in listed)
    gate.set()
    assert worker.idle(10)
    assert len(runs) == 2, "stopped work runs again"


def test_work_that_is_interrupted_begins_anew(worker: Background) -> None:
    runs, begun = [], threading.Event()

    def work(stop: threading.Event) -> None:
        runs.append(1)
        begun.set()
        if len(runs) == 1:
            assert stop.wait(60)
            raise Stopped

    worker.interrupt("a")
    worker.submit("a", work)
    assert begun.wait(60)
    worker.interrupt("a")
    assert worker.idle(10)
    assert len(runs) == 2
