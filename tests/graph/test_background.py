"""Side work: summaries ahead of time, and who goes first (design §5)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from graph.background import Background
from graph.event import SummaryMade, SummaryStarted, Token
from model.scripted import ScriptedModel
from model.stream import Stopped
from tests.graph.conftest import OpenAgent
from tests.graph.talk import (
    answer,
    answering,
    done,
    only,
    prompts,
    question,
    say,
    summarised,
    summarising,
    summary_calls,
    talk,
    topic,
)
from tests.graph.test_conversation import NewSession


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


def wait_for(condition: Callable[[], object], seconds: float = 5) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


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


@pytest.mark.parametrize("kind", ["hosted", "embedded"])
def test_a_summary_that_is_late_is_waited_for_with_a_visible_step(
    agent: OpenAgent, session: NewSession, gate: threading.Event, kind: str
) -> None:
    utility = ScriptedModel(summarising, gate=gate)
    bot = agent(utility=utility, kind=kind)
    own = session(bot)
    talk(bot, own, range(1, 4))
    wait_for(lambda: utility.calls)
    events = bot.run(own, question(4))
    first = next(events)
    assert first == SummaryStarted((1, 2, 3))
    threading.Timer(0.2, gate.set).start()
    rest = list(events)
    assert [(each.ahead, each.error) for each in only(rest, SummaryMade)] == [(True, None)]
    assert done(rest).answer == answer(4)
    assert len(utility.calls) == 1
    assert summarised(prompts(bot)[-1]) == [(1, 3)]


@pytest.mark.parametrize(("kind", "yields"), [("embedded", True), ("local", True), ("hosted", False)])
def test_side_work_of_another_session_yields_where_one_model_serves_all(
    agent: OpenAgent, session: NewSession, gate: threading.Event, kind: str, yields: bool
) -> None:
    utility, chat = ScriptedModel(summarising, gate=gate), ScriptedModel(answering)
    bot = agent(chat, utility=utility, kind=kind)
    one, two = session(bot), session(bot)
    talk(bot, one, range(1, 4))
    wait_for(lambda: utility.calls)
    chat.gate = threading.Event()
    events = bot.run(two, question(1))
    assert any(isinstance(each, Token) for each in events)
    wait_for(lambda: (bot.background._running is None) is yields)
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
    talk(bot, own, range(1, 4))
    wait_for(lambda: utility.calls)
    done(list(bot.again(own, number, question(10 * number))))
    gate.set()
    assert bot.background.idle(5)
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
    talk(bot, own, range(1, 4))
    wait_for(lambda: utility.calls)
    began = time.monotonic()
    bot.close()
    assert time.monotonic() - began < 1
    again = agent()
    talk(again, own, [4])
    assert summarised(prompts(again)[-1]) == [(1, 3)]


def test_a_deleted_session_leaves_nothing_even_when_its_summary_comes_late(
    agent: OpenAgent, session: NewSession, gate: threading.Event
) -> None:
    utility = ScriptedModel(summarising, gate=gate)
    bot = agent(utility=utility)
    own = session(bot)
    talk(bot, own, range(1, 4))
    wait_for(lambda: utility.calls)
    bot.delete_session(own)
    gate.set()
    assert bot.background.idle(5)
    assert bot.store.ledger.summaries(own, superseded=True) == []
    assert bot.snapshot(own).values == {}


def test_nothing_is_made_ahead_when_it_is_switched_off(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ahead=False)
    talk(bot, session(bot), range(1, 4))
    assert bot.background.idle(1)
    assert summary_calls(bot) == 0


# --- the worker itself --------------------------------------------------------------------------


@pytest.fixture
def worker() -> Iterator[Background]:
    background = Background(yields=lambda: True)
    yield background
    background.close()


def stoppable(seen: list[str], name: str) -> Callable[[threading.Event], None]:
    def work(stop: threading.Event) -> None:
        seen.append(f"{name} began")
        if not stop.wait(0.05):
            seen.append(f"{name} ended")
            return
        seen.append(f"{name} stopped")
        raise Stopped

    return work


def test_stopped_work_is_taken_up_again_after_the_turn(worker: Background) -> None:
    seen: list[str] = []
    worker.submit("a", stoppable(seen, "a"))
    wait_for(lambda: seen)
    with worker.turn(lambda _: False):
        wait_for(lambda: "a stopped" in seen)
        time.sleep(0.1)
        assert seen == ["a began", "a stopped"]
    assert worker.idle(5)
    assert seen == ["a began", "a stopped", "a began", "a ended"]


def test_work_that_the_turn_needs_goes_on(worker: Background) -> None:
    seen: list[str] = []
    worker.submit("a", stoppable(seen, "a"))
    wait_for(lambda: seen)
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
        gate.wait(10)

    worker.submit("a", work)
    wait_for(lambda: worker._running)
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


def test_nothing_is_taken_after_closing(worker: Background) -> None:
    worker.close()
    worker.submit("a", lambda _: None)
    assert worker.idle(0.1)


def test_answers_do_not_wait_for_side_work(agent: OpenAgent, session: NewSession, gate: threading.Event) -> None:
    bot = agent(answering, ScriptedModel(summarising, gate=gate))
    own, other = session(bot), session(bot)
    talk(bot, own, range(1, 4))
    talk(bot, other, range(1, 4))
    assert bot.store.session(other).turn_count == 3
