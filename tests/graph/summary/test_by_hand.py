"""Turns that the rhythm leaves raw are summarised at once when the user asks, and the rhythm goes on behind them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from sqlalchemy import update

from errors import SessionBusy, TooLong
from graph.summary.by_hand import HINT_CHARS, find_raw_chunks
from graph.turn.agent import Agent
from model.profile import SMALL
from store.database import schema
from store.record import GivenTurn
from tests.graph.conftest import OpenAgent
from tests.graph.talk import (
    done,
    prompts,
    question,
    raw,
    say,
    scripted,
    settled,
    summarised,
    summary_calls,
    talk,
    topic,
)

NewSession = Callable[[Agent], str]


def chunks(agent: Agent, session: str) -> list[list[int]]:
    return find_raw_chunks(agent, agent.store.session(session))


def test_the_raw_turns_are_summarised_and_the_rhythm_of_three_goes_on_behind_them(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 6))
    assert chunks(one, own) == [[4, 5]]
    drafts = one.draft_summaries(own, "  주제를\n빠짐없이 ")
    assert one.store.ledger.find_chunks(own) == {1: 3}, "nothing is stored before the user says so"
    assert one.use_drafts(own, drafts, "주제를 빠짐없이")
    made = one.store.ledger.summaries(own)[-1]
    assert (made.turns, made.origin, made.hint, made.status) == ([4, 5], "asked", "주제를 빠짐없이", "active")
    assert made.record is not None
    assert made.record["turn_length"] == 2
    assert set(made.record) == set((one.store.ledger.summaries(own)[0].record or {}).keys())
    assert chunks(one, own) == []

    done(say(one, own, question(6)))
    assert summarised(prompts(one)[-1]) == [(1, 3), (4, 5)]
    assert raw(prompts(one)[-1]) == [topic(6)]
    settled(one)
    talk(one, own, range(7, 10))
    assert summarised(prompts(one)[-1]) == [(1, 3), (4, 5), (6, 8)], "three turns at a time, as before"


def test_the_wish_goes_to_the_writer_and_stays_for_a_later_writing(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 3))
    drafts = one.draft_summaries(own, "송장 번호를 남겨 줘")
    assert "사용자의 바람: 송장 번호를 남겨 줘" in str(scripted(one.models().utility).calls[-1][-1].text)
    assert drafts[0].tokens_before > drafts[0].tokens_after > 0
    assert one.use_drafts(own, drafts, "송장 번호를 남겨 줘")
    one.remake_summary(own, 1, 0.5)
    assert "사용자의 바람: 송장 번호를 남겨 줘" in str(scripted(one.models().utility).calls[-1][-1].text)
    assert one.store.ledger.summaries(own)[-1].hint == "송장 번호를 남겨 줘"


def test_code_writes_without_a_wish_and_the_model_with_one_on_a_small_profile(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent(profile=SMALL)
    own = session(one)
    talk(one, own, range(1, 3))
    assert one.draft_summaries(own)[0].made.model == ""
    before = summary_calls(one)
    one.draft_summaries(own, "인물을 남겨 줘")
    assert summary_calls(one) > before


def test_a_draft_of_turns_that_have_changed_meanwhile_is_not_taken(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 3))
    drafts = one.draft_summaries(own)
    done(list(one.again(own, 2)))
    settled(one)
    assert not one.use_drafts(own, drafts)
    assert one.store.ledger.find_chunks(own) == {}
    newer = one.draft_summaries(own)
    assert one.use_drafts(own, newer)
    assert not one.use_drafts(own, newer), "a summary has taken these turns"
    with one.lock.hold(own), pytest.raises(SessionBusy):
        one.use_drafts(own, newer)


def test_a_branch_before_the_summary_leaves_it_and_coming_back_finds_it(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 6))
    one.use_drafts(own, one.draft_summaries(own))
    done(list(one.again(own, 5)))
    settled(one)
    assert chunks(one, own) == [[4, 5]]
    one.switch(own, 5, 0)
    assert chunks(one, own) == []


def test_a_chunk_that_a_fork_cuts_short_leaves_the_other_branch_its_summary(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 8))
    settled(one)
    assert one.store.ledger.find_chunks(own) == {1: 3, 4: 6}
    number = one.store.tree.give(own, 5, [GivenTurn("5번 질문을 고쳐 묻습니다.", "", 20)], time.time())
    assert number
    with one.store.transaction() as connection:
        last = (schema.turn.c.session_id == own, schema.turn.c.number == 5, schema.turn.c.branch != 0)
        connection.execute(update(schema.turn).where(*last).values(status="failed", answer=None))
    assert chunks(one, own) == [], "turn 4 belongs to a summary of the other branch"
    assert one.draft_summaries(own) == []
    one.switch(own, 5, 0)
    assert one.store.ledger.find_chunks(own) == {1: 3, 4: 6}


def test_a_draft_keeps_the_rate_that_it_was_written_at(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 3))
    written_at = one.store.session(own).compression_rate
    drafts = one.draft_summaries(own)
    one.store.set_rate(own, 0.5)
    assert one.use_drafts(own, drafts)
    assert one.store.ledger.summaries(own)[-1].rate == written_at != 0.5


def test_a_wish_that_is_too_long_is_refused(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, [1])
    with pytest.raises(TooLong):
        one.draft_summaries(own, "가" * (HINT_CHARS + 1))


def test_a_single_turn_is_named_as_one(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, range(1, 5))
    assert one.use_drafts(own, one.draft_summaries(own))
    done(say(one, own, question(5)))
    system = str(prompts(one)[-1][0].text)
    assert "\n[4턴] " in system
    assert "4-4" not in system
