"""The official client of version 1.0, over JSON-RPC and REST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from a2a.client import Client
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import encode_list_tasks_cursor

from door.a2a.message.form import answer_of, build_proto_struct, read_gieok_entry, read_proto_data
from door.a2a.task.task import after_page, cursor_at
from store.task.task import TaskRow
from tests.door.a2a.place import Place, request, send, slow
from tests.stub.reply import said

JOKE = "Why did the chicken cross the road? To get to the other side!"
BINDINGS = [["JSONRPC"], ["HTTP+JSON"]]


def states(events: list[StreamResponse]) -> Sequence[int]:
    shown = [event.status_update.status.state for event in events if event.HasField("status_update")]
    return [event.task.status.state for event in events if event.HasField("task")] + shown


def streamed(events: list[StreamResponse]) -> str:
    pieces = [event.artifact_update.artifact for event in events if event.HasField("artifact_update")]
    return "".join(part.text for piece in pieces if piece.artifact_id == "answer" for part in piece.parts)


def task_id(events: list[StreamResponse]) -> tuple[str, str]:
    return events[0].task.id, events[0].task.context_id


@pytest.mark.parametrize("bindings", BINDINGS)
def test_a_conversation_of_two_tasks(opened: Place, bindings: list[str]) -> None:
    async def work(client: Client) -> None:
        first = await send(client, request("농담 하나 해 줘"))
        assert states(first) == [
            TaskState.TASK_STATE_SUBMITTED,
            TaskState.TASK_STATE_WORKING,
            TaskState.TASK_STATE_COMPLETED,
        ]
        assert streamed(first) == JOKE
        number, context = task_id(first)
        opened.upstream.add(said("한 번 더."))
        again = request("Another?", context)
        again.message.metadata.update({"gieok": {"report": True}})
        second = await send(client, again)
        assert task_id(second)[1] == context
        assert streamed(second) == "한 번 더."
        task = await client.get_task(GetTaskRequest(id=number))
        assert answer_of(task) == JOKE
        assert len(task.artifacts[0].parts) == 1
        assert [one.artifact_id for one in task.artifacts] == ["answer"], "the report comes to those who ask for it"
        asked_for = await client.get_task(GetTaskRequest(id=task_id(second)[0]))
        (report,) = [one for one in asked_for.artifacts if one.artifact_id == "report"]
        assert read_proto_data(report.parts[0].data)["session"] == context
        assert task.history[0].parts[0].text == "농담 하나 해 줘"
        with pytest.raises(UnsupportedOperationError):
            await send(client, request("More?", "", number))

    opened.talk(work, supported_protocol_bindings=bindings)
    (session,) = opened.agent.store.sessions()
    assert [turn.question for turn in opened.agent.store.turns(session.id)] == ["농담 하나 해 줘", "Another?"]


def test_an_answer_without_a_stream(opened: Place) -> None:
    async def work(client: Client) -> Task:
        (event,) = await send(client, request("Hello"))
        return event.task

    task = opened.talk(work, streaming=False)
    assert (task.status.state, answer_of(task)) == (TaskState.TASK_STATE_COMPLETED, JOKE)
    assert len(task.artifacts[0].parts) == 1


@pytest.mark.parametrize("bindings", BINDINGS)
def test_a_task_goes_on_without_its_client_and_is_followed_and_cancelled(opened: Place, bindings: list[str]) -> None:
    opened.upstream.add(slow())

    async def work(client: Client) -> None:
        stream: Any = client.send_message(request("Slowly, please"))
        number = ""
        async for event in stream:
            number = number or event.task.id
            if event.HasField("artifact_update"):
                break
        await stream.aclose()
        follower = client.subscribe(SubscribeToTaskRequest(id=number))
        assert (await anext(follower)).task.status.state == TaskState.TASK_STATE_WORKING
        assert (await anext(follower)).HasField("artifact_update")
        task = await client.cancel_task(CancelTaskRequest(id=number))
        assert task.status.state == TaskState.TASK_STATE_CANCELED
        rest = [event async for event in follower]
        assert states(rest)[-1] == TaskState.TASK_STATE_CANCELED
        kept = await client.get_task(GetTaskRequest(id=number))
        assert kept.status.state == TaskState.TASK_STATE_CANCELED
        (session,) = opened.agent.store.sessions()
        turn = opened.agent.store.turns(session.id)[0]
        assert (turn.status, turn.answer) == ("stopped", answer_of(kept))
        assert turn.answer

    opened.talk(work, supported_protocol_bindings=bindings)


def test_tasks_of_a_session_wait_for_each_other_ten_at_most(opened: Place) -> None:
    opened.upstream.add(slow(400))
    opened.upstream.always = said("Later.")

    async def work(client: Client) -> None:
        sent: list[Task] = []
        for number in range(12):
            message = request(f"Number {number}", "one context")
            message.configuration.return_immediately = True
            (event,) = await send(client, message)
            sent.append(event.task)
            if number == 0:
                while (await client.get_task(GetTaskRequest(id=event.task.id))).status.state == 1:
                    pass
        while (last := await client.get_task(GetTaskRequest(id=sent[-1].id))).status.state == 1:
            pass
        assert last.status.state == TaskState.TASK_STATE_REJECTED
        assert read_gieok_entry(last.metadata)["code"] == "too_many_tasks"
        waiting = await client.get_task(GetTaskRequest(id=sent[5].id))
        assert waiting.status.state == TaskState.TASK_STATE_SUBMITTED
        gone = await client.cancel_task(CancelTaskRequest(id=sent[5].id))
        assert gone.status.state == TaskState.TASK_STATE_CANCELED
        await client.cancel_task(CancelTaskRequest(id=sent[0].id))
        while (done := await client.get_task(GetTaskRequest(id=sent[10].id))).status.state in (1, 2):
            pass
        assert done.status.state == TaskState.TASK_STATE_COMPLETED

    opened.talk(work, streaming=False)
    session = opened.agent.store.find_session("one context")
    assert session is not None
    asked = [turn.question for turn in opened.agent.store.turns(session.id)]
    assert asked == [f"Number {number}" for number in range(11) if number != 5]


def test_tasks_are_listed_page_by_page(opened: Place) -> None:
    async def work(client: Client) -> None:
        for number in range(5):
            await send(client, request(f"Task {number}", f"context {number % 2}"))
        seen: list[str] = []
        token = ""
        while True:
            page = await client.list_tasks(ListTasksRequest(page_size=2, page_token=token))
            assert page.total_size == 5
            seen += [task.history[0].parts[0].text for task in page.tasks]
            token = page.next_page_token
            if not token:
                break
        assert seen == [f"Task {number}" for number in (4, 3, 2, 1, 0)]
        page = await client.list_tasks(ListTasksRequest(context_id="context 1", status=TaskState.TASK_STATE_COMPLETED))
        assert {task.context_id for task in page.tasks} == {"context 1"}
        assert page.total_size == 2
        assert not (await client.list_tasks(ListTasksRequest(status=TaskState.TASK_STATE_WORKING))).tasks
        with pytest.raises(InvalidParamsError):
            await client.list_tasks(ListTasksRequest(page_token="nonsense"))

    opened.talk(work)


def test_an_export_is_a_file(opened: Place) -> None:
    async def work(client: Client) -> Any:
        message = request("Hello")
        message.metadata.update(build_proto_struct({"gieok": {"export": "session"}}))
        events = await send(client, message)
        return await client.get_task(GetTaskRequest(id=events[0].task.id))

    task = opened.talk(work)
    (export,) = [one for one in task.artifacts if one.artifact_id == "session"]
    part = export.parts[0]
    assert part.media_type == "application/json"
    assert JOKE.encode() in part.raw
    assert opened.agent.import_sessions(part.raw).sessions


def test_what_is_no_text_is_refused_before_a_task_begins(opened: Place) -> None:
    async def work(client: Client) -> None:
        for part in (Part(url="http://127.0.0.1:1/secret"), Part(raw=b"\x89PNG", media_type="image/png")):
            with pytest.raises(ContentTypeNotSupportedError):
                await send(client, request("Look", "", "", part))
        with pytest.raises(TaskNotFoundError):
            await send(client, request("Hello", "", "no-such-task"))
        assert (await client.list_tasks(ListTasksRequest())).total_size == 0

    opened.talk(work)
    assert opened.upstream.requests == []
    assert opened.agent.store.sessions() == []


def test_a_page_goes_on_at_the_exact_moment() -> None:
    for number in range(1_700_000_000_000, 1_700_000_002_000):
        row = TaskRow("t", "", "", "", False, 1, "", 0.0, number / 1000, "", b"", "")
        assert after_page(encode_list_tasks_cursor(cursor_at(row))) == (row.updated, "t")
