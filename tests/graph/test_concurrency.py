"""One session, one turn at a time, over threads and processes; many sessions at once (design 3.4)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from errors import SessionBusy, SessionUnknown
from graph.turn.agent import open_agent
from graph.turn.event import Done, Token
from model import scripted
from model.scripted import ScriptedModel
from settings import load_settings
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answer, answering, done, prompts, question, say, settled, summarising, talk, topics
from tests.graph.test_conversation import NewSession
from tests.process import SECONDS, channel, end, event, start


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


def test_of_two_threads_one_runs_and_the_other_is_told_at_once(
    agent: OpenAgent, session: NewSession, gate: threading.Event
) -> None:
    bot = agent(ScriptedModel(answering, gate=gate))
    own = session(bot)
    running = bot.run(own, question(1))
    assert any(isinstance(each, Token) for each in running)
    for call in (lambda: say(bot, own, question(2)), lambda: list(bot.retry(own)), lambda: bot.delete_session(own)):
        with pytest.raises(SessionBusy):  # the other ends only when the gate is opened
            call()
    assert not bot.reconcile(own)  # leaves a session that answers alone
    gate.set()
    assert done(list(running)).answer == answer(1)
    talk(bot, own, [2])
    assert [turn.question for turn in bot.store.turns(own)] == [question(1), question(2)]


def test_of_many_threads_that_press_send_at_once_exactly_one_runs(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ScriptedModel(answering, delay=0.05))
    own = session(bot)
    together = threading.Barrier(8)

    def press(_: int) -> str:
        together.wait(SECONDS)
        try:
            return type(say(bot, own, question(1))[-1]).__name__
        except SessionBusy:
            return "busy"

    with ThreadPoolExecutor(8) as pool:
        ends = sorted(pool.map(press, range(8)))
    assert ends == ["Done", *["busy"] * 7]
    assert bot.store.session(own).turn_count == 1


def test_ten_sessions_at_once_do_not_mix(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    sessions = [session(bot) for _ in range(10)]

    def conversation(index: int) -> list[str]:
        return [done(say(bot, sessions[index], question(100 * index + n))).answer for n in range(1, 6)]

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(conversation, range(10)))
    settled(bot)
    for index, own in enumerate(sessions):
        assert answers[index] == [answer(100 * index + n) for n in range(1, 6)]
        talk(bot, own, [100 * index + 6])
        assert [turn.number for turn in bot.store.turns(own)] == [1, 2, 3, 4, 5, 6]
        (record,) = bot.state(own)["summary_history"]
        assert record["thread_id"] == own
    for prompt in prompts(bot):
        assert len({word[2] for message in prompt for word in topics(str(message.text))}) == 1


def hold(folder: str, session: str, holding: Any, go_on: Any, said: Any) -> None:
    """A process that answers one message, slowly."""
    bot = open_agent(
        load_settings(data_dir=Path(folder)), lambda: scripted.build_scripted_models(answering, summarising)
    )
    events = []
    for each in bot.run(session, question(1)):
        events.append(each)
        if isinstance(each, Token) and not holding.is_set():
            holding.set()
            go_on.wait(SECONDS)
    said.put(type(events[-1]).__name__)
    bot.close()


def test_of_two_processes_one_runs_and_the_other_is_told_at_once(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    holding, go_on, said = event(), event(), channel()
    other = start(hold, str(bot.settings.data_dir), own, holding, go_on, said)
    assert holding.wait(SECONDS)
    with pytest.raises(SessionBusy):
        say(bot, own, question(2))
    go_on.set()
    assert said.get(timeout=SECONDS) == "Done"
    assert end(other) == 0
    talk(bot, own, [2])
    assert [turn.number for turn in bot.store.turns(own)] == [1, 2]


def answer_silently(folder: str, session: str, asked: Any, said: Any) -> None:
    """A process whose model is silent for an hour: only a stop ends its answer."""
    silent = scripted.build_scripted_models(ScriptedModel(answering, delay=3600.0), summarising)
    bot = open_agent(load_settings(data_dir=Path(folder)), lambda: silent)
    events = []
    for each in bot.run(session, question(1)):
        events.append(each)
        asked.set()
    said.put((type(events[-1]).__name__, getattr(events[-1], "stopped", None)))
    bot.close()


def test_a_stop_reaches_the_process_that_answers_while_its_model_is_silent(
    agent: OpenAgent, session: NewSession
) -> None:
    bot = agent()
    own, other_session = session(bot), session(bot)
    asked, said = event(), channel()
    other = start(answer_silently, str(bot.settings.data_dir), own, asked, said)
    assert asked.wait(SECONDS)
    with pytest.raises(SessionUnknown):
        bot.of("somebody").stop(own)
    bot.stop(other_session)  # answers nothing: no other turn ends by it
    bot.stop(own)
    assert said.get(timeout=SECONDS) == ("Done", True)
    assert end(other) == 0
    assert [turn.status for turn in bot.store.turns(own)] == ["stopped"]
    talk(bot, own, [2])


def test_a_stop_that_comes_too_late_ends_no_later_turn(
    agent: OpenAgent, session: NewSession, gate: threading.Event
) -> None:
    bot = agent(ScriptedModel(answering, gate=gate))
    own = session(bot)
    first = bot.run(own, question(1))
    assert any(isinstance(each, Token) for each in first)
    bot.stop(own)
    assert done(list(first)).stopped
    second = bot.run(own, question(2))
    assert any(isinstance(each, Token) for each in second)
    assert bot.store.stops.find_requested_stops([own]) == set()
    gate.set()
    assert not done(list(second)).stopped


def converse(folder: str, session: str, first: int, count: int) -> None:
    """A process that says so many things in a session that others use too; waits while it is busy."""
    bot = open_agent(
        load_settings(data_dir=Path(folder)), lambda: scripted.build_scripted_models(answering, summarising)
    )
    for number in range(first, first + count):
        while True:
            try:
                assert isinstance(say(bot, session, question(number))[-1], Done)
                break
            except SessionBusy:
                time.sleep(0.003)
    bot.close()


def test_processes_that_take_turns_lose_none(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    talkers = [start(converse, str(bot.settings.data_dir), own, 1 + 100 * n, 10) for n in range(3)]
    assert [end(each) for each in talkers] == [0, 0, 0]
    talk(bot, own, [901])  # whatever summary a process did not stay to write is written behind this turn
    turns = bot.store.turns(own, limit=100)[:30]
    assert [turn.number for turn in turns] == list(range(1, 31))
    assert all(turn.status == "done" for turn in turns)
    asked = [turn.question for turn in turns]
    assert sorted(asked) == sorted(question(100 * n + k) for n in range(3) for k in range(1, 11))
    assert all(topics(turn.question) == topics(turn.answer or "") for turn in turns)
    talk(bot, own, [902])
    state = bot.state(own)
    assert state["turn_count"] == 32
    assert [record["turns"][0] for record in state["summary_history"]] == list(range(1, 30, 3))
