"""What nobody expected, answered in the form of the protocol that the client speaks."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from server.observe.metric import Metrics
from server.observe.watch import Watch


async def fail(scope: Scope, receive: Receive, send: Send) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("path", ["/v1/models", "/a2a/rest/v1/card", "/a2a", "/mcp", "/mcp/"])
def test_an_error_that_nobody_expected_has_the_envelope_of_its_protocol(path: str) -> None:
    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(Watch(fail, Metrics(), None))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post(path, json={})

    answer = asyncio.run(ask())
    error = answer.json()["error"]
    is_rpc = path in ("/a2a", "/mcp", "/mcp/")
    assert (answer.status_code, answer.json().get("jsonrpc")) == (500, "2.0" if is_rpc else None)
    assert isinstance(error["code"], int if is_rpc else str)
