"""Redis away at the start, in mid-turn, and back; processes that share a session or die in the middle of a fold."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from errors import SessionBusy
from graph.turn.agent import Agent, open_agent
from graph.turn.event import ContextBuilt, Done, Event, Token
from memory import fold
from memory.redis import link
from model import scripted
from model.scripted import ScriptedModel
from settings import load_settings
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import asked, fact, folding, noting, ready, remembered, settled, tell
from tests.graph.talk import done, only, prompts, say
from tests.graph.test_memory_path import in_line, new
from tests.memory.conftest import Asked, free_port, valkey
from tests.process import end, start
from tests.wait import until

"""What a user may wait for Redis in a turn, all in all."""


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    opened = threading.Event()
    yield opened
    opened.set()


def reasons(events: Sequence[Event]) -> list[str]:
    return [each.reason for each in only(events, ContextBuilt)[-1].report.left_out if each.reason == "memory_away"]


def test_without_redis_memory_works_from_the_first_turn_to_the_last(agent: OpenAgent, tmp_path: Path) -> None:
    port = free_port()
    bot = agent(noting, folding, memory=True, redis_url=f"redis://127.0.0.1:{port}/0")
    own = new(bot)
    tell(bot, own, range(1, 8))
    assert bot.memory is not None
    assert bot.memory.away
    assert reasons(say(bot, own, fact(8))) == []
    assert "item 5: $500" in "".join(asked(prompts(bot)[-1]))
    with valkey(tmp_path, port):
        ready(bot)
        assert reasons(say(bot, own, fact(9))) == []
        settled(bot)
        in_line(bot, own)


def test_redis_dies_in_mid_turn_and_comes_back_empty(agent: OpenAgent, tmp_path: Path, gate: threading.Event) -> None:
    port = free_port()
    chat = ScriptedModel(noting, gate=gate, piece=r"\S")
    bot = agent(chat, folding, memory=True, redis_url=f"redis://127.0.0.1:{port}/0")
    own = new(bot)
    gate.set()
    with valkey(tmp_path, port) as server:
        ready(bot)
        tell(bot, own, range(1, 8))
        gate.clear()
        running = bot.run(own, fact(8))
        assert any(isinstance(each, Token) for each in running)
        server.kill()
        server.wait()
        gate.set()
        assert isinstance([*running][-1], Done)
        settled(bot)
        assert reasons(say(bot, own, fact(9))) == []
    with valkey(tmp_path, port):
        ready(bot)
        assert reasons(say(bot, own, fact(10))) == []
        settled(bot)
        in_line(bot, own)
        assert "item 5: $500" in "".join(asked(prompts(bot)[-1]))


@pytest.fixture(params=["embedded", "external"])
def served(request: pytest.FixtureRequest, agent: OpenAgent, tmp_path: Path) -> Iterator[Agent]:
    """An agent over the server of its own, then over one by address."""
    if request.param == "embedded":
        yield ready(agent(noting, folding, memory=True))
        return
    port = free_port()
    with valkey(tmp_path, port):
        yield ready(agent(noting, folding, memory=True, redis_url=f"redis://127.0.0.1:{port}/0"))


def test_a_redis_that_hangs_costs_a_turn_one_wait_and_none_of_its_memory(
    served: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = new(served)
    tell(served, own, range(1, 8))
    memory = served.memory
    assert memory is not None
    number = memory._link.run(lambda client: client.info("server")["process_id"])
    monkeypatch.setattr(link, "USER_SECONDS", 1.0)
    waited = Asked(memory._link, monkeypatch)
    os.kill(number, signal.SIGSTOP)
    try:
        assert reasons(say(served, own, fact(8))) == []
    finally:
        os.kill(number, signal.SIGCONT)
    assert "item 5: $500" in "".join(asked(prompts(served)[-1]))
    assert waited.seconds == [1.0], "one command, and none has more than was left of it"


def converse(folder: str, session: str, first: int, count: int) -> None:
    """A process that says so many things in a session that another one uses too."""
    bot = ready(open_shared(folder))
    for number in range(first, first + count):
        while True:
            try:
                assert isinstance(say(bot, session, fact(number))[-1], Done)
                break
            except SessionBusy:
                time.sleep(0.003)
    settled(bot)
    bot.close()


def open_shared(folder: str) -> Agent:
    chosen = load_settings(data_dir=Path(folder), memory=True, titles=False)
    return open_agent(chosen, lambda: scripted.build_scripted_models(noting, folding))


def test_two_processes_on_one_session_lose_no_turn_and_double_none(agent: OpenAgent) -> None:
    bot = ready(agent(noting, folding, memory=True))
    own = new(bot)
    both = [start(converse, str(bot.settings.data_dir), own, first, 7) for first in (1, 51)]
    assert [end(each) for each in both] == [0, 0]
    tell(bot, own, [99])
    rows = bot.store.turns(own, limit=100)
    assert [row.number for row in rows] == list(range(1, 16))
    in_line(bot, own)
    assert "item 99" not in remembered(bot, own), "it waits: five are not full"


def die_folding(folder: str, session: str) -> None:
    """A process that is killed when its first fold is made but not stored."""
    bot = ready(open_shared(folder))
    made = fold.fold_memory

    def killed(*args: Any) -> Any:
        made(*args)
        os.kill(os.getpid(), signal.SIGKILL)

    pytest.MonkeyPatch().setattr(fold, "fold_memory", killed)
    tell(bot, session, range(1, 7))


def test_a_fold_that_was_killed_is_completed_by_the_next_start(agent: OpenAgent) -> None:
    bot = agent(noting, folding, memory=False)
    own = new(bot)
    died = start(die_folding, str(bot.settings.data_dir), own)
    assert end(died) == -signal.SIGKILL
    again = ready(agent(noting, folding, memory=True))
    until(lambda: "item 5: $500" in remembered(again, own))  # nobody says a word
    settled(again)
    in_line(again, own)
    assert done(say(again, own, fact(7))).turn == 7
    assert "item 5: $500" in "".join(asked(prompts(again)[-1]))
