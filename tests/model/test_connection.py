"""Connections are used again, and every step of a call can be cut off (design 2.5)."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage

from model.call import client, stream
from tests.model.conftest import Connect
from tests.stub import reply
from tests.stub.upstream import Upstream
from tests.wait import until

QUESTION = [HumanMessage("hello")]
SECONDS = 60.0
"""How long something that comes about is waited for; what a stop does not end lasts longer."""
STREAMS = 64


class Asking(threading.Thread):
    """A thread that asks a model; ``stop`` ends it, ``end`` waits for that."""

    def __init__(self, model: BaseChatModel) -> None:
        super().__init__(daemon=True)
        self.model, self.stop = model, threading.Event()
        self.seen: list[AIMessageChunk] = []
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.seen.extend(stream.stream_answer(self.model, QUESTION, stop=self.stop))
        except BaseException as error:
            self.error = error

    def end(self) -> None:
        self.stop.set()
        self.join(SECONDS)
        assert not self.is_alive()
        assert (self.seen, self.error) == ([], None)


def peers(upstream: Upstream) -> list[int]:
    return [request.peer for request in upstream.requests]


def test_twenty_calls_take_one_connection(upstream: Upstream, connect: Connect) -> None:
    model, upstream.always = connect(), reply.said("ok")
    assert [stream.complete_answer(model, QUESTION).text for _ in range(20)] == ["ok"] * 20
    assert len(set(peers(upstream))) == 1


def test_a_server_with_few_threads_gets_a_new_connection_for_every_call(upstream: Upstream, connect: Connect) -> None:
    model, upstream.always = connect(keep=False), reply.said("ok")
    for _ in range(3):
        stream.complete_answer(model, QUESTION)
    assert len(set(peers(upstream))) == 3


def test_a_stop_before_the_first_byte_on_a_used_connection_ends_upstream_at_once(
    upstream: Upstream, connect: Connect
) -> None:
    upstream.add(reply.said("ok"), reply.silent(), reply.said("after"))
    model = connect()
    stream.complete_answer(model, QUESTION)
    asking = Asking(model)
    until(lambda: len(upstream.requests) == 2)
    asking.end()
    assert upstream.requests[1].gone.wait(SECONDS)
    assert stream.complete_answer(model, QUESTION).text == "after"
    first, second, third = peers(upstream)
    assert first == second != third, "a connection that was cut off serves no other call"


@pytest.mark.parametrize("by", ["stop", "close"])
def test_a_connection_that_was_left_in_mid_answer_serves_no_other_call(
    upstream: Upstream, connect: Connect, by: str
) -> None:
    upstream.add(reply.said(" ".join(["word"] * 500)).but(pause=0.02), reply.said("after"))
    model, stop = connect(), threading.Event()
    chunks = stream.stream_answer(model, QUESTION, stop=stop)
    next(chunks)
    if by == "stop":
        stop.set()
        assert list(chunks) == []
    else:
        chunks.close()  # type: ignore[attr-defined]
    assert upstream.requests[0].gone.wait(SECONDS)
    assert stream.complete_answer(model, QUESTION).text == "after"
    assert len(set(peers(upstream))) == 2


def test_sixty_four_calls_run_at_once(upstream: Upstream, connect: Connect) -> None:
    model, upstream.always = connect(), reply.silent()
    asking = [Asking(model) for _ in range(STREAMS)]
    until(lambda: len(upstream.requests) == STREAMS)
    for each in asking:
        each.stop.set()
    for each in asking:
        each.end()
    assert all(request.gone.wait(SECONDS) for request in upstream.requests)


# --- servers that close -------------------------------------------------------------------------

BODY = (
    b'data: {"id":"1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":'
    b'{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: " + str(len(BODY)).encode() + b"\r\n\r\n"
)


@contextlib.contextmanager
def server(serve: Callable[[socket.socket, int], None]) -> Iterator[str]:
    """A server that passes every connection, with its number from 0, to ``serve``, one after another."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        for number in range(100):
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                serve(connection, number)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(SECONDS)


def heard(connection: socket.socket) -> bool:
    """Reads one request; False when the client has closed the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (part := connection.recv(65536)):
            return False
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    (length,) = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    while len(body) < length:
        body += connection.recv(65536)
    return True


def test_a_server_that_closed_an_idle_connection_is_asked_on_a_new_one(connect: Connect) -> None:
    closed, numbers = threading.Event(), list[int]()

    def serve(connection: socket.socket, number: int) -> None:
        heard(connection)
        numbers.append(number)
        connection.sendall(ANSWER + BODY)
        connection.close()
        closed.set()

    with server(serve) as url:
        model = connect(url=url, model_retries=0)
        assert stream.complete_answer(model, QUESTION).text == "ok"
        assert closed.wait(SECONDS)
        assert stream.complete_answer(model, QUESTION).text == "ok"
    assert numbers == [0, 1]


def test_a_server_that_closes_a_kept_connection_as_the_request_comes_is_asked_once_more(connect: Connect) -> None:
    requests = list[int]()

    def serve(connection: socket.socket, number: int) -> None:
        while heard(connection):
            requests.append(number)
            if len(requests) == 2:
                return
            connection.sendall(ANSWER + BODY)

    with server(serve) as url:
        model = connect(url=url, model_retries=0)
        assert [stream.complete_answer(model, QUESTION).text for _ in range(3)] == ["ok"] * 3
        model.http_client.close()  # type: ignore[attr-defined]
    assert requests == [0, 0, 1, 1]


def test_a_server_that_closes_new_connections_is_not_asked_twice(connect: Connect) -> None:
    import errors

    requests = list[int]()

    def serve(connection: socket.socket, number: int) -> None:
        heard(connection)
        requests.append(number)

    with server(serve) as url, pytest.raises(errors.ModelBroken):
        stream.complete_answer(connect(url=url, model_retries=0), QUESTION)
    assert requests == [0]


# --- a stop before there is a connection ---------------------------------------------------------


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting may take an hour, so that only the stop ends it."""
    monkeypatch.setattr(client, "CONNECT_SECONDS", 3600.0)


@pytest.mark.usefixtures("_patient")
def test_a_stop_ends_a_tls_handshake_that_nobody_answers(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        asking = Asking(connect(url=f"https://127.0.0.1:{listener.getsockname()[1]}/v1", model_timeout=600))
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1), "the handshake has begun"
            asking.end()


@pytest.mark.usefixtures("_patient")
def test_a_stop_ends_an_attempt_to_connect(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as waiting:
        address = listener.getsockname()
        with contextlib.suppress(TimeoutError):  # fills the list of connections that wait to be accepted
            while True:
                waiting.enter_context(socket.create_connection(address, timeout=0.3))
        asking = Asking(connect(url=f"http://127.0.0.1:{address[1]}/v1", model_timeout=600))
        time.sleep(0.2)
        assert asking.is_alive()
        asking.end()


@pytest.mark.usefixtures("_patient")
def test_a_stop_ends_the_lookup_of_a_name(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, end = threading.Event(), threading.Event()

    def look_up(*_: Any, **__: Any) -> Any:
        asked.set()
        end.wait(SECONDS)
        raise socket.gaierror("nobody knows")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    asking = Asking(connect(url="http://models.example/v1", model_timeout=600))
    assert asked.wait(SECONDS)
    asking.end()
    end.set()
