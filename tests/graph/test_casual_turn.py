"""The casual fast path through the whole agent (specification 2.4)."""

from __future__ import annotations

import pytest

from graph.context.exact_prompt import rebuild_exact_prompt
from graph.turn.event import ContextBuilt, SummaryMade
from model.profile import SMALL
from tests.graph.conftest import OpenAgent
from tests.graph.talk import done, only, prompts, question, raw, say, scripted, summarised, summary_calls, talk, topic
from tests.graph.test_conversation import NewSession


def test_a_greeting_is_one_short_call_without_tools_and_still_a_turn(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 6))
    calls, summaries = len(prompts(bot)), summary_calls(bot)
    end = done(say(bot, own, "고마워!"))
    assert (end.turn, end.usage.calls) == (6, 1)
    assert len(prompts(bot)) == calls + 1
    assert summary_calls(bot) == summaries
    prompt = prompts(bot)[-1]
    assert [message.type for message in prompt] == ["system", "human"]
    assert str(prompt[1].text) == "고마워!"
    assert "요약" not in str(prompt[0].text)
    assert not any(tool in str(prompt[0].text) for tool in ("calculate", "current_time"))
    assert "tools" not in scripted(bot.models().chat).bound_arguments[-1]
    assert bot.state(own)["turn_count"] == bot.store.session(own).turn_count == 6


def test_other_turns_have_the_tools(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    talk(bot, session(bot), [1])
    bound = scripted(bot.models().chat).bound_arguments[-1]["tools"]
    assert [each["function"]["name"] for each in bound] == ["current_time", "calculate", "ask_user"]


def test_a_greeting_at_turn_four_leaves_the_summary_to_turn_five(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 4))
    greeted = say(bot, own, "고마워")
    assert not only(greeted, SummaryMade)
    assert bot.state(own)["summary_history"] == []
    events = say(bot, own, question(5))
    assert [made.turns for made in only(events, SummaryMade)] == [(1, 2, 3)]
    prompt = prompts(bot)[-1]
    assert summarised(prompt) == [(1, 3)]
    assert raw(prompt) == [topic(5)]
    assert any(str(message.text) == "고마워" for message in prompt)
    talk(bot, own, [6])
    assert [made.turns for made in only(say(bot, own, question(7)), SummaryMade)] == [(4, 5, 6)]


def test_the_report_of_a_greeting_says_that_the_conversation_was_left_out(
    agent: OpenAgent, session: NewSession
) -> None:
    bot = agent()
    own = session(bot)
    talk(bot, own, range(1, 3))
    report = only(say(bot, own, "고마워"), ContextBuilt)[-1].report
    assert [(each.what, each.reason) for each in report.left_out] == [("1-2", "casual")]
    assert report.full_tokens > report.total_tokens


@pytest.mark.parametrize(
    ("offer", "reply"),
    [
        ("원하시면 예시 코드도 보여 드릴게요.", "네"),
        ("Reply yes to confirm the booking.", "👍"),
        ("예약을 진행할까요?\n\n필요한 정보가 더 있으면 말씀해 주세요.", "고마워요"),
        ("Which one do you want?\n1. Red\n2. Blue", "thanks!"),
        ("今日は？", "안녕!"),
    ],
)
def test_what_answers_an_offer_or_a_question_is_answered_with_the_conversation(
    agent: OpenAgent, session: NewSession, offer: str, reply: str
) -> None:
    bot = agent([offer, "예."])
    own = session(bot)
    say(bot, own, question(1))
    done(say(bot, own, reply))
    assert offer in [str(message.text) for message in prompts(bot)[-1]]


def test_a_question_long_before_the_end_of_an_answer_asks_nothing(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(["Why? " + "Because the sea rises twice a day. " * 9, "예."])
    own = session(bot)
    say(bot, own, question(1))
    done(say(bot, own, "thanks!"))
    assert [message.type for message in prompts(bot)[-1]] == ["system", "human"]


def test_a_small_model_greets_with_the_conversation(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(profile=SMALL)
    own = session(bot)
    talk(bot, own, [1])
    assert done(say(bot, own, "고마워!")).usage.calls == 1
    assert raw(prompts(bot)[-1]) == [topic(1)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("hi", question(2), "ko"),
        ("ok", question(2), "ko"),
        ("Hello!", "How do I make rice?", "en"),
        ("안녕하세요", "How do I make rice?", "en"),
        ("How do I make rice?", question(2), "en"),
    ],
)
def test_the_first_message_that_is_no_greeting_decides_the_language(
    agent: OpenAgent, session: NewSession, first: str, second: str, expected: str
) -> None:
    bot = agent()
    own = session(bot)
    for text in (first, second, question(3)):
        done(say(bot, own, text))
    assert bot.store.session(own).language == expected
    assert all(rebuild_exact_prompt(bot, own, number).proven for number in (1, 2, 3))


def test_a_greeting_is_answered_in_its_own_language(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    for text in ("Hello!", question(2), "Thanks!"):
        done(say(bot, own, text))
    assert [str(prompt[0].text).startswith("You are") for prompt in prompts(bot)] == [True, False, True]


def test_a_greeting_that_becomes_a_question_decides_the_language(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    done(say(bot, own, "안녕하세요"))
    list(bot.again(own, 1, "How do I make rice?"))
    assert bot.store.session(own).language == "en"
