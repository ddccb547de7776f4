"""A turn that waits for its user: nothing runs meanwhile, and nothing is lost (specification 14.1)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import Field
from sqlalchemy import update

from errors import NothingToAnswer, NothingToRetry
from graph.tool.question.asking import read_config_answers, read_config_call
from graph.turn.agent import Agent
from graph.turn.event import Event, ToolFinished, ToolStarted, TurnQuestions
from graph.turn.request import Request
from store.database import schema
from store.turn.question import Action, OpenUserQuestions, UserAnswer, UserQuestion
from tests.graph import waiting
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answering, calling, done, only, prompts, question, say, scripted, talk
from tests.graph.test_conversation import NewSession
from tests.process import end, start

YES, ALWAYS, NO = UserAnswer("once"), UserAnswer("always"), UserAnswer("no")


class Door(BaseTool):
    """Opens a door, if the user allows it."""

    name: str = "open_door"
    description: str = "Opens a door."
    opened: list[str] = Field(default_factory=list)
    kept: list[Action] = Field(default_factory=list)

    def question(self, key: str, arguments: Mapping[str, Any]) -> UserQuestion | None:
        if "always" in self.kept:
            return None
        return UserQuestion(key, "approve", key, self.name, server="house", arguments=dict(arguments))

    def allow(self, action: Action) -> None:
        self.kept.append(action)

    def _run(self, which: str) -> str:
        self.opened.append(which)
        return f"{which} is open"


class Form(BaseTool):
    """Wants a value while it runs."""

    name: str = "book"
    description: str = "Books a table."

    def _run(self, config: RunnableConfig, place: str = "") -> str:
        own = f"{read_config_call(config)}/persons"
        answer = read_config_answers(config).get(own)
        if answer is None:
            raise OpenUserQuestions(
                [UserQuestion(own, "form", read_config_call(config), self.name, "How many?", schema={"type": "object"})]
            )
        return f"booked for {answer.value['persons']}" if answer.action == "answer" else "not booked"


def two(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    made = [ToolCall(name=name, args=args, id=f"c{n}", type="tool_call") for n, (name, args) in enumerate(calls)]
    return AIMessage("", tool_calls=made)


def asked(events: list[Event]) -> TurnQuestions:
    end = events[-1]
    assert isinstance(end, TurnQuestions), end
    return end


def with_tools(agent: Agent, *tools: BaseTool) -> Agent:
    return replace(agent, tools=[*agent.tools, *tools])


def results(prompt: Sequence[BaseMessage]) -> list[str]:
    return [str(message.text) for message in prompt if message.type == "tool"]


@pytest.fixture
def door() -> Door:
    return Door()


def test_a_tool_that_asks_runs_after_a_yes(agent: OpenAgent, session: NewSession, door: Door, worked: float) -> None:
    bot = with_tools(agent([calling("open_door", which="front"), "It is open."]), door)
    own = session(bot)
    events = say(bot, own, "Open the front door.")
    (question_,) = asked(events).questions
    assert (question_.kind, question_.tool, question_.call) == ("approve", "open_door", "call-1")
    assert question_.arguments == {"which": "front"}
    assert only(events, ToolStarted) == []
    row = bot.store.turn(own, 1)
    assert row is not None
    assert (row.status, row.questions) == ("waiting", [question_.plain()])
    assert door.opened == []
    with bot.store.transaction() as connection:
        connection.execute(update(schema.turn).values(seconds=100.0))
    again = list(bot.resume(own, {question_.id: YES}))
    assert done(again).answer == "It is open."
    assert done(again).seconds == 100.0 + worked, "the work before the question and after the answer"
    assert door.opened == ["front"]
    assert [step.result for step in only(again, ToolFinished)] == ["front is open"]
    row = bot.store.turn(own, 1)
    assert row is not None
    assert (row.status, row.questions) == ("done", [])
    assert (row.usage or {})["calls"] == 2
    assert row.seconds == done(again).seconds


def test_nothing_is_held_while_it_waits(agent: OpenAgent, session: NewSession, door: Door) -> None:
    bot = with_tools(agent([calling("open_door", which="front")]), door)
    own = session(bot)
    before = set(threading.enumerate())
    asked(say(bot, own, "Open it."))
    assert {thread for thread in threading.enumerate() if thread.name == "turn"} <= before
    with bot.hold(own):
        pass
    assert bot.snapshot(own).interrupts[0].value[0]["tool"] == "open_door"


@pytest.mark.parametrize("answers", [{}, "no"], ids=["left_out", "no"])
def test_a_no_goes_to_the_model(agent: OpenAgent, session: NewSession, door: Door, answers: Any) -> None:
    bot = with_tools(agent([calling("open_door", which="front"), "Then not."]), door)
    own = session(bot)
    (question_,) = asked(say(bot, own, "Open it.")).questions
    assert done(list(bot.resume(own, {question_.id: NO} if answers else {}))).answer == "Then not."
    assert door.opened == []
    assert results(prompts(bot)[-1]) == ["The user said no. Go on without it."]


def test_two_questions_of_one_message_are_one_interrupt(agent: OpenAgent, session: NewSession, door: Door) -> None:
    calls = two(("open_door", {"which": "a"}), ("calculate", {"expression": "6*7"}), ("open_door", {"which": "b"}))
    bot = with_tools(agent([calls, "Half done."]), door)
    own = session(bot)
    events = say(bot, own, "Open both.")
    first, second = asked(events).questions
    assert [step.name for step in only(events, ToolFinished)] == ["calculate"]
    assert done(list(bot.resume(own, {first.id: NO, second.id: ALWAYS}))).answer == "Half done."
    assert (door.opened, door.kept) == (["b"], ["no", "always"])
    assert sorted(results(prompts(bot)[-1])) == ["6*7 = 42", "The user said no. Go on without it.", "b is open"]
    row = bot.store.turn(own, 1)
    assert row is not None
    assert sorted(step["name"] for step in row.steps) == ["calculate", "open_door", "open_door"]


def test_what_is_always_allowed_is_not_asked_again(agent: OpenAgent, session: NewSession, door: Door) -> None:
    call = calling("open_door", which="a")
    bot = with_tools(agent([call, call, "Twice."]), door)
    own = session(bot)
    (question_,) = asked(say(bot, own, "Open it twice.")).questions
    assert done(list(bot.resume(own, {question_.id: ALWAYS}))).answer == "Twice."
    assert door.opened == ["a", "a"]


def test_the_same_call_id_in_the_next_round_is_asked_again(agent: OpenAgent, session: NewSession, door: Door) -> None:
    call = calling("open_door", which="a")
    bot = with_tools(agent([call, call, "Twice."]), door)
    own = session(bot)
    (first,) = asked(say(bot, own, "Open it twice.")).questions
    (second,) = asked(list(bot.resume(own, {first.id: YES}))).questions
    assert first.id != second.id
    assert done(list(bot.resume(own, {second.id: NO}))).answer == "Twice."
    assert door.opened == ["a"]


def test_a_running_tool_may_ask(agent: OpenAgent, session: NewSession) -> None:
    calls = two(("calculate", {"expression": "6*7"}), ("book", {"place": "Seoul"}))
    bot = with_tools(agent([calls, "Booked."]), Form())
    own = session(bot)
    (question_,) = asked(say(bot, own, "Book a table.")).questions
    assert (question_.kind, question_.text) == ("form", "How many?")
    assert done(list(bot.resume(own, {question_.id: UserAnswer("answer", {"persons": 4})}))).answer == "Booked."
    assert sorted(results(prompts(bot)[-1])) == ["6*7 = 42", "booked for 4"]


def test_the_model_asks_the_user(agent: OpenAgent, session: NewSession) -> None:
    call = calling("ask_user", question="Which day?", choices=["Monday", "Tuesday"])
    bot = agent([call, "Monday it is."])
    own = session(bot)
    (question_,) = asked(say(bot, own, "Book a table.")).questions
    assert (question_.kind, question_.text, question_.choices) == ("choose", "Which day?", ("Monday", "Tuesday"))
    assert done(list(bot.resume(own, {question_.id: UserAnswer("answer", "Monday")}))).answer == "Monday it is."
    assert results(prompts(bot)[-1]) == ["Monday"]


def test_a_question_that_is_refused_tells_the_model_so(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([calling("ask_user", question="Which day?"), "Some day."])
    own = session(bot)
    asked(say(bot, own, "Book a table."))
    done(list(bot.resume(own, {})))
    assert results(prompts(bot)[-1]) == ["The user said no. Go on without it."]


def test_a_new_message_instead_is_a_no(agent: OpenAgent, session: NewSession, door: Door) -> None:
    bot = with_tools(agent([calling("open_door", which="front"), answering, answering]), door)
    own = session(bot)
    asked(say(bot, own, "Open the front door."))
    done(say(bot, own, question(2)))
    assert door.opened == []
    row = bot.store.turn(own, 1)
    assert row is not None
    assert (row.status, row.questions, row.answer) == ("stopped", [], "")
    assert bot.store.turn(own, 2)
    assert not bot.snapshot(own).interrupts
    talk(bot, own, [3])
    assert [message.type for message in prompts(bot)[-1]][1:6] == ["human", "ai", "tool", "ai", "human"]


def test_a_stop_ends_the_wait(agent: OpenAgent, session: NewSession, door: Door) -> None:
    bot = with_tools(agent([calling("open_door", which="front")]), door)
    own = session(bot)
    asked(say(bot, own, "Open it."))
    bot.stop(own)
    row = bot.store.turn(own, 1)
    assert row is not None
    assert row.status == "stopped"
    with pytest.raises(NothingToAnswer):
        list(bot.resume(own, {}))


def test_only_a_turn_that_waits_can_be_answered(agent: OpenAgent, session: NewSession, door: Door) -> None:
    bot = with_tools(agent([answering, calling("open_door", which="a")]), door)
    own = session(bot)
    with pytest.raises(NothingToAnswer):
        list(bot.resume(own, {}))
    talk(bot, own, [1])
    with pytest.raises(NothingToAnswer):
        list(bot.resume(own, {}))
    asked(say(bot, own, "Open it."))
    with pytest.raises(NothingToRetry):
        list(bot.retry(own))


def test_a_door_that_cannot_ask_refuses_with_a_reason(agent: OpenAgent, session: NewSession, door: Door) -> None:
    calls = two(("open_door", {"which": "front"}), ("book", {}))
    bot = with_tools(agent([calls, "I may not."]), door, Form())
    own = session(bot)
    end = bot.turn(Request(own, "new", "Open it.", asks=False), threading.Event(), lambda event: None)
    assert done([end]).answer == "I may not."
    refused = "The user must allow this tool first, and can do so only in the app."
    assert sorted(results(prompts(bot)[-1])) == [refused, "not booked"]
    bound = scripted(bot.models().chat).bound_arguments[-1]["tools"]
    assert "ask_user" not in [tool["function"]["name"] for tool in bound]


def test_another_branch_leaves_the_question_behind(agent: OpenAgent, session: NewSession, door: Door) -> None:
    bot = with_tools(agent([calling("open_door", which="front"), answering]), door)
    own = session(bot)
    asked(say(bot, own, "Open it."))
    done(list(bot.again(own, 1, question(1))))
    assert not bot.snapshot(own).interrupts
    row = bot.store.turn(own, 1)
    assert row is not None
    assert row.status == "done"


def test_a_waiting_turn_waits_through_a_restart(agent: OpenAgent, session: NewSession, door: Door) -> None:
    bot = with_tools(agent([calling("open_door", which="front")]), door)
    own = session(bot)
    (question_,) = asked(say(bot, own, "Open it.")).questions
    bot.close()
    reopened = with_tools(agent(["Open now."]), door)
    assert reopened.reconcile(own)
    assert done(list(reopened.resume(own, {question_.id: YES}))).answer == "Open now."
    assert door.opened == ["front"]


def test_a_state_that_is_lost_is_asked_again(agent: OpenAgent, session: NewSession, door: Door) -> None:
    bot = with_tools(agent([calling("open_door", which="front")] * 2), door)
    own = session(bot)
    (question_,) = asked(say(bot, own, "Open it.")).questions
    bot.checkpoints.saver.delete_thread(own)
    (again,) = asked(list(bot.resume(own, {question_.id: YES}))).questions
    assert again.arguments == {"which": "front"}
    assert door.opened == []


@pytest.mark.parametrize("place", ["before_row", "after_answer", "in_tool"])
def test_kill_9_loses_neither_question_nor_answer(agent: OpenAgent, session: NewSession, place: str) -> None:
    """``before_row``: the question stands in the state alone. ``after_answer``: the answer may be written or not; if
    not, the question is open again. ``in_tool``: the tool runs again."""
    bot = agent()
    own = session(bot)
    folder = str(bot.settings.data_dir)
    assert end(start(waiting.main, folder, own, place)) == -signal.SIGKILL
    door = Door()
    bot = with_tools(agent(["Open now."]), door)
    assert bot.reconcile(own)
    row = bot.store.turn(own, 1)
    assert row is not None
    assert place == "after_answer" or row.status == ("waiting" if place == "before_row" else "running")
    if row.status == "waiting":
        assert done(list(bot.resume(own, {row.questions[0]["id"]: YES}))).answer == "Open now."
    else:
        assert done(list(bot.retry(own))).answer == "Open now."
    assert door.opened == ["front"]


def test_an_answer_that_was_cut_off_is_not_taken_for_the_next_question(agent: OpenAgent, session: NewSession) -> None:
    """Killed right after the user's yes, then a new message: its question must be asked."""
    bot = agent()
    own = session(bot)
    assert end(start(waiting.main, str(bot.settings.data_dir), own, "after_answer")) == -signal.SIGKILL
    door = Door()
    bot = with_tools(agent([calling("open_door", which="back"), "Open."]), door)
    (question_,) = asked(say(bot, own, "Open the back door instead.")).questions
    assert question_.arguments == {"which": "back"}
    assert door.opened == []
    assert done(list(bot.resume(own, {question_.id: YES}))).answer == "Open."
    assert door.opened == ["back"]


def test_a_waiting_turn_is_not_remembered_yet(agent: OpenAgent, session: NewSession, door: Door) -> None:
    bot = with_tools(agent([calling("open_door", which="front"), "It is open."]), door)
    own = session(bot)
    asked(say(bot, own, "Open it."))
    assert bot.store.session(own).history_tokens == 0
    exported = bot.export_session(own)
    assert '"status": "waiting"' not in exported
