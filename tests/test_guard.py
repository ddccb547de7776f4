from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

import pytest

from tests import guard
from tests.guard import NetworkBlocked


def _look_up() -> None:
    socket.getaddrinfo("api.example.com", 443)


def _connect() -> None:
    with socket.socket() as own:
        own.connect(("192.0.2.1", 80))


def _connect_ex() -> None:
    with socket.socket() as own:
        own.connect_ex(("192.0.2.1", 80))


def _datagram() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as own:
        own.sendto(b"x", ("192.0.2.1", 53))


@pytest.mark.parametrize("reach", [_look_up, _connect, _connect_ex, _datagram])
def test_reaching_out_fails_with_the_name(reach: Callable[[], None]) -> None:
    with pytest.raises(NetworkBlocked, match=r"api\.example\.com|192\.0\.2\.1"):
        reach()
    guard._tried.clear()


def test_a_thread_cannot_reach_out_either_and_swallowing_it_does_not_hide_it() -> None:
    def swallow() -> None:
        with contextlib.suppress(Exception):
            _connect()

    thread = threading.Thread(target=swallow)
    thread.start()
    thread.join()
    assert guard._tried == ["192.0.2.1"]
    guard._tried.clear()


def test_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(("localhost", listener.getsockname()[1])).close()
