"""A wrong clock: it jumps back and ahead, between turns and between starts. Numbers order a session, not times."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from langgraph.checkpoint.base import id as checkpoint_id

from graph.turn.session.trash import DAY
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answer, done, prompts, question, raw, say, summarised, talk, topic
from tests.graph.test_conversation import NewSession

YEARS = 10 * 365 * DAY
RIGHT = 1.75e9
SetClock = Callable[[float], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Sets the wall clock off by so many seconds; waiting goes by the other clock, which cannot jump."""
    right, right_ns = time.time, time.time_ns
    # put back afterwards: else later checkpoints of this process look newer than those of any other
    monkeypatch.setattr(checkpoint_id, "_last_v6_timestamp", checkpoint_id._last_v6_timestamp)

    def off_by(seconds: float) -> None:
        monkeypatch.setattr(time, "time", lambda: right() + seconds)
        monkeypatch.setattr(time, "time_ns", lambda: right_ns() + int(seconds * 1e9))

    return off_by


def restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process: LangGraph has forgotten the last time that it gave a checkpoint its id."""
    monkeypatch.setattr(checkpoint_id, "_last_v6_timestamp", None)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("jumps", [(0, -3600, -YEARS, 0), (0, YEARS, -YEARS, 3600)], ids=["back", "ahead and back"])
def test_no_turn_and_no_summary_is_lost_when_the_clock_jumps(
    agent: OpenAgent,
    session: NewSession,
    clock: SetClock,
    monkeypatch: pytest.MonkeyPatch,
    jumps: tuple[float, ...],
    restart: bool,
    worked: float,
) -> None:
    bot = agent(ahead=False)
    own = session(bot)
    for number in range(1, 9):
        clock(jumps[number // 2 % len(jumps)])
        if restart:
            bot.close()
            restarted(monkeypatch)
            bot = agent(ahead=False)
        end = done(say(bot, own, question(number)))
        assert (end.turn, end.answer) == (number, answer(number))
        assert end.seconds == worked, "by the clock that cannot jump"
        chunks = [(first, first + 2) for first in range(1, number - 2, 3)]
        assert summarised(prompts(bot)[-1]) == chunks
        assert raw(prompts(bot)[-1]) == [topic(n) for n in range(3 * len(chunks) + 1, number + 1)]
    turns = bot.store.turns(own)
    assert [turn.question for turn in turns] == [question(n) for n in range(1, 9)]
    assert [each.turns[0] for each in bot.store.ledger.summaries(own)] == [1, 4]
    assert [each.id for each in bot.store.sessions()] == [own]
    assert [each["number"] for each in json.loads(bot.export_session(own))["turns"]] == list(range(1, 9))


def test_a_turn_that_failed_before_the_clock_went_back_can_be_retried_after_it(
    agent: OpenAgent, session: NewSession, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(YEARS)
    bot = agent([answer(1), RuntimeError("down")])
    own = session(bot)
    talk(bot, own, [1])
    say(bot, own, question(2))
    bot.close()
    clock(0)
    restarted(monkeypatch)
    again = agent()
    assert done(list(again.retry(own))).answer == answer(2)
    talk(again, own, [3])
    assert raw(prompts(again)[-1]) == [topic(1), topic(2), topic(3)]


def test_a_clock_that_is_years_ahead_removes_no_deleted_session_for_good(
    agent: OpenAgent, session: NewSession, clock: SetClock
) -> None:
    bot = agent()
    own = session(bot)
    talk(bot, own, [1])
    bot.store.put_away(own)
    bot.close()
    clock(YEARS)
    again = agent()
    assert again.background.idle(5)
    again.store.put_away(own, False)
    assert again.store.session(own).turn_count == 1


def test_what_is_used_after_the_clock_was_set_right_is_dated_right(
    agent: OpenAgent, session: NewSession, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(YEARS)
    bot = agent()
    own = session(bot)
    talk(bot, own, [1])
    monkeypatch.setattr(time, "time", lambda: RIGHT)
    talk(bot, own, [2])
    assert bot.store.session(own).updated == RIGHT
