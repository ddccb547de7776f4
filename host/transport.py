"""The ways to a server: its standard input and output, streamable HTTP, or the older SSE. All of them are bounded:
a message of more than ``MOST_BYTES`` ends the connection instead of filling our memory."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio.streams.text import TextReceiveStream
from mcp.client import stdio
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from host.entry import ServerEntry

MOST_BYTES = 4_000_000
"""The longest message of a server. A result of ``host.result.MOST_CHARS`` is in it twice, as text and as data."""
READ_SECONDS = 3600.0
"""How long an HTTP connection may be silent; a call has its own limit."""


class BoundedText(TextReceiveStream):
    """The text of a server's standard output, which ends at a line of more than ``MOST_BYTES`` characters.

    The SDK gathers a line whole before it looks at it, however long it is; this class takes the place of the SDK's own.
    """

    _line = 0

    async def receive(self) -> str:
        chunk = await super().receive()
        lengths = [len(line) for line in chunk.split("\n")]
        lengths[0] += self._line
        if max(lengths) > MOST_BYTES:
            await self.transport_stream.aclose()  # else the SDK reads on, to let the server end
            raise anyio.EndOfStream
        self._line = lengths[-1]
        return chunk


vars(stdio)["TextReceiveStream"] = BoundedText
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)  # the SDK logs what it could not read, with its contents


@asynccontextmanager
async def open_server_transport(entry: ServerEntry, older: bool = False) -> AsyncGenerator[Any, None]:
    """Opens the way to a server. ``older``: by SSE, where an address takes no streamable HTTP."""
    if entry.command is not None:
        env = {name: value.get_secret_value() for name, value in entry.env.items()}
        asked = stdio.StdioServerParameters(
            command=entry.command, args=list(entry.args), env=env, cwd=entry.cwd, encoding_error_handler="replace"
        )
        with Path(os.devnull).open("w") as silent:  # what it says beside the protocol may hold secrets
            async with stdio.stdio_client(asked, errlog=silent) as streams:
                yield streams
        return
    headers = {name: value.get_secret_value() for name, value in entry.headers.items()}
    assert entry.url is not None
    if older or entry.type == "sse":
        async with sse_client(entry.url, headers=headers, httpx_client_factory=_open_server_client) as streams:
            yield streams
        return
    async with (
        _open_server_client(headers) as client,
        streamable_http_client(entry.url, http_client=client, max_sse_event_size=MOST_BYTES) as streams,
    ):
        yield streams


def _open_server_client(
    headers: dict[str, Any] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    timeout = timeout or httpx2.Timeout(30.0, read=READ_SECONDS)
    return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, transport=_Bounded())


class _Bounded(httpx2.AsyncHTTPTransport):
    """HTTP whose JSON answers are bounded; a stream of events is bounded event by event."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MOST_BYTES:
                raise httpx2.ReadError(f"more than {MOST_BYTES:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
