"""The limits of connections: heads, bodies, how many, and clients that leave, on a real port."""

from __future__ import annotations

import json
import logging
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from model.embedding import built_in
from server.network.connection import LEAST_PROGRESS, ConnectionLimits, LimitedConnection
from tests.door.openai.inside import Inside, history, inside
from tests.stub.reply import said
from tests.stub.upstream import Upstream
from tests.wait import until

LIMITS: dict[str, Any] = {
    "api_head_seconds": 3.0,
    "api_body_seconds": 3.0,
    "api_connections": 20,
    "api_body_limit": 100_000,
    "api_origins": ("https://chat.example.com",),
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder: Path = tmp_path_factory.mktemp("connection")
    with Upstream(always=said("Fine.")) as upstream, inside(folder, upstream, **LIMITS) as opened:
        yield opened


def connect(service: Inside) -> socket.socket:
    host, port = service.root.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=60)


def read_refusal(connection: socket.socket) -> tuple[int, str]:
    """Returns the status and the code of the answer with which the server ends a connection."""
    status, body = read_last_answer(connection)
    return status, body["error"]["code"]


def read_last_answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    """Returns the status and the body of the answer with which the server ends a connection."""
    answer = b""
    while part := connection.recv(65_536):
        answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def write_head(length: int, *lines: str, path: str = "/v1/chat/completions") -> bytes:
    more = "".join(f"{line}\r\n" for line in lines)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{more}"
    return head.encode()


@pytest.mark.parametrize("pieces", [[b"GET / HTTP/1.1\r\nX: "], [b"GET /"], []])
def test_a_head_that_never_ends_is_cut_by_its_size(service: Inside, pieces: list[bytes]) -> None:
    with closing(connect(service)) as connection:
        sent = 0
        try:
            for piece in pieces:
                connection.sendall(piece)
            for _ in range(3_000):
                sent += connection.send(b"a" * 10_000)
        except OSError:
            pass
    assert sent < 20_000_000, "the server has closed long before"
    assert service.ask("Hello").status_code == 200


def test_a_head_that_is_too_large_is_told(service: Inside) -> None:
    answer = service.post("/v1/chat/completions", history("Hello"), **{"X-Large": "a" * 70_000})
    assert (answer.status_code, answer.json()["error"]["code"]) == (431, "head_too_large")
    small = service.post("/v1/chat/completions", history("Hello"), **{"X-Large": "a" * 50_000})
    assert small.status_code == 200


@pytest.mark.parametrize("begun", [b"", b"GET / HT", write_head(10)])
def test_a_head_that_does_not_come_ends_the_connection(service: Inside, begun: bytes) -> None:
    with closing(connect(service)) as connection:
        connection.sendall(begun)
        assert read_refusal(connection) == (408, "head_too_late")


def test_a_second_head_has_its_time_too(service: Inside) -> None:
    with closing(connect(service)) as connection:
        body = json.dumps(history("Hello")).encode()
        connection.sendall(write_head(len(body)) + b"\r\n" + body)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET / HT")
        assert read_refusal(connection)[1] == "head_too_late"


def test_a_body_that_does_not_go_on_ends_the_connection(service: Inside) -> None:
    with closing(connect(service)) as connection:
        connection.sendall(write_head(5_000) + b"\r\n" + b"{")
        assert read_refusal(connection) == (408, "body_too_slow")


@pytest.mark.parametrize("path", ["/a2a", "/mcp", "/mcp?x=1"])
def test_every_refusal_has_the_envelope_of_its_protocol(service: Inside, path: str) -> None:
    def check(status: int, told: dict[str, Any], wanted: tuple[int, str]) -> None:
        assert (status, told["error"]["data"]["code"]) == wanted
        assert (told["jsonrpc"], told["id"], isinstance(told["error"]["code"], int)) == ("2.0", None, True)

    with closing(connect(service)) as connection:
        connection.sendall(write_head(5_000, path=path) + b"\r\n" + b"{")
        check(*read_last_answer(connection), (408, "body_too_slow"))
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        answer = service.post(path, {}, **headers)
        check(answer.status_code, answer.json(), (403, "foreign_host"))
    large = service.post(path, {}, **{"X-Large": "a" * 70_000})
    check(large.status_code, large.json(), (431, "head_too_large"))


