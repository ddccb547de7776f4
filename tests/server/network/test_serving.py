"""When the endpoint's port is open: not before its application can answer, and nobody waits for one that starts."""

from __future__ import annotations

import signal
import socket
from contextlib import suppress
from typing import Any

import httpx2
import pytest
import uvicorn
from starlette.responses import PlainTextResponse

import door.endpoint
from bench.port import free_port
from errors import PortTaken
from server.network import serving
from server.network.reach import claim_port
from settings import Settings
from tests import process


def listen(port: int) -> socket.socket:
    """Listens at a port that another program has claimed."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    opened.bind(("127.0.0.1", port))
    opened.listen()
    return opened


def serve(port: int, told: Any, is_overtaken: bool) -> None:
    """Serves an application that tells what a client meets while it is made. ``is_overtaken``: another program listens
    meanwhile."""

    def make() -> PlainTextResponse:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=60).close()
            told.put("waits")
        except ConnectionRefusedError:
            told.put("refused")
        if is_overtaken:
            told.kept = listen(port)
        return PlainTextResponse("fine")

    door.endpoint.application = make  # type: ignore[assignment]
    try:
        serving.serve_endpoint(Settings(), "127.0.0.1", port, 1, told.put)
    except PortTaken:
        told.put("taken")


@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_client_is_refused_while_the_application_is_made(is_overtaken: bool) -> None:
    port, told = free_port(), process.channel()
    served = process.start(serve, port, told, is_overtaken)
    try:
        assert told.get(timeout=process.SECONDS) == "refused"
        url = f"http://127.0.0.1:{port}/v1"
        assert told.get(timeout=process.SECONDS) == ("taken" if is_overtaken else url)
        if not is_overtaken:
            assert httpx2.get(url, timeout=60).text == "fine"
    finally:
        served.terminate()
        process.end(served)


def test_the_address_of_workers_is_said_once_when_the_first_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # the supervisor would take this process's signals
    said = list[str]()
    with claim_port("127.0.0.1", free_port()) as claimed:
        config = uvicorn.Config("door.endpoint:application", workers=2)
        workers = serving.EndpointWorkers(config, claimed, lambda: said.append("said"))
        workers.keep_subprocess_alive()
        assert said == []
        claimed.listen()
        workers.keep_subprocess_alive()
        workers.keep_subprocess_alive()
    assert said == ["said"]


def test_a_claimed_port_refuses_clients_and_one_in_use_cannot_be_claimed() -> None:
    port = free_port()
    with claim_port("127.0.0.1", port) as claimed:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=60):
            pytest.fail("a client would wait for a server that does not answer yet")
        claimed.listen()
        with pytest.raises(PortTaken):
            claim_port("127.0.0.1", port)


def test_workers_whose_port_another_program_took_end_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    said = list[str]()
    with claim_port("127.0.0.1", free_port()) as claimed, listen(claimed.getsockname()[1]):
        config = uvicorn.Config("door.endpoint:application", workers=2)
        workers = serving.EndpointWorkers(config, claimed, lambda: said.append("said"))
        workers.keep_subprocess_alive()
        assert (said, workers.is_port_taken, workers.should_exit.is_set()) == ([], True, True)
