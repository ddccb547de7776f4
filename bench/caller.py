"""Callers of MCP, A2A and the responses API over plain sockets, so that they cost little beside what they measure.

MCP is spoken in its revision 2026-07-28 with progress, A2A in its version 1.0 as a stream, the responses API as a
stream that goes on from the response before.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench.load import Line

VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn through a door. ``whole``: milliseconds from the request to the end of the answer. ``fine``: the answer
    came to its end; ``question`` and ``text``: what was asked and answered."""

    whole: float
    fine: bool
    question: str = ""
    text: str = ""


@dataclass
class Caller:
    """A caller of ``door`` (``mcp``, ``a2a`` or ``responses``) in a closed loop, with a connection of its own.

    ``length``: the turns of a conversation, after which the next one begins; 0: all turns are one conversation.
    """

    door: str
    url: str
    name: str
    words: Callable[[str], str]
    length: int = 0
    turns: list[Turn] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._line = Line(self.url)
        self._conversation, self._response = self.name, ""

    async def loop(self, going_on: Callable[[], bool]) -> None:
        """Asks until told to end."""
        while going_on():
            self.turns.append(await self.ask())
        await self.close()

    async def ask(self) -> Turn:
        """Asks the next question and reads the answer to its end."""
        number, begun = next(self._numbers), time.perf_counter()
        if self.length and number % self.length == 1:
            self._conversation, self._response = f"{self.name}-{number}", ""
        question, text = self.words(f"#{self.name}-{number}"), None
        try:
            text = await self._send(number, question)
        except (OSError, asyncio.IncompleteReadError, ValueError):
            await self.close()
        return Turn((time.perf_counter() - begun) * 1000, text is not None, question, text or "")

    async def _send(self, number: int, question: str) -> str | None:
        body, headers, path = _request(self.door, self._conversation, number, question, self._response)
        data = json.dumps(body).encode()
        lines = {
            "host": f"{self._line.host}:{self._line.port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **headers,
            "content-length": str(len(data)),
        }
        head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        reader, writer = await self._line.open()
        writer.write(head.encode() + b"\r\n" + data)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if " 200 " not in answer.split("\r\n", 1)[0] or "transfer-encoding: chunked" not in answer:
            raise ValueError("no stream of events")
        seen = [json.loads(line[5:]) for line in await _read_lines(reader) if line.startswith(b"data: {")]
        self._response = seen[-1].get("response", {}).get("id", self._response) if seen else self._response
        return read_answer(self.door, seen)

    async def close(self) -> None:
        """Closes the connection; the next question opens another one."""
        await self._line.close()


async def _read_lines(reader: asyncio.StreamReader) -> list[bytes]:
    """Returns the lines of a chunked body, read to its end."""
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body.splitlines()


def _request(
    door: str, conversation: str, number: int, text: str, response: str
) -> tuple[dict[str, Any], dict[str, str], str]:
    """Returns body, headers and path of a turn."""
    if door == "responses":
        body = {"model": "stub-model", "input": text, "stream": True, "store": True}
        return body | ({"previous_response_id": response} if response else {}), {}, "/v1/responses"
    rpc = {"jsonrpc": "2.0", "id": number}
    if door == "a2a":
        message = {
            "messageId": f"{conversation}-{number}",
            "contextId": conversation,
            "role": "ROLE_USER",
            "parts": [{"text": text}],
        }
        return {**rpc, "method": "SendStreamingMessage", "params": {"message": message}}, {"A2A-Version": "1.0"}, "/a2a"
    meta = {
        f"{_META}protocolVersion": VERSION,
        f"{_META}clientInfo": {"name": "bench", "version": "1"},
        f"{_META}clientCapabilities": {},
        "progressToken": number,
    }
    params = {"name": "chat", "arguments": {"text": text, "session": conversation}, "_meta": meta}
    headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": "chat"}
    return {**rpc, "method": "tools/call", "params": params}, headers, "/mcp"


def read_answer(door: str, seen: list[dict[str, Any]]) -> str | None:
    """Returns the whole answer that the events of a turn hold; None where they hold none."""
    if door == "responses":
        last = seen[-1] if seen else {}
        parts = [part for item in last.get("response", {}).get("output", ()) for part in item.get("content", ())]
        return "".join(part["text"] for part in parts) if last.get("type") == "response.completed" else None
    results = [event["result"] for event in seen if "result" in event]
    if door == "mcp":
        told = results[-1].get("structuredContent") if results and not results[-1].get("isError") else None
        return str(told["answer"]) if told and told["status"] == "done" else None
    states = [result["statusUpdate"]["status"]["state"] for result in results if "statusUpdate" in result]
    artifacts = [result["artifactUpdate"]["artifact"] for result in results if "artifactUpdate" in result]
    text = "".join(part.get("text", "") for artifact in artifacts for part in artifact["parts"])
    return text if states[-1:] == ["TASK_STATE_COMPLETED"] else None
