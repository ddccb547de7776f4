"""Foreign tools in a turn, on a real server: asked for first, waiting for what the server wants, marked as foreign."""

from __future__ import annotations

import signal
import sys
from typing import Any

import pytest

from graph.context.preview import build_upcoming_prompt, preview_next_prompt
from graph.turn.agent import Agent
from graph.turn.event import ToolFinished
from model.profile import SMALL
from store.turn.question import UserAnswer
from tests.graph import killed
from tests.graph.conftest import OpenAgent
from tests.graph.talk import answering, calling, done, only, prompts, say, scripted
from tests.graph.test_conversation import NewSession
from tests.graph.test_waiting import ALWAYS, YES, asked, results
from tests.host.conftest import SERVER, STATELESS
from tests.process import end, start


def with_server(bot: Agent, mode: str = "stdio", **fields: Any) -> Agent:
    assert bot.host is not None
    bot.host.servers.put("t", {"command": sys.executable, "args": [str(SERVER), mode], **fields})
    return bot


def bound(bot: Agent) -> list[str]:
    return [tool["function"]["name"] for tool in scripted(bot.models().chat).bound_arguments[-1]["tools"]]


def test_the_user_allows_a_tool_and_it_runs(agent: OpenAgent, session: NewSession) -> None:
    call = calling("t__add", a=2, b=3)
    bot = with_server(agent([call, "It is 5.", call, "5 again."]))
    own = session(bot)
    (question,) = asked(say(bot, own, "Add two and three.")).questions
    assert (question.kind, question.server, question.arguments) == ("approve", "t", {"a": 2, "b": 3})
    events = list(bot.resume(own, {question.id: ALWAYS}))
    assert done(events).answer == "It is 5."
    assert [(step.result, step.foreign) for step in only(events, ToolFinished)] == [("5", True)]
    assert "t__add" in bound(bot)
    assert done(say(bot, own, "Add them once more, please.")).answer == "5 again."
    row = bot.store.turn(own, 1)
    assert row is not None


def test_the_turn_waits_for_what_the_server_asks(agent: OpenAgent, session: NewSession) -> None:
    bot = with_server(agent([calling("t__book", place="Seoul"), "Booked."]), "legacy")
    own = session(bot)
    (approve,) = asked(say(bot, own, "Book a table in Seoul.")).questions
    (form,) = asked(list(bot.resume(own, {approve.id: YES}))).questions
    assert (form.kind, form.text) == ("form", "How many at Seoul?")
    (second,) = asked(list(bot.resume(own, {form.id: UserAnswer("answer", {"persons": 2})}))).questions
    assert second.text == "Which seat?"
    assert done(list(bot.resume(own, {}))).answer == "Booked."
    assert results(prompts(bot)[-1]) == ["booked Seoul for 2, any"]


def test_a_question_that_is_left_behind_frees_its_server(agent: OpenAgent, session: NewSession) -> None:
    script = [calling("t__book", place="Seoul"), answering]
    bot = with_server(agent(script), "legacy", tools={"book": "allow"})
    own = session(bot)
    asked(say(bot, own, "Book a table in Seoul."))
    assert bot.host is not None
    pool = bot.host._known["t"].pool
    assert len(pool._used) == 1
    done(say(bot, own, "Never mind, tell me a story instead."))
    assert pool._used == set()
    assert bot.host._calls._waiting == {}


@pytest.mark.parametrize(("tool", "times"), [("order", 1), ("inspect", 2)])
def test_a_call_that_was_cut_off_is_not_run_again_unless_it_does_no_harm(
    agent: OpenAgent, session: NewSession, tool: str, times: int
) -> None:
    bot = agent([answering], memory=False)
    own, folder = session(bot), bot.settings.data_dir
    assert bot.host is not None
    entry = {"command": sys.executable, "args": [str(SERVER), "stdio", str(folder)], "tools": {tool: "allow"}}
    bot.host.servers.put("t", entry)
    (folder / "kill").touch()
    assert end(start(killed.foreign, str(folder), own, f"t__{tool}")) == -signal.SIGKILL
    assert (folder / tool).read_text() == "x"
    bot.reconcile(own)
    done(list(bot.retry(own)))
    assert (folder / tool).read_text() == "x" * times
    [result] = results(prompts(bot)[-1])
    assert (f"{tool}: done" if times == 2 else "may have run already") in result


