"""Comparing answers: cost said first, both sides from the same record, nothing stored."""

from __future__ import annotations

import threading
from collections.abc import Callable

from graph.agent import Agent
from graph.compare import Answered, Variant, answer, cost
from tests.graph.conftest import OpenAgent
from tests.graph.talk import question, scripted, talk, topic

NewSession = Callable[[Agent], str]


def asked(agent: Agent, session: str, variant: Variant) -> Answered:
    *pieces, end = answer(agent, session, question(99), variant)
    assert isinstance(end, Answered)
    assert end.text == "".join(str(piece) for piece in pieces)
    return end


def test_full_history_holds_every_turn_and_no_summary(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 9))
    full, now = asked(one, talked, Variant(full=True)), asked(one, talked, Variant())
    assert full.report.total_tokens > now.report.total_tokens
    assert [part.items for part in full.report.parts if part.name == "recent"] == [tuple(map(str, range(1, 9)))]
    assert [part.items for part in now.report.parts if part.name == "summaries"] == [("1-3", "4-6")]


def test_another_rate_makes_only_the_summaries_that_are_missing(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 8))
    one.remake_summary(talked, 1, 0.5)
    one.choose_summary(talked, 1, 1)
    expected = cost(one, talked, question(99), Variant(rate=0.5))
    before = len(scripted(one.models().utility).calls)
    longer = asked(one, talked, Variant(rate=0.5))
    assert expected.summary_calls == 1
    assert len(scripted(one.models().utility).calls) - before == 1
    short = asked(one, talked, Variant())
    sizes = [part.tokens for each in (longer, short) for part in each.report.parts if part.name == "summaries"]
    assert sizes[0] > sizes[1]


def test_nothing_is_stored(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 5))
    before = (one.store.session(talked), one.state(talked), one.store.ledger.summaries(talked, superseded=True))
    asked(one, talked, Variant(rate=0.2))
    assert before == (one.store.session(talked), one.state(talked), one.store.ledger.summaries(talked, superseded=True))


def test_the_cost_is_that_of_the_prompt(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 6))
    assert (
        cost(one, talked, question(99), Variant(full=True)).prompt_tokens
        == asked(one, talked, Variant(full=True)).report.total_tokens
    )


def test_a_stopped_side_ends_with_what_came(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, [1])
    stop = threading.Event()
    events = answer(one, talked, question(99), Variant(), stop)
    first = next(events)
    stop.set()
    *_, end = events
    assert isinstance(end, Answered)
    assert end.stopped
    assert end.text.startswith(str(first))
    assert topic(99) in str(first) + end.text