def test_more_connections_than_the_limit_are_told_so_at_once(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    limited: Any = service.server.config.http
    # else, on a busy machine, the first idle ones are late and gone before the last has come
    monkeypatch.setattr(limited, "limits", replace(limited.limits, head_seconds=3600.0))
    until(lambda: len(service.connections) == 0)
    idle = [connect(service) for _ in range(LIMITS["api_connections"])]
    until(lambda: len(service.connections) == LIMITS["api_connections"])
    with closing(connect(service)) as connection:
        assert read_refusal(connection) == (503, "too_many_connections")
    for each in idle:
        each.close()
    until(lambda: len(service.connections) == 0)
    assert service.ask("Hello").status_code == 200


def test_a_body_that_is_too_large_is_answered_and_not_cut(service: Inside) -> None:
    answer = service.post("/v1/chat/completions", history("a" * 250_000))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")


@contextmanager
def telling_much(body_seconds: float) -> Iterator[tuple[socket.socket, Any, threading.Event]]:
    """A client that reads nothing of an answer that is larger than what the two ends of a connection hold back, the
    server, and an event of the end of the request."""
    ended = threading.Event()

    async def tell_much(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(4_000):
            await send({"type": "http.response.body", "body": b"a" * 65_536, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        ended.set()

    limits = ConnectionLimits(head_bytes=65_536, head_seconds=60.0, body_seconds=body_seconds, connections=10)
    limited = type("Limited", (LimitedConnection,), {"limits": limits})
    config = uvicorn.Config(tell_much, http=limited, lifespan="off", log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        with closing(socket.create_connection(listening.getsockname(), timeout=60)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            yield connection, server, ended
        server.should_exit = True
        thread.join(60)


def test_a_client_that_does_not_read_loses_its_connection_and_its_request() -> None:
    with telling_much(body_seconds=0.5) as (_, server, ended):
        until(ended.is_set)
        until(lambda: not server.server_state.connections)


def test_a_client_that_reads_slowly_keeps_its_connection() -> None:
    with telling_much(body_seconds=3600.0) as (connection, server, _):
        until(lambda: any(each._reading for each in server.server_state.connections))
        (held,) = server.server_state.connections
        waiting, first = held.transport.get_write_buffer_size(), held._reading
        held.loop.call_soon_threadsafe(held._end_unread, waiting + LEAST_PROGRESS)  # so much has left since
        until(lambda: held._reading is not first)
        assert not held.transport.is_closing()
        held.loop.call_soon_threadsafe(held._end_unread, waiting + LEAST_PROGRESS - 1)
        until(lambda: not server.server_state.connections)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")


RPC = {"jsonrpc": "2.0", "id": 1}
SAID = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hello there"}]}
MODERN = ("A2A-Version: 1.0",)
MCP = ("Accept: application/json, text/event-stream", "MCP-Protocol-Version: 2025-11-25")
ASKED: list[tuple[str, Any, tuple[str, ...]]] = [
    ("/v1/chat/completions", history("Hello there"), ()),
    ("/v1/chat/completions", {**history("Hello there"), "stream": True}, ()),
    ("/v1/responses", {"input": "Hello there", "stream": True}, ()),
    ("/v1/embeddings", {"model": "gieok", "input": ["Hello there"] * 40}, ()),
    ("/a2a", {**RPC, "method": "SendMessage", "params": {"message": SAID}}, MODERN),
    ("/a2a", {**RPC, "method": "SendStreamingMessage", "params": {"message": SAID}}, MODERN),
    ("/a2a/rest/message:stream", {"message": SAID}, MODERN),
    ("/mcp", {**RPC, "method": "tools/list", "params": {}}, MCP),
]


@pytest.mark.parametrize("when", ["sends", "waits", "reads"])
def test_clients_that_leave_leave_a_line_of_the_log_each(
    service: Inside, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="gieok.endpoint")
    for seed in range(30):
        chance, (path, fields, lines) = random.Random(seed), ASKED[seed % len(ASKED)]
        body = json.dumps(fields).encode()
        head = write_head(len(body), "Content-Type: application/json", *lines, path=path) + b"\r\n"
        with closing(connect(service)) as connection:
            if when == "sends":
                connection.sendall(head + body[: chance.randrange(len(body) - 1)])
                continue
            connection.sendall(head + body)
            if when == "reads":
                connection.recv(chance.randrange(1, 200))
    until(lambda: len(service.connections) == 0)
    until(lambda: len(caplog.records) >= 30 and service.places == 0)
    assert [record.getMessage() for record in caplog.records if record.levelno != logging.INFO or record.exc_info] == []
    lines_of_each = [record.getMessage().split()[0] for record in caplog.records]
    assert len(lines_of_each) == len(set(lines_of_each)) == 30
    if when == "sends":
        assert all(" 499" in record.getMessage() for record in caplog.records)
    assert 'status="500"' not in httpx2.get(service.root + "/metrics").text


# --- browsers -----------------------------------------------------------------------------------

PAGE = "https://chat.example.com"


def ask_from(service: Inside, origin: str, **headers: str) -> tuple[int, str | None, str | None]:
    """Returns what a browser gets that shows the page ``origin``: the status of the request, and which page may read
    the answers to it and to the question before it (the preflight)."""
    before = httpx2.options(
        service.root + "/v1/chat/completions",
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
            **headers,
        },
    )
    answer = service.post("/v1/chat/completions", history("Hello"), Origin=origin, **headers)
    name = "access-control-allow-origin"
    return answer.status_code, answer.headers.get(name), before.headers.get(name)


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:5173", "https://localhost", PAGE])
def test_pages_of_this_machine_and_those_of_the_settings_may_use_the_endpoint(service: Inside, origin: str) -> None:
    assert ask_from(service, origin) == (200, origin, origin)


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "http://localhost:3000.evil.example",
        f"{PAGE}.evil.example",
        f"{PAGE}:444",
        "http://chat.example.com",
        "file://",
        "",
    ],
)
def test_no_other_page_may(service: Inside, origin: str) -> None:
    status, allowed, before = ask_from(service, origin)
    assert (allowed, before) == (None, None)
    assert status == 403


def test_a_page_that_points_its_own_name_here_may_not(service: Inside) -> None:
    """DNS rebinding: the browser sends the site's own name as the host."""
    assert ask_from(service, "http://rebound.example", Host="rebound.example") == (403, None, None)
    assert ask_from(service, "http://localhost:3000", Host="rebound.example")[0] == 403


# --- numbers and texts --------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["9" * 4_000, "-" + "9" * 4_000, "1e400", "0", "-1", "true"])
@pytest.mark.parametrize("field", ["max_tokens", "temperature", "top_p"])
def test_a_number_of_any_size_has_an_answer_of_its_own(service: Inside, field: str, number: str) -> None:
    text = json.dumps({**history("Hello"), field: "N"}).replace('"N"', number)
    answer = service.post_text("/v1/chat/completions", text)
    assert answer.status_code in (200, 400), answer.text[:300]
    if answer.status_code == 400:
        assert answer.json()["error"]["code"] in ("out_of_range", "invalid_json", "invalid_type")


@pytest.mark.parametrize("number", ["9" * 4_000, "1e400", "-1e400", "NaN"])
@pytest.mark.parametrize("field", ["metadata", "instructions", "reasoning", "max_output_tokens"])
def test_no_number_is_kept_that_an_answer_could_not_write_out(service: Inside, field: str, number: str) -> None:
    answer = service.post_text("/v1/responses", json.dumps({"input": "Hello", field: "N"}).replace('"N"', number))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts were embedded, call by call."""
    model, counts = built_in(), list[int]()
    passages = type(model).passages

    def count(self: Any, texts: list[str]) -> Any:
        counts.append(len(texts))
        return passages(self, texts)

    monkeypatch.setattr(type(model), "passages", count)
    return counts


def test_another_size_of_vectors_is_refused_after_the_first_texts(service: Inside, embedded: list[int]) -> None:
    answer = service.post("/v1/embeddings", {"model": "gieok", "input": ["text"] * 100, "dimensions": 7})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "dimensions")
    assert sum(embedded) <= 8


def test_a_text_that_is_too_long_to_embed_is_refused_at_once(service: Inside) -> None:
    answer = service.post("/v1/embeddings", {"model": "gieok", "input": ["fine", "long words " * 8_000]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "input")
    assert "8,192" in answer.json()["error"]["message"]


def test_embedding_stops_when_its_client_has_left(service: Inside, embedded: list[int]) -> None:
    body: dict[str, Any] = {"model": "gieok", "input": [f"Text {at} of many texts " * 12 for at in range(200)]}
    content = json.dumps(body).encode()
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    with closing(connect(service)) as connection:
        connection.sendall(head + content)
        until(lambda: embedded)
    until(lambda: service.places == 0)
    assert sum(embedded) < 200
