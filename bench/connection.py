"""The limits of a connection to the endpoint (its head, its body, their time): processor time of a request.

Two processes of uvicorn serve the same smallest application, one by the endpoint's connection
(``server.network.connection``), the other by the class of uvicorn's that it is made from. They answer the same requests
in turn, over connections that are kept, so that other load of the machine falls on both alike. Each request is a POST
with the headers of a client of OpenAI's protocol and a body of ``--bytes``.

``cpu_ratio``: processor time of a request with the limits against without, of all rounds; ``added_us``: the difference
in microseconds. ``rounds_ratio``: the ratio of every round, sorted, which tells how far chance moves it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.port import free_port
from bench.server import Server, environment, started

CLASSES = {
    "plain": "uvicorn.protocols.http.httptools_impl:HttpToolsProtocol",
    "limited": "server.network.connection:LimitedConnection",
}
CONNECTIONS = 8
_HEAD = (
    "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer none\r\naccept: application/json\r\n"
    "user-agent: OpenAI/Python 2.0.0\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this bench."""
    parser.add_argument("--requests", type=int, default=4_000, help="requests of a round to each process")
    parser.add_argument("--rounds", type=int, default=10, help="how often the two take their turn")
    parser.add_argument("--bytes", type=int, default=2_000, help="bytes of a request's body")


async def answer(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    """The application: reads the body and says «ok»; at ``/cpu`` it says the processor time of its process instead."""
    while (await receive()).get("more_body"):
        pass
    body = f"{time.process_time():.9f}".encode() if scope["path"] == "/cpu" else b"ok"
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def run(args: argparse.Namespace) -> dict[str, object]:
    """Returns the figures that the module's docstring explains."""
    spent: dict[str, list[float]] = {name: [] for name in CLASSES}
    with tempfile.TemporaryDirectory(prefix="gieok-bench-") as folder, _servers(Path(folder)) as servers:
        for server in servers.values():
            asyncio.run(_ask(server, args.requests, args.bytes))
        for number in range(args.rounds):
            # the one that was first in the round before is last now
            for name in sorted(servers, reverse=number % 2 == 1):
                before = _read_cpu(servers[name])
                asyncio.run(_ask(servers[name], args.requests, args.bytes))
                spent[name].append(_read_cpu(servers[name]) - before)
    total = {name: sum(seconds) for name, seconds in spent.items()}
    asked = args.requests * args.rounds
    return {
        "cpu_ratio": round(total["limited"] / total["plain"], 3),
        "added_us": round((total["limited"] - total["plain"]) / asked * 1e6, 2),
        "rounds_ratio": sorted(round(a / b, 3) for a, b in zip(spent["limited"], spent["plain"], strict=True)),
        "rows": [
            {"connection": name, "requests": asked, "cpu_us_per_request": round(seconds / asked * 1e6, 2)}
            for name, seconds in total.items()
        ],
    }


@contextlib.contextmanager
def _servers(folder: Path) -> Iterator[dict[str, Server]]:
    """Starts a process for each class of connection."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(_start(folder / name, place)) for name, place in CLASSES.items()}


def _start(folder: Path, place: str) -> contextlib.AbstractContextManager[Server]:
    port = free_port()
    options = f"host='127.0.0.1', port={port}, http={place!r}, lifespan='off', log_level='warning', access_log=False"
    command = [sys.executable, "-c", f"import uvicorn; uvicorn.run('bench.connection:answer', {options})"]
    return started(command, port, folder, "/", **environment(folder, "http://127.0.0.1:9/v1"))


def _read_cpu(server: Server) -> float:
    """Returns the seconds of processor time that the process has used."""
    with urllib.request.urlopen(f"{server.url.removesuffix('/v1')}/cpu", timeout=60) as response:
        return float(response.read())


async def _ask(server: Server, requests: int, size: int) -> None:
    """Sends so many requests over ``CONNECTIONS`` connections at once. Raises ``RuntimeError`` for another answer."""
    parts = urlsplit(server.url)
    sent = _HEAD.format(host=parts.netloc, length=size).encode() + b"x" * size

    async def one(count: int) -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        with contextlib.closing(writer):
            for _ in range(count):
                writer.write(sent)
                head = await reader.readuntil(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 200 ") or await reader.readexactly(2) != b"ok":
                    raise RuntimeError(f"the process answers {head[:200]!r}")

    await asyncio.gather(*(one(requests // CONNECTIONS) for _ in range(CONNECTIONS)))
