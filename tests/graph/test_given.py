"""Turns that a client tells: they become the conversation's past without a model call, and memory follows."""

from __future__ import annotations

from typing import Any

import pytest

from errors import OutOfRange, TooLong, TurnUnknown
from graph.context.prompt import raw_tokens
from graph.turn.agent import Agent
from graph.turn.request import MESSAGE_LIMIT, MOST_GIVEN, AnswerLimits
from graph.turn.session import given as given_turns
from graph.turn.session.rebuild import messages_of
from model.profile import SMALL, STRONG, TOOLLESS, Profile
from store import GivenTurn
from tests.graph.asking import ask, chat_model
from tests.graph.conftest import OpenAgent
from tests.graph.recalling import folding, noting, ready, remembered
from tests.graph.talk import (
    answer,
    done,
    failed,
    prompts,
    question,
    raw,
    say,
    scripted,
    settled,
    settled_but_vectors,
    summarised,
    summary_calls,
    talk,
    topic,
)
from tests.graph.test_exact import NewSession, check


def told(*numbers: int, tokens: int = 0) -> tuple[GivenTurn, ...]:
    return tuple(GivenTurn(question(number), answer(number), tokens) for number in numbers)


def questions(agent: Agent, session: str) -> list[str]:
    return [turn.question for turn in agent.store.turns(session, limit=100)]


@pytest.mark.parametrize("profile", [STRONG, TOOLLESS, SMALL], ids=lambda profile: profile.name)
def test_the_model_reads_them_as_the_past_and_is_called_once(
    agent: OpenAgent, session: NewSession, profile: Profile
) -> None:
    one = agent(profile=profile, side=STRONG)
    own = session(one)
    end = done(ask(one, own, question(3), given=told(1, 2)))
    assert end.turn == 3
    assert len(chat_model(one).calls) == 1
    assert raw(prompts(one)[-1]) == [topic(1), topic(2), topic(3)]
    assert [str(message.text) for message in prompts(one)[-1] if message.type == "ai"] == [answer(1), answer(2)]
    rows = one.store.turns(own)
    assert [row.given for row in rows] == [True, True, False]
    counted = [raw_tokens(messages_of(row), one.models().count) for row in rows[:2]]
    assert [row.tokens for row in rows[:2]] == counted
    check(one, own, 3)


def test_the_clients_own_counts_are_kept_and_many_are_estimated(
    agent: OpenAgent, session: NewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, question(2), given=told(1, tokens=77)))
    monkeypatch.setattr(given_turns, "COUNTED", 1)
    done(ask(one, own, question(5), given=told(3, 4)))
    rows = one.store.turns(own)
    assert rows[0].tokens == 77
    assert rows[2].tokens > 0
    assert one.store.session(own).history_tokens == sum(row.tokens for row in rows)


def test_they_go_on_after_turns_of_ours_and_later_turns_go_on_after_them(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, [1])
    done(ask(one, own, question(4), given=told(2, 3), number=2))
    talk(one, own, [5])
    assert questions(one, own) == [question(number) for number in range(1, 6)]
    assert raw(prompts(one)[-1])[-1] == topic(5)
    for number, call in ((4, 1), (5, 2)):
        check(one, own, number, call)


def test_in_the_middle_they_begin_a_branch_and_the_old_one_stays(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, [1, 2, 3])
    assert done(ask(one, own, question(23), given=told(12, 13), number=2)).turn == 4
    assert questions(one, own) == [question(number) for number in (1, 12, 13, 23)]
    assert summarised(prompts(one)[-1]) == [(1, 3)]
    assert raw(prompts(one)[-1]) == [topic(23)]
    one.switch(own, 2, 0)
    assert questions(one, own) == [question(number) for number in (1, 2, 3)]
    done(say(one, own, question(4)))
    assert topic(12) not in str(prompts(one)[-1])


def test_a_new_message_at_an_earlier_turn_without_told_turns_begins_a_branch_there(
    agent: OpenAgent, session: NewSession
) -> None:
    one = agent()
    own = session(one)
    talk(one, own, [1, 2, 3])
    assert done(ask(one, own, question(12), number=2)).turn == 2
    assert questions(one, own) == [question(1), question(12)]


def test_a_turn_that_failed_is_closed_before_them(agent: OpenAgent, session: NewSession) -> None:
    one = agent([RuntimeError("boom"), "네"])
    own = session(one)
    failed(say(one, own, question(1)))
    done(ask(one, own, question(3), given=told(2)))
    rows = one.store.turns(own)
    assert [(row.status, row.given) for row in rows] == [("failed", False), ("done", True), ("done", False)]


