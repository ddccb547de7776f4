"""What holds for every chosen tool, whether the model calls it or a router before the model is asked (design 9.3)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import BaseTool, ToolException, tool

from graph import choice
from graph.choice import routed
from graph.context.turns import make_question_message as asked
from graph.tool import TOOLS as OWN
from graph.turn.agent import Agent
from graph.turn.event import Event, ToolFinished, ToolStarted
from model.profile import SMALL, STRONG, TOOLLESS, Profile
from model.scripted import ScriptedModel
from tests.graph.conftest import OpenAgent, Route
from tests.graph.talk import answer, calling, done, only, prompts, question, say, summary_calls
from tests.graph.test_conversation import NewSession

Choosing = Callable[..., Agent]
ASKED = "만조는 언제야?"


@tool
def look_up_tide(harbour: str) -> str:
    """Tides."""
    return f"{harbour}: 06:40"


@tool
def failing(harbour: str) -> str:
    """Fails as a tool may."""
    raise ToolException(f"no tide is known for {harbour}")


@tool
def broken(harbour: str) -> str:
    """Fails as nobody foresaw."""
    raise ZeroDivisionError(harbour)


STOPPED = threading.Event()
"""Set by the test that stops its turn: only then does ``slow`` return."""


@tool
def slow(harbour: str) -> str:
    """Returns after the turn has been stopped."""
    assert STOPPED.wait(60)
    return harbour


TOOLS: list[BaseTool] = [look_up_tide, failing, broken, slow]


@pytest.fixture(params=[STRONG, TOOLLESS, SMALL], ids=lambda profile: f"{profile.tools}-{profile.name}")
def profile(request: pytest.FixtureRequest) -> Profile:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def choosing(agent: OpenAgent, route: Route, profile: Profile) -> Choosing:
    """An agent whose first question has the tool called, by whoever chooses; its answer is ``said``."""

    def make(name: str, said: str = "06시 40분입니다", **settings: Any) -> Agent:
        route("만조", name, harbour="목포")
        call = [calling(name, harbour="목포")] if profile.tools == "native" else []
        return replace(agent([*call, said, answer(2)], profile=profile, **settings), tools=TOOLS)

    return make


def result(events: list[Event]) -> ToolFinished:
    (found,) = only(events, ToolFinished)
    return found


def test_the_tool_runs_is_shown_and_kept_and_the_model_answers_from_it(
    choosing: Choosing, session: NewSession, profile: Profile
) -> None:
    bot = choosing("look_up_tide")
    own = session(bot)
    events = say(bot, own, ASKED)
    assert done(events).answer == "06시 40분입니다"
    (started,), finished = only(events, ToolStarted), result(events)
    assert (started.name, started.arguments) == ("look_up_tide", {"harbour": "목포"})
    assert (finished.call, finished.ok, finished.result) == (started.call, True, "목포: 06:40")
    turn = bot.store.turn(own, 1)
    assert turn is not None
    assert [(step["name"], step["result"]) for step in turn.steps] == [("look_up_tide", "목포: 06:40")]
    assert [each["type"] for each in turn.messages or []] == ["human", "ai", "tool", "ai"]
    assert sum("06:40" in str(each.text) for each in prompts(bot)[-1]) == 1
    assert done(events).usage.calls == len(prompts(bot)) == (2 if profile.tools == "native" else 1)
    assert summary_calls(bot) == 0, "nobody is asked beside it"


@pytest.mark.parametrize(("name", "said"), [("failing", "no tide is known for 목포"), ("broken", "broken failed")])
def test_a_tool_that_fails_is_told_and_fails_no_turn(
    choosing: Choosing, session: NewSession, name: str, said: str
) -> None:
    bot = choosing(name, "모르겠습니다")
    events = say(bot, own := session(bot), ASKED)
    assert not result(events).ok
    assert said in result(events).result
    assert any(said in str(each.text) for each in prompts(bot)[-1])
    assert done(events).answer == "모르겠습니다"
    assert done(say(bot, own, question(2))).answer == answer(2)


def test_a_call_that_is_cut_off_with_the_turn_leaves_a_conversation_that_goes_on(
    choosing: Choosing, session: NewSession
) -> None:
    STOPPED.clear()
    bot, stop = choosing("slow"), threading.Event()
    own, events = session(bot), []
    for event in bot.run(own, ASKED, stop=stop):
        events.append(event)
        if isinstance(event, ToolStarted):
            stop.set()
            STOPPED.set()
    assert done(events).stopped
    assert done(say(bot, own, question(2))).turn == 2


def test_where_tools_are_switched_off_none_is_called(choosing: Choosing, session: NewSession, profile: Profile) -> None:
    bot = choosing("look_up_tide", tool_limit=0)
    if profile.tools == "native":
        bot = bot.using(replace(bot.models(), chat=ScriptedModel(["모르겠습니다"])))
    assert not only(say(bot, session(bot), ASKED), ToolStarted)


def test_the_answer_can_be_asked_for_again(choosing: Choosing, session: NewSession, agent: OpenAgent) -> None:
    bot = choosing("look_up_tide")
    own = session(bot)
    say(bot, own, ASKED)
    assert done(list(bot.again(own, 1, question(2)))).turn == 1


# --- the router -----------------------------------------------------------------------------------


def test_the_router_is_given_the_question_those_before_it_and_what_is_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, list[str], list[str]]] = []

    def choose(text: str, earlier: list[str], tools: Any, write: Any, now: Any) -> list[Any]:
        seen.append((text, earlier, [each.name for each in tools]))
        return []

    monkeypatch.setattr(routed, "route_tool_calls", choose)
    messages: list[AnyMessage] = [asked("하나", 1, "s"), AIMessage("네"), asked("둘", 2, "s")]
    choice.choose_tool_calls(SMALL, OWN, messages[:1])
    choice.choose_tool_calls(SMALL, OWN, messages)
    names = [each.name for each in OWN]
    assert seen == [("하나", [], names), ("둘", ["하나"], names)]


def test_a_model_that_calls_tools_itself_has_no_router(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routed, "route_tool_calls", lambda *_: pytest.fail("it was asked"))
    assert choice.choose_tool_calls(STRONG, OWN, [asked("하나", 1, "s")]) == []
    assert choice.choose_tool_calls(SMALL, (), [asked("하나", 1, "s")]) == []


@pytest.mark.parametrize(("given", "layout"), [(STRONG, "messages"), (TOOLLESS, "inline"), (SMALL, "bare")])
def test_the_profile_says_how_tools_stand_in_the_prompt(given: Profile, layout: str) -> None:
    assert choice.choose_prompt_layout(given) == layout
