"""The form of messages: what every server takes, and what a strict one wants, learned once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

import errors
from model.call import stream
from model.call.message_form import BEGINNING, make_strict, tidy_messages
from model.raw import RawClient, Upstream
from tests.model.conftest import Connect
from tests.stub import reply
from tests.stub.upstream import Upstream as Stub
from tests.table import table

Json = dict[str, Any]


def say(line: str) -> Json:
    """A message as «role: content»; «role:» has no text and «role!» no content."""
    role, _, text = line.partition(": ")
    if role.endswith("!"):
        return {"role": role[:-1], "content": None}
    return {"role": role.rstrip(":"), "content": text}


def shown(messages: list[Any]) -> list[str]:
    return [f"{message['role']}: {message['content']}" for message in messages]


@table(
    ("given", "expected"),
    [
        (["system: A", "system: B", "user: x"], ["system: A\n\nB", "user: x"]),
        (["system: A", "developer: B", "user: x"], ["system: A\n\nB", "user: x"]),
        (["system: A", "user: x", "system: B", "user: y"], ["system: A", "user: x", "system: B", "user: y"]),
        (["user: x", "assistant:", "user: y"], ["user: x", "user: y"]),
        (["user: x", "assistant!", "user: y"], ["user: x", "user: y"]),
        (["user: x", "assistant: a", "user:"], ["user: x", "assistant: a", "user: "]),
        (["system: A"], ["system: A"]),
        ([], []),
    ],
)
def test_every_server_gets_one_system_message_first_and_no_silent_answer(given: list[str], expected: list[str]) -> None:
    assert shown(tidy_messages([say(line) for line in given])) == expected


@table(
    ("given", "expected"),
    [
        (
            ["system: A", "user: x", "assistant: a", "system: B", "user: y"],
            ["system: A", "user: x", "assistant: a", "user: B\n\ny"],
        ),
        (["system: A", "user: x", "user: y"], ["system: A", "user: x\n\ny"]),
        (["system: A", "assistant: a", "user: y"], ["system: A", f"user: {BEGINNING}", "assistant: a", "user: y"]),
        (["user: x", "system: B", "assistant: a"], ["user: x\n\nB", "assistant: a"]),
        (["user: x", "assistant: a", "system: B"], ["user: x", "assistant: a", "user: B"]),
        (["user: x", "assistant:", "user: y"], ["user: x\n\ny"]),
        (["user: x", "assistant: a", "assistant: b", "user: y"], ["user: x", "assistant: a\n\nb", "user: y"]),
    ],
)
def test_a_strict_server_gets_turns_that_alternate(given: list[str], expected: list[str]) -> None:
    assert shown(make_strict([say(line) for line in given])) == expected


def test_calls_results_pictures_and_marks_stay() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    result = {"role": "tool", "content": "sunny", "tool_call_id": "1"}
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}
    mark = {"role": "system", "content": [{"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}]}
    made = make_strict([mark, say("system: B"), say("user: x"), call, result, say("system: C"), picture])
    assert made[0]["content"] == [*mark["content"], {"type": "text", "text": "B"}]
    assert made[1:4] == [say("user: x"), call, result]
    assert made[4]["content"] == [{"type": "text", "text": "C"}, *picture["content"]]
    field = {**say("system: B"), "cache_control": {"type": "ephemeral"}}
    assert tidy_messages([say("system: A"), field]) == [{**field, "content": "A\n\nB"}]
    assert tidy_messages([say("system!"), say("system: B")]) == [say("system: B")]
    assert tidy_messages([call, result, 7, {"role": "assistant", "content": "", "audio": {"id": "a"}}])[-1]["audio"]


def refuse_as_mistral(body: Json) -> reply.Reply:
    """A chat template that takes one system message, at the front, and roles that alternate."""
    roles = [message["role"] for message in body["messages"]]
    rest = roles[1:] if roles[0] == "system" else roles
    if rest != ["user", "assistant"] * (len(rest) // 2) + ["user"] * (len(rest) % 2):
        return reply.failed(400, "invalid_request", message="Conversation roles must alternate user/assistant")
    return reply.said("Fine.")


TOLD = [
    say(line) for line in ("system: A", "system: B", "assistant: a", "user: x", "assistant:", "system: C", "user: y")
]


def test_a_clients_messages_reach_a_strict_server_which_is_asked_twice_once() -> None:
    with Stub(always=refuse_as_mistral) as upstream:
        client = RawClient(Upstream(upstream.url, "", "stub-model", 30))
        for _ in range(2):
            with client.ask({"model": "m", "messages": TOLD, "stream": True}, threading.Event()) as answer:
                assert answer.status == 200
                assert "Fine." in "".join(answer.events())
        assert [shown(request.body["messages"]) for request in upstream.requests][1:] == [
            ["system: A\n\nB", f"user: {BEGINNING}", "assistant: a", "user: x\n\nC\n\ny"]
        ] * 2
        assert len(upstream.requests) == 3


def test_our_own_messages_reach_one_too(connect: Connect, upstream: Stub) -> None:
    upstream.always = refuse_as_mistral
    messages = [SystemMessage("A"), HumanMessage("x"), AIMessage("a"), SystemMessage("B"), HumanMessage("y")]
    for _ in range(2):
        assert stream.complete_answer(connect(), messages).text == "Fine."
    assert [len(request.body["messages"]) for request in upstream.requests] == [5, 4, 4]


@pytest.mark.parametrize("door", ["ours", "raw"])
def test_calls_that_are_refused_at_once_all_get_the_strict_form(connect: Connect, door: str) -> None:
    both = threading.Barrier(2, timeout=60)

    def refuse_both(body: Json) -> reply.Reply:
        refusal = refuse_as_mistral(body)
        if refusal.status != 200:
            both.wait()
        return refusal

    with Stub(always=refuse_both) as upstream:
        client, chat = RawClient(Upstream(upstream.url, "", "stub-model", 30)), connect(url=upstream.url)

        def call(_: int) -> str:
            if door == "ours":
                return str(
                    stream.complete_answer(chat, [SystemMessage("A"), HumanMessage("x"), HumanMessage("y")]).text
                )
            with client.ask({"messages": TOLD}, threading.Event()) as answer:
                return str(answer.status)

        with ThreadPoolExecutor(2) as pool:
            assert [*pool.map(call, range(2))] == ["Fine." if door == "ours" else "200"] * 2


@pytest.mark.parametrize("message", ["The system is overloaded.", "max_tokens is too large"])
def test_a_refusal_of_something_else_is_told_as_it_was_and_changes_nothing(
    connect: Connect, upstream: Stub, message: str
) -> None:
    upstream.always = reply.failed(400, "other", message=message)
    client = RawClient(Upstream(upstream.url, "", "stub-model", 30))
    with client.ask({"messages": TOLD}, threading.Event()) as answer:
        assert (answer.status, message in answer.whole().decode()) == (400, True)
        assert list(answer.events()) == []
    messages = [SystemMessage("A"), HumanMessage("x"), AIMessage("a"), SystemMessage("B"), HumanMessage("y")]
    with pytest.raises(errors.RequestRejected):
        stream.complete_answer(connect(), messages)
    upstream.always = reply.said("Fine.")
    with client.ask({"messages": TOLD}, threading.Event()):
        pass
    assert shown(upstream.requests[-1].body["messages"])[-2:] == ["system: C", "user: y"]
    assert stream.complete_answer(connect(), messages).text == "Fine."
    assert len(upstream.requests[-1].body["messages"]) == 5


@pytest.mark.parametrize("door", ["ours", "raw"])
def test_a_try_without_an_answer_teaches_nothing(connect: Connect, upstream: Stub, door: str) -> None:
    upstream.always = reply.said("Fine.")
    strict = reply.failed(400, "invalid_request", message="Conversation roles must alternate user/assistant")
    client, chat = RawClient(Upstream(upstream.url, "", "stub-model", 1)), connect(model_timeout=1)
    messages = [SystemMessage("A"), HumanMessage("x"), AIMessage("a"), SystemMessage("B"), HumanMessage("y")]

    def ask() -> None:
        if door == "ours":
            stream.complete_answer(chat, messages)
            return
        with client.ask({"messages": TOLD}, threading.Event()) as answer:
            answer.whole()

    upstream.add(strict, reply.said("Too late.").but(silence=3600))
    with pytest.raises(errors.UpstreamError):
        ask()
    ask()
    roles = [message["role"] for message in upstream.requests[-1].body["messages"]]
    assert roles[-2:] == ["system", "user"], "the form that every server takes"