def test_a_call_that_was_cut_off_after_its_question_was_answered_is_not_run_again(
    agent: OpenAgent, session: NewSession
) -> None:
    bot = agent([calling("t__book", place="Seoul")], memory=False)
    own, folder = session(bot), bot.settings.data_dir
    assert bot.host is not None
    entry = {"command": sys.executable, "args": [str(STATELESS), "stdio", str(folder)], "tools": {"book": "allow"}}
    bot.host.servers.put("t", entry)
    form, _ = asked(say(bot, own, "Book a table in Seoul.")).questions
    bot.close()
    (folder / "kill").touch()
    assert end(start(killed.foreign_answer, str(folder), own, form.id, 2)) == -signal.SIGKILL
    assert (folder / "book").read_text() == "x"
    bot = agent([answering], memory=False)
    bot.reconcile(own)
    done(list(bot.retry(own)))
    assert (folder / "book").read_text() == "x"
    [result] = results(prompts(bot)[-1])
    assert "may have run already" in result


@pytest.mark.parametrize("tool", ["order", "inspect"])
def test_a_new_message_after_a_call_that_was_cut_off_says_that_it_may_have_run(
    agent: OpenAgent, session: NewSession, tool: str
) -> None:
    bot = agent([answering], memory=False)
    own, folder = session(bot), bot.settings.data_dir
    assert bot.host is not None
    entry = {"command": sys.executable, "args": [str(SERVER), "stdio", str(folder)], "tools": {tool: "allow"}}
    bot.host.servers.put("t", entry)
    (folder / "kill").touch()
    assert end(start(killed.foreign, str(folder), own, f"t__{tool}")) == -signal.SIGKILL
    shown, _ = build_upcoming_prompt(bot, own)
    done(say(bot, own, "Good morning, what happened?"))
    [result] = results(prompts(bot)[-1])
    assert ("may have run already" in result) == (tool == "order")
    assert results(shown.messages) == [result]


def test_the_next_turn_may_call_it_again(agent: OpenAgent, session: NewSession) -> None:
    call = calling("t__add", a=2, b=3)
    bot = with_server(agent([call, "5", call, "5"]), tools={"add": "allow"})
    own = session(bot)
    for text in ("Add two and three.", "Once more, please, two and three."):
        done(say(bot, own, text))
        assert results(prompts(bot)[-1])[-1] == "5"


@pytest.mark.parametrize("tool", ["die", "refuse"])
def test_a_server_that_fails_fails_the_call_and_not_the_turn(agent: OpenAgent, session: NewSession, tool: str) -> None:
    bot = with_server(agent([calling(f"t__{tool}"), "It did not work."]), tools={tool: "allow"})
    events = say(bot, session(bot), "Do it, whatever it takes.")
    assert done(events).answer == "It did not work."
    assert [step.ok for step in only(events, ToolFinished)] == [False]


def test_a_server_that_is_away_takes_nothing_from_the_turn(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([answering])
    assert bot.host is not None
    bot.host.servers.put("gone", {"command": "/no/such/program"})
    done(say(bot, session(bot), "Tell me a long story about it."))
    assert bound(bot) == ["current_time", "calculate", "ask_user"]
    assert bot.host.states()[0].error


def test_a_small_model_gets_the_tool_that_the_user_names(agent: OpenAgent, session: NewSession) -> None:
    bot = with_server(agent(['{"a": 2, "b": 3}', "It is 5."], profile=SMALL), tools={"add": "allow"})
    own = session(bot)
    events = say(bot, own, "/tool t__add two and three")
    assert done(events).answer == "It is 5."
    assert [step.result for step in only(events, ToolFinished)] == ["5"]


def test_the_preview_counts_the_tools_that_are_known(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([answering, answering])
    own = session(bot)
    done(say(bot, own, "Tell me a long story about it."))
    before = preview_next_prompt(bot, own).report
    with_server(bot)
    assert bot.host is not None
    bot.host.test("t")
    assert preview_next_prompt(bot, own).report.total_tokens > before.total_tokens + 100


def test_the_report_tells_where_the_tools_broke_the_prefix(agent: OpenAgent, session: NewSession) -> None:
    bot = agent([answering] * 3)
    own = session(bot)
    done(say(bot, own, "Tell me a long story about it."))
    done(say(bot, own, "Tell me another long story about it."))
    with_server(bot)
    done(say(bot, own, "Tell me a third long story about it."))
    first, second, third = (report["tools"] for _, report in sorted(bot.store.reports(own, range(1, 4)).items()))
    assert first == second != third
