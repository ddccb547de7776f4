"""Comparing answers: cost said first, both sides from the same record, nothing stored."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from errors import TurnUnknown
from graph.context.compare import Answered, Variant, estimate_variant_cost, stream_variant_answer
from graph.turn.agent import Agent
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import folding, noting, ready, tell
from tests.graph.talk import answer as answer_to
from tests.graph.talk import prompts, question, scripted, talk, topic

NewSession = Callable[[Agent], str]


def asked(agent: Agent, session: str, variant: Variant) -> Answered:
    *pieces, end = stream_variant_answer(agent, session, question(99), variant)
    assert isinstance(end, Answered)
    assert end.text == "".join(str(piece) for piece in pieces)
    return end


def test_full_history_holds_every_turn_and_no_summary(agent: OpenAgent, session: NewSession) -> None:
    one = agent(budget_past=0)
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
    expected = estimate_variant_cost(one, talked, question(99), Variant(rate=0.5))
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
        estimate_variant_cost(one, talked, question(99), Variant(full=True)).prompt_tokens
        == asked(one, talked, Variant(full=True)).report.total_tokens
    )


def test_a_stopped_side_ends_with_what_came(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, [1])
    stop = threading.Event()
    events = stream_variant_answer(one, talked, question(99), Variant(), stop)
    first = next(events)
    stop.set()
    *_, end = events
    assert isinstance(end, Answered)
    assert end.stopped
    assert end.text.startswith(str(first))
    assert topic(99) in str(first) + end.text


@pytest.mark.parametrize("variant", [Variant(), Variant(full=True), Variant(rate=0.5)])
@pytest.mark.parametrize("turn", [3, 6, 8])
def test_a_question_of_the_chat_is_asked_without_its_own_answer_and_what_followed(
    agent: OpenAgent, session: NewSession, variant: Variant, turn: int
) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, range(1, 9))
    *_, end = stream_variant_answer(one, talked, question(turn), variant, turn=turn)
    given = "".join(str(each.text) for each in prompts(one)[-1])
    assert isinstance(end, Answered)
    assert topic(turn - 1).removeprefix("주제") in given
    assert answer_to(turn) not in given
    assert given.count(topic(turn)) == 1
    assert not any(topic(number).removeprefix("주제") in given for number in range(turn + 1, 9))
    assert end.report.turn == turn
    if not variant.rate:
        assert (
            estimate_variant_cost(one, talked, question(turn), variant, turn).prompt_tokens == end.report.total_tokens
        )
    if variant.full:
        assert end.report.full_tokens == end.report.total_tokens


def test_asked_again_it_is_given_what_the_turn_was_given_and_the_memory_stays(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True, changing=lambda *_: ()))
    talked = one.store.create_session("en", 0.3).id
    tell(one, talked, range(1, 10))
    before = one.memory.reader.read_view(one.tenant, talked, "en") if one.memory else None
    again = one.store.turn(talked, 8)
    assert again
    assert again.report
    *_, end = stream_variant_answer(one, talked, again.question, Variant(), turn=8)
    assert isinstance(end, Answered)
    assert {each.name: each.tokens for each in end.report.parts} == {
        each["name"]: each["tokens"] for each in again.report["parts"]
    }
    assert end.report.digest == again.report["digest"]
    assert before == (one.memory.reader.read_view(one.tenant, talked, "en") if one.memory else None)


def test_a_turn_that_is_not_there_cannot_be_compared(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    talked = session(one)
    talk(one, talked, [1])
    with pytest.raises(TurnUnknown):
        estimate_variant_cost(one, talked, question(2), Variant(), 2)
