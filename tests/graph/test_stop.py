"""Stop is cooperative: in every node the partial answer is kept and marked, and the next turn works (design 2.5)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from graph.turn.agent import Agent
from graph.turn.event import ContextBuilt, Event, SummaryMade, SummaryStarted, Token, ToolStarted
from model.scripted import ScriptedModel
from tests.graph.conftest import OpenAgent
from tests.graph.talk import (
    answer,
    answering,
    calling,
    done,
    only,
    prompts,
    question,
    raw,
    say,
    summarised,
    summarising,
    talk,
    topic,
)
from tests.graph.test_conversation import NewSession


def until(events: Iterator[Event], kind: type[Event], stop: threading.Event) -> list[Event]:
    """Reads the turn to its end; stops it at the first event of a kind."""
    seen = []
    for event in events:
        seen.append(event)
        if isinstance(event, kind):
            stop.set()
    return seen


class Waiting(BaseTool):
    """A tool that runs until the turn is stopped, however slow the reader of its events is."""

    name: str = "wait"
    description: str = "Waits."
    stop: threading.Event

    def _run(self) -> str:
        assert self.stop.wait(60)
        return "waited"


def gated(script: Any, gate: threading.Event) -> ScriptedModel:
    return ScriptedModel(script, gate=gate)


def check(bot: Agent, session: str, turn: int, partial: str) -> None:
    """The turn is marked as stopped, in row and state, and the next one works."""
    row = bot.store.turn(session, turn)
    assert row is not None
    assert (row.status, row.answer) == ("stopped", partial)
    state = bot.state(session)
    assert state["turn_count"] == turn
    assert state["messages"][-1].text == partial
    assert state["messages"][-1].response_metadata["stopped"]
    assert not bot.snapshot(session).next
    assert done(say(bot, session, question(turn + 1))).answer == answer(turn + 1)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("greeting", [False, True])
def test_a_stop_in_mid_answer_keeps_what_came(
    agent: OpenAgent, session: NewSession, gate: threading.Event, greeting: bool
) -> None:
    stop = threading.Event()
    bot = agent(gated(answering, gate))
    own = session(bot)
    text = "안녕하세요" if greeting else question(1)
    events = until(bot.run(own, text, stop=stop), Token, stop)
    end = done(events)
    assert end.stopped
    assert end.answer == "".join(each.text for each in only(events, Token)) == ("네," if greeting else topic(1))
    (built,) = only(events, ContextBuilt)
    assert end.usage.prompt_tokens >= built.report.total_tokens, "with the tools' forms"
    gate.set()
    check(bot, own, 1, end.answer)
    if not greeting:
        assert (("ai", topic(1))) in [(each.type, str(each.text)) for each in prompts(bot)[-1]]


def test_a_stop_before_the_first_token_leaves_an_empty_answer(agent: OpenAgent, session: NewSession) -> None:
    stop = threading.Event()
    slow = ScriptedModel(answering, delay=3600.0)
    bot = agent(slow)
    own = session(bot)
    end = done(until(bot.run(own, question(1), stop=stop), ContextBuilt, stop))
    assert (end.stopped, end.answer) == (True, "")
    slow.delay = 0.0
    check(bot, own, 1, "")
    assert all(str(message.text) for message in prompts(bot)[-1])


def test_a_stop_before_the_turn_asks_no_model(agent: OpenAgent, session: NewSession) -> None:
    stop = threading.Event()
    stop.set()
    bot = agent()
    own = session(bot)
    assert done(say(bot, own, question(1), stop)).stopped
    assert prompts(bot) == []
    check(bot, own, 1, "")


def test_a_stop_while_the_summary_is_made_leaves_its_turns_raw(
    agent: OpenAgent, session: NewSession, gate: threading.Event
) -> None:
    stop = threading.Event()
    bot = agent(utility=gated(summarising, gate), ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 4))
    events = until(bot.run(own, question(4), stop=stop), SummaryStarted, stop)
    assert done(events).stopped
    assert not only(events, SummaryMade)
    assert bot.state(own)["summary_history"] == []
    gate.set()
    check(bot, own, 4, "")
    assert summarised(prompts(bot)[-1]) == [(1, 3)]
    assert raw(prompts(bot)[-1]) == [topic(4), topic(5)]


def test_a_stop_while_a_tool_runs_keeps_its_result_and_answers_no_more(agent: OpenAgent, session: NewSession) -> None:
    stop = threading.Event()
    two = calling("calculate", "a", expression="1+1")
    two.tool_calls += calling("wait", "b").tool_calls
    first = iter([two])
    bot = agent(lambda messages: next(first, None) or answering(messages))
    bot = replace(bot, tools=[*bot.tools, Waiting(stop=stop)])
    own = session(bot)
    events = until(bot.run(own, question(1), stop=stop), ToolStarted, stop)
    assert done(events).stopped
    assert len(prompts(bot)) == 1
    results = [each for each in bot.state(own)["messages"] if isinstance(each, ToolMessage)]
    assert [each.tool_call_id for each in results] == ["a", "b"]
    check(bot, own, 1, "")


def test_a_stopped_turn_is_complete_and_cannot_be_retried(agent: OpenAgent, session: NewSession) -> None:
    from errors import NothingToRetry

    stop = threading.Event()
    stop.set()
    bot = agent()
    own = session(bot)
    say(bot, own, question(1), stop)
    with pytest.raises(NothingToRetry):
        list(bot.retry(own))


# --- the caller goes away -----------------------------------------------------------------------


def test_a_caller_that_goes_away_stops_the_turn(agent: OpenAgent, session: NewSession, gate: threading.Event) -> None:
    bot = agent(gated(answering, gate))
    own = session(bot)
    events = bot.run(own, question(1))
    assert any(isinstance(event, Token) for event in events)
    events.close()  # type: ignore[attr-defined]
    gate.set()
    check(bot, own, 1, topic(1))


def test_a_caller_that_goes_away_at_the_first_event(agent: OpenAgent, session: NewSession) -> None:
    bot = agent(ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 4))
    events = bot.run(own, question(4))
    assert isinstance(next(events), SummaryStarted)
    events.close()  # type: ignore[attr-defined]
    assert len(prompts(bot)) == 3
    check(bot, own, 4, "")


def test_a_caller_that_goes_away_after_the_last_event(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    events = bot.run(own, question(1))
    for event in events:
        if isinstance(event, Token):
            break
    list(events)
    talk(bot, own, [2])
    assert [turn.status for turn in bot.store.turns(own)] == ["done", "done"]


def test_a_caller_that_goes_away_from_a_turn_that_fails(
    agent: OpenAgent, session: NewSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is kept in the row; nothing is raised into a caller that is gone."""
    import graph.node.llm

    def burst(*_: Any, **__: Any) -> Any:
        raise RuntimeError("burst")

    bot = agent(ahead=False)
    own = session(bot)
    talk(bot, own, range(1, 4))
    events = bot.run(own, question(4))
    next(events)
    with monkeypatch.context() as patch:
        patch.setattr(graph.node.llm, "make_stopped_answer", burst)
        events.close()  # type: ignore[attr-defined]
    row = bot.store.turn(own, 4)
    assert row is not None
    assert row.status == "failed"
    assert done(list(bot.retry(own))).answer == answer(4)


def test_a_session_is_free_once_its_caller_went_away(agent: OpenAgent, session: NewSession) -> None:
    bot = agent()
    own = session(bot)
    next(bot.run(own, question(1)))  # dropped at once
    talk(bot, own, [2])
