"""The compression rate: from the slider, from the next summary on (specification 3.3)."""

from __future__ import annotations

import pytest

from errors import OutOfRange
from graph.turn.agent import Agent
from model.profile import SMALL, STRONG, Profile
from tests.graph.conftest import OpenAgent
from tests.graph.talk import summary_calls, talk
from tests.graph.test_conversation import NewSession


def rates(agent: Agent, session: str) -> list[float]:
    return [record["compression_rate"] for record in agent.state(session)["summary_history"]]


@pytest.mark.parametrize("ahead", [True, False])
def test_a_slider_moved_at_turn_five_counts_from_the_next_summary_on(
    agent: OpenAgent, session: NewSession, ahead: bool
) -> None:
    bot = agent(ahead=ahead)
    own = session(bot)
    talk(bot, own, range(1, 5))
    first = bot.state(own)["summary_history"][0]
    bot.store.set_rate(own, 0.5)
    talk(bot, own, range(5, 11))
    records = bot.state(own)["summary_history"]
    assert records[0] == first
    assert rates(bot, own) == [0.3, 0.5, 0.5]
    assert all(each["summary_chars"] == int(each["original_chars"] * each["compression_rate"]) for each in records)


@pytest.mark.parametrize("profile", [STRONG, SMALL], ids=["strong", "small"])
def test_a_summary_made_ahead_at_the_old_rate_is_not_used(
    agent: OpenAgent, session: NewSession, profile: Profile
) -> None:
    bot = agent(profile=profile)
    own = session(bot)
    talk(bot, own, range(1, 4))
    assert bot.store.ledger.ready(own, [1, 2, 3], 0.3) is not None
    bot.store.set_rate(own, 0.1)
    talk(bot, own, [4])
    assert rates(bot, own) == ([0.1] if profile is SMALL else []), "a model needs a turn more"
    talk(bot, own, [5])
    assert rates(bot, own) == [0.1]
    assert [row.status for row in bot.store.ledger.summaries(own, superseded=True)] == ["superseded", "active"]


def test_a_late_summary_at_the_old_rate_does_not_push_out_the_new_one(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    talk(bot, own, range(1, 4))
    bot.store.set_rate(own, 0.1)
    talk(bot, own, [4, 5])
    bot.store.ledger.add(own, [1, 2, 3], 0.3, "ready", record={**bot.state(own)["summary_history"][0]})
    assert [(row.rate, row.status) for row in bot.store.ledger.summaries(own)] == [(0.1, "active")]


def test_ready_summaries_are_found_by_their_rate(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    talk(bot, own, range(1, 4))
    bot.store.set_rate(own, 0.5)
    bot.store.set_rate(own, 0.3)
    talk(bot, own, [4])
    assert summary_calls(bot) == 1


@pytest.mark.parametrize("rate", [0.1, 0.15, 0.3, 0.5])
def test_rates_within_the_bounds(agent: OpenAgent, rate: float) -> None:
    bot = agent()
    own = bot.store.create_session("ko", rate).id
    bot.store.set_rate(own, rate)
    assert bot.store.session(own).compression_rate == rate


@pytest.mark.parametrize("rate", [0.0, 0.0999, 0.5001, 1.0, -0.3, float("nan"), float("inf")])
def test_rates_outside_the_bounds_are_refused_and_change_nothing(
    agent: OpenAgent, session: NewSession, rate: float
) -> None:
    bot = agent()
    own = session(bot)
    with pytest.raises(OutOfRange):
        bot.store.set_rate(own, rate)
    with pytest.raises(OutOfRange):
        bot.store.create_session("ko", rate)
    assert bot.store.session(own).compression_rate == 0.3