@pytest.mark.parametrize("side", [STRONG, SMALL], ids=lambda profile: profile.name)
@pytest.mark.parametrize("ahead", [True, False])
def test_their_turn_has_their_summaries_at_once_and_no_model_writes_them(
    agent: OpenAgent, session: NewSession, ahead: bool, side: Profile
) -> None:
    one = agent(ahead=ahead, side=side)
    own = session(one)
    done(ask(one, own, question(8), given=told(*range(1, 8))))
    assert summarised(prompts(one)[-1]) == [(1, 3), (4, 6)]
    assert raw(prompts(one)[-1]) == [topic(7), topic(8)]
    settled(one)
    assert summary_calls(one) == 0
    assert [row.origin for row in one.store.ledger.summaries(own)] == ["extracted", "extracted"]
    check(one, own, 8, 0)


def test_memory_follows_them(agent: OpenAgent) -> None:
    one = ready(agent(noting, folding, memory=True))
    own = one.store.create_session("en", 0.3).id
    prices = tuple(GivenTurn(f"My item {number} costs ${number}00.", "Noted.", 0) for number in range(1, 8))
    done(ask(one, own, "What should I buy first?", given=prices))
    settled(one)
    assert "$100" in remembered(one, own)
    branch = (GivenTurn("My item 9 costs $900.", "Noted.", 0),)
    done(ask(one, own, "And now?", given=branch, number=1))
    settled(one)
    assert "$100" not in remembered(one, own)
    done(say(one, own, "Which item did I name?"))
    assert "$900" in str(prompts(one)[-1])


def test_a_thousand_turns_are_cut_to_the_context(agent: OpenAgent, session: NewSession) -> None:
    one = agent(context_size=4000, side=SMALL)
    own = session(one)
    many = tuple(GivenTurn(f"물음 {number} 이야기", f"대답 {number} 이야기", 0) for number in range(1000))
    assert done(ask(one, own, question(1), given=many)).turn == 1001
    settled_but_vectors(one)
    assert done(say(one, own, question(2))).turn == 1002


LANGUAGE: list[tuple[list[tuple[str, str]], str, str, str]] = [
    ([("What is a lighthouse for?", "For ships.")], "And who lives there?", "ko", "en"),
    (
        [("What is a lighthouse for?", "For ships."), ("등대는 언제부터 있었어?", "오래전부터.")],
        "그렇구나 더 알려 줘",
        "en",
        "ko",
    ),
    ([("Tell me about lighthouses at night", "They shine.")], "ok", "ko", "en"),
    ([("hi", "Hello!")], "등대에는 누가 살아?", "en", "ko"),
]


@pytest.mark.parametrize(("turns", "text", "before", "after"), LANGUAGE)
def test_the_last_told_question_and_the_message_decide_the_language(
    agent: OpenAgent, turns: list[tuple[str, str]], text: str, before: Any, after: str
) -> None:
    one = agent()
    own = one.store.create_session(before, 0.3).id
    done(ask(one, own, text, given=tuple(GivenTurn(*turn, 0) for turn in turns)))
    assert one.store.session(own).language == after


def test_the_language_of_a_conversation_stays_when_turns_are_told_later(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    talk(one, own, [1])
    done(ask(one, own, "And who lives there?", given=(GivenTurn("What is it for?", "For ships.", 0),)))
    assert one.store.session(own).language == "ko"


def test_they_go_with_a_system_text_and_limits(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    parts: dict[str, Any] = {"system": "You are Mira.", "limits": AnswerLimits(max_tokens=50)}
    done(ask(one, own, question(2), given=told(1), **parts))
    assert "You are Mira." in str(prompts(one)[-1][0].text)
    assert scripted(one.models().chat).bound_arguments[-1]["max_tokens"] == 50


def test_a_told_turn_may_lack_its_question_or_its_answer(agent: OpenAgent, session: NewSession) -> None:
    for profile in (STRONG, SMALL):
        one = agent(profile=profile, side=STRONG)
        own = session(one)
        greeting = (GivenTurn("", "어서 와, 등대에.", 0), GivenTurn(question(1), "", 0))
        done(ask(one, own, question(2), given=greeting))
        assert [str(message.text) for message in prompts(one)[-1] if message.type == "ai"] == ["어서 와, 등대에.", "…"]


def test_another_answer_to_a_told_turn_is_ours(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    done(ask(one, own, question(3), given=told(1, 2)))
    done(ask(one, own, kind="again", number=2))
    turn = one.store.turn(own, 2)
    assert turn is not None
    assert (turn.given, turn.question) == (False, question(2))


def test_too_much_is_refused_and_nothing_is_written(agent: OpenAgent, session: NewSession) -> None:
    one = agent()
    own = session(one)
    with pytest.raises(TooLong):
        ask(one, own, question(1), given=(GivenTurn("x", "y" * (MESSAGE_LIMIT + 1), 0),))
    with pytest.raises(OutOfRange, match="number of given turns"):
        ask(one, own, question(1), given=(GivenTurn("x", "y", 1),) * (MOST_GIVEN + 1))
    with pytest.raises(TurnUnknown):
        ask(one, own, question(1), given=told(1), number=3)
    assert one.store.session(own).turn_count == 0
