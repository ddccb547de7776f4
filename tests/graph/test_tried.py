"""What other people's bug reports say of systems that do this job, tried here: the part that a turn alone shows."""

from __future__ import annotations

import threading
from collections.abc import Callable

from component.work.job import Jobs
from component.work.readiness import Readiness
from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt
from model.scripted import ScriptedModel
from store.session.options import AnswerOptions
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answering, done, prompts, question, say, talk, topic
from tests.graph.test_stop import until
from tests.wait import until as wait_until

NewSession = Callable[[Agent], str]


def test_after_a_stop_before_the_first_word_the_same_question_is_answered(
    agent: OpenAgent, session: NewSession
) -> None:
    stop = threading.Event()
    slow = ScriptedModel(answering, delay=3600.0)
    bot = agent(slow)
    own = session(bot)
    assert done(until(bot.run(own, question(1), stop=stop), ContextBuilt, stop)).answer == ""
    slow.delay = 0.0
    assert topic(1) in done(say(bot, own, question(1))).answer
    sent = [(each.type, str(each.text)) for each in prompts(bot)[-1]]
    assert all(content for _, content in sent), "no message says nothing"
    assert [kind for kind, _ in sent if kind != "system"][-1] == "human"
    assert [turn.status for turn in bot.store.turns(own)] == ["stopped", "done"]


def test_the_role_stays_first_through_every_summary(agent: OpenAgent, session: NewSession) -> None:
    role = "You are a pirate. Say arr."
    bot = agent(ahead=False)
    own = session(bot)
    bot.store.options.set(own, AnswerOptions(role))
    talk(bot, own, range(1, 15))
    assert bot.store.ledger.summaries(own)
    for prompt in prompts(bot):
        assert prompt[0].type == "system"
        assert str(prompt[0].text).startswith(role)
        assert sum(role in str(message.text) for message in prompt) == 1


def test_a_message_that_is_sent_twice_at_once_is_two_turns_in_order(agent: OpenAgent, session: NewSession) -> None:
    """Two presses of Enter are two messages: nothing is lost, and neither answer knows only half of the other."""
    bot = agent()
    own = session(bot)
    readiness = Readiness(lambda _: bot.models())
    readiness.start()
    jobs = Jobs(bot, readiness, bot.store)
    for _ in range(2):
        jobs.send(own, question(1))
    wait_until(lambda: jobs.of(own) is None)
    turns = bot.store.turns(own)
    assert [(turn.question, turn.status) for turn in turns] == [(question(1), "done")] * 2
    assert str(prompts(bot)[-1][-1].text).endswith(question(1))
    assert jobs.list_queued(own) == []
