"""The limits of connections to the page, on its real server: they hold before any login, and let its websocket live."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tests.journey.application import App, started

HEAD_LIMIT, CONNECTIONS = 5_000, 8
SHAKE = (
    "GET /_stcore/stream HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
PING, PONG = bytes([0x89, 0x80, 0, 0, 0, 0]), bytes([0x8A, 0x00])
"""An empty ping as a client masks it, and the answer of a server."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    limits = {
        "GIEOK_API_HEAD_LIMIT": str(HEAD_LIMIT),
        "GIEOK_API_HEAD_SECONDS": "2",
        "GIEOK_API_BODY_SECONDS": "1",
        "GIEOK_API_CONNECTIONS": str(CONNECTIONS),
    }
    with started(tmp_path_factory.mktemp("page"), **limits) as running:
        yield running


def open_connection(app: App, text: str = "") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", int(app.url.rpartition(":")[2])), timeout=60)
    made.sendall(text.encode())
    return made


def read_status(connection: socket.socket) -> int:
    return int(connection.recv(65_536).split()[1])


def test_a_head_that_is_too_large_is_refused(app: App) -> None:
    head = "GET /_stcore/health HTTP/1.1\r\nHost: localhost\r\nX-Large: {}\r\n\r\n"
    for letters, status in ((HEAD_LIMIT + 1, 431), (HEAD_LIMIT // 2, 200)):
        with closing(open_connection(app, head.format("a" * letters))) as connection:
            assert read_status(connection) == status


def test_a_head_that_does_not_end_is_ended(app: App) -> None:
    with closing(open_connection(app, "GET /_stcore/health HTTP/1.1\r\n")) as connection:
        assert read_status(connection) == 408


def test_a_websocket_outlives_the_times_of_heads_and_bodies(app: App) -> None:
    with closing(open_connection(app, SHAKE)) as websocket, closing(open_connection(app)) as idle:
        assert read_status(websocket) == 101
        assert read_status(idle) == 408, "by then both times have passed for the websocket, too"
        websocket.sendall(PING)
        answer = b""
        while PONG not in answer:
            part = websocket.recv(65_536)
            assert part, "the websocket was ended"
            answer += part


def test_no_more_connections_than_the_limit_are_taken(app: App) -> None:
    with ExitStack() as opened:
        for _ in range(CONNECTIONS):
            websocket = opened.enter_context(closing(open_connection(app, SHAKE)))
            assert read_status(websocket) == 101
        with closing(open_connection(app)) as more:
            assert read_status(more) == 503
