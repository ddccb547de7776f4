"""Turns with models of their own: they and what they start run with these, others with the process's."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from errors import WeightsMissing
from graph.context import compare
from graph.context.compare import Answered, Variant
from graph.turn.event import Token
from model import scripted
from model.modelset import ModelSet
from model.scripted import ScriptedModel
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answering, done, question, summarising
from tests.graph.test_conversation import NewSession
from tests.wait import until


def chosen(chat: Any = answering, utility: Any = summarising, kind: Any = "scripted") -> ModelSet:
    return replace(scripted.build_scripted_models(chat, utility), kind=kind, name="chosen")


def missing() -> ModelSet:
    raise WeightsMissing(name="qwen", tried="none")


def test_a_turn_and_the_summary_made_after_it_run_with_the_models_it_was_given(
    agent: OpenAgent, session: NewSession
) -> None:
    bot = agent(resolve=missing)
    own, using = session(bot), bot.using(chosen())
    for number in range(1, 4):
        assert done(list(using.run(own, question(number)))).answer
    assert bot.background.idle(5)
    (row,) = bot.store.ledger.summaries(own)
    assert (row.status, row.model) == ("ready", "chosen")
    assert done(list(using.again(own, 3))).answer


def test_another_turn_of_the_session_runs_with_the_models_of_the_process(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(lambda messages: "of the process")
    own = session(bot)
    assert done(list(bot.using(chosen(lambda messages: "chosen")).run(own, question(1)))).answer == "chosen"
    assert done(list(bot.run(own, question(2)))).answer == "of the process"


def test_a_summary_made_again_and_a_comparison_use_the_chosen_models(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own, using = session(bot), bot.using(chosen(lambda messages: "chosen"))
    for number in range(1, 5):
        list(bot.run(own, question(number)))
    assert using.remake_summary(own, 1, 0.5).model == "chosen"
    ended = [
        each for each in compare.stream_variant_answer(using, own, question(5), Variant()) if isinstance(each, Answered)
    ]
    assert [each.text for each in ended] == ["chosen"]


@pytest.mark.parametrize(("mine", "process", "yields"), [("embedded", "hosted", True), ("hosted", "embedded", False)])
def test_side_work_yields_by_the_models_of_the_turn_that_runs(
    agent: OpenAgent, session: NewSession, mine: str, process: str, yields: bool
) -> None:
    gate, chat = threading.Event(), ScriptedModel(answering)
    utility = ScriptedModel(summarising, gate=gate)
    bot, models = agent(utility=utility, kind=process), chosen(chat, kind=mine)
    one, two = session(bot), session(bot)
    for number in range(1, 4):
        list(bot.run(one, question(number)))
    until(lambda: utility.calls)
    chat.gate = threading.Event()
    events = bot.using(models).run(two, question(1))
    assert any(isinstance(each, Token) for each in events)
    if yields:
        until(lambda: not bot.background._running)
    else:
        assert bot.background._running
    gate.set()
    chat.gate.set()
    list(events)
    assert bot.background.idle(5)
    assert bot.store.ledger.ready(one, [1, 2, 3], 0.3) is not None
    assert len(utility.calls) == (2 if yields else 1)
