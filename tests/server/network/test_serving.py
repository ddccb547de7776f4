"""When the endpoint's port is open: not before its application can answer, and nobody waits for one that starts."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.responses import PlainTextResponse

import door.endpoint
from bench.port import free_port
from bench.server import environment
from errors import PortTaken
from server.network import serving
from server.network.reach import claim_port
from settings import Settings
from tests import process
from tests.product import launch
from tests.stub.upstream import Upstream
from tests.wait import until


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


def test_the_address_of_two_workers_is_said_when_one_answers(tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "server.log"
    log.touch()
    arguments = ["cli.py", "serve", "--port", str(port), "--workers", "2"]
    with Upstream() as upstream:
        served = launch(arguments, environment(tmp_path, upstream.url), log)
        try:
            until(lambda: f"http://127.0.0.1:{port}/v1" in log.read_text("utf-8"), 300)  # each loads the product
            assert httpx2.get(f"http://127.0.0.1:{port}/healthz", timeout=60).status_code in (200, 503)
        finally:
            served.terminate()
            served.wait(60)


def test_a_claimed_port_refuses_clients_and_one_in_use_cannot_be_claimed() -> None:
    port = free_port()
    with claim_port("127.0.0.1", port) as claimed:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=60):
            pytest.fail("a client would wait for a server that does not answer yet")
        claimed.listen()
        with pytest.raises(PortTaken):
            claim_port("127.0.0.1", port)
