"""A process that ends, and a second one beside it: no task is lost, whoever asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from a2a.client import Client
from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest, TaskState

from bench.server import Server
from door.a2a.message.form import answer_of
from tests.door.a2a.place import Place, answer_in, request, slow, words
from tests.door.openai.running import CALM, served
from tests.stub.reply import called, said
from tests.stub.upstream import Upstream


def at(server: Server) -> Place:
    """How another agent speaks to a process."""
    nothing: Any = None
    return Place(server.url.removesuffix("/v1"), nothing, nothing, nothing)


def begun(opened: Place, upstream: Upstream, name: str) -> None:
    """Begins a task whose answer takes long; returns once something was said."""
    upstream.add(slow(400))
    events = opened.stream("tasks/sendSubscribe", {"id": name, "sessionId": name, "message": words("Slowly, please")})
    while "artifact" not in next(events)["result"]:
        pass


def test_a_killed_process_leaves_a_failed_task_that_may_be_tried_again(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream.url, **CALM) as server:
        begun(at(server), upstream, "t")
        assert at(server).early("tasks/get", id="t")["status"]["state"] == "working"
        server.kill()
    with served(tmp_path, upstream.url, **CALM) as server:
        task = at(server).early("tasks/get", id="t")
        assert task["status"]["state"] == "failed"
        assert task["metadata"]["gieok"]["code"] == "interrupted"
        assert task["metadata"]["gieok"]["retryable"] is True
        (reason,) = task["status"]["message"]["parts"]
        assert "has ended before the answer did" in reason["text"]
        assert "Send the message again" in reason["text"]
        upstream.add(said("At last."))
        again = at(server).early("tasks/send", id="t", message=words("Slowly, please"))
        assert (again["status"]["state"], answer_in(again)) == ("completed", "At last.")


def test_who_follows_a_task_again_after_a_restart_hears_that_it_has_ended(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream.url, **CALM) as server:
        begun(at(server), upstream, "t")
        server.kill()
    with served(tmp_path, upstream.url, **CALM) as server:
        refusal = at(server).rpc("tasks/resubscribe", {"id": "t"})["error"]
        assert (refusal["code"], "t" in refusal["message"]) == (-32004, True), refusal
        assert at(server).early("tasks/get", id="t")["status"]["state"] == "failed"


def test_a_process_that_is_told_to_end_leaves_one_too(tmp_path: Path, upstream: Upstream) -> None:
    with served(tmp_path, upstream.url, 0.5, **CALM) as server:
        begun(at(server), upstream, "t")
        server.process.terminate()
        server.process.wait(60)
    with served(tmp_path, upstream.url, **CALM) as server:
        task = at(server).early("tasks/get", id="t")
        assert task["status"]["state"] == "failed"
        assert task["metadata"]["gieok"]["retryable"] is True
        assert answer_in(task), "what was said is kept"


def test_a_killed_process_leaves_a_waiting_task_waiting(tmp_path: Path, upstream: Upstream) -> None:
    upstream.add(called("ask_user", {"question": "Which one?", "choices": ["red", "blue"]}), said("Blue."))
    with served(tmp_path, upstream.url, **CALM) as server:
        assert at(server).early("tasks/send", id="t", message=words("Paint."))["status"]["state"] == "input-required"
        server.kill()
    with served(tmp_path, upstream.url, **CALM) as server:
        assert at(server).early("tasks/get", id="t")["status"]["state"] == "input-required"
        done = at(server).early("tasks/send", id="t", message=words("blue"))
        assert (done["status"]["state"], answer_in(done)) == ("completed", "Blue.")


@dataclass(frozen=True)
class Two:
    """Two processes on one database."""

    first: Place
    second: Place
    servers: tuple[Server, Server]
    upstream: Upstream


@pytest.fixture(params=["sqlite", "postgresql"])
def two(request: pytest.FixtureRequest, tmp_path: Path, upstream: Upstream) -> Iterator[Two]:
    with ExitStack() as stack:
        shared = dict(CALM)
        if request.param == "postgresql":
            shared["DATABASE_URL"] = request.getfixturevalue("postgres")
        servers = [stack.enter_context(served(tmp_path, upstream.url, **shared)) for _ in range(2)]
        yield Two(at(servers[0]), at(servers[1]), (servers[0], servers[1]), upstream)


def test_a_task_of_one_process_is_read_followed_and_cancelled_through_the_other(two: Two) -> None:
    begun(two.first, two.upstream, "early")
    assert two.second.early("tasks/get", id="early")["status"]["state"] == "working"
    events = two.second.stream("tasks/resubscribe", {"id": "early"})
    assert next(events)["result"]["status"]["state"] == "working"
    first = next(event for event in events if "artifact" in event["result"])  # a look at the state may come before
    assert first["result"]["artifact"]["parts"][0]["text"]
    task = two.second.early("tasks/cancel", id="early")
    assert task["status"]["state"] == "canceled"
    assert list(events)[-1]["result"]["status"]["state"] == "canceled"
    assert two.first.early("tasks/get", id="early") == two.second.early("tasks/get", id="early")
    assert answer_in(task)


def test_the_official_clients_of_two_processes_see_the_same(two: Two) -> None:
    two.upstream.add(slow(400))

    async def work(first: Client, second: Client) -> None:
        stream = first.send_message(request("Slowly, please"))
        number = ""
        async for event in stream:
            number = number or event.task.id
            if event.HasField("artifact_update"):
                break
        follower = second.subscribe(SubscribeToTaskRequest(id=number))
        before = answer_of((await anext(follower)).task)
        piece = (await anext(follower)).artifact_update
        assert piece.append == bool(before), "the answer may have begun since the first process wrote it last"
        assert piece.artifact.parts[0].text.startswith(" word" if before else "word")
        assert (await second.cancel_task(CancelTaskRequest(id=number))).status.state == TaskState.TASK_STATE_CANCELED
        rest = [event async for event in stream]
        assert rest[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED
        kept = [await client.get_task(GetTaskRequest(id=number)) for client in (first, second)]
        assert kept[0] == kept[1]

    async def run() -> None:
        async with two.first.client() as first, two.second.client() as second:
            await work(first, second)

    asyncio.run(run())


def test_a_task_that_waits_is_answered_through_the_other_process(two: Two) -> None:
    two.upstream.add(called("ask_user", {"question": "Which one?", "choices": ["red", "blue"]}), said("Blue."))
    assert two.first.early("tasks/send", id="t", message=words("Paint."))["status"]["state"] == "input-required"
    done = two.second.early("tasks/send", id="t", message=words("blue"))
    assert (done["status"]["state"], answer_in(done)) == ("completed", "Blue.")
    assert two.first.early("tasks/get", id="t", historyLength=9)["status"]["state"] == "completed"
    assert two.first.early("tasks/send", id="t", message=words("More."))["status"]["state"] == "completed"


def test_the_other_process_sees_that_one_was_killed(two: Two) -> None:
    begun(two.first, two.upstream, "t")
    two.servers[0].kill()
    two.servers[0].process.wait(60)
    task = two.second.early("tasks/get", id="t")
    assert (task["status"]["state"], task["metadata"]["gieok"]["code"]) == ("failed", "interrupted")
