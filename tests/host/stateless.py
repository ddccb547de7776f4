"""A real MCP server of the stateless generation (2026-07-28) that asks: ``python stateless.py`` over standard input and
output. It keeps nothing between two requests; what it must know comes back as the request's state. With ``deaf`` it
never tells its tools."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"persons": {"type": "integer"}}, "required": ["persons"]}
PLACE: dict[str, Any] = {"type": "object", "properties": {"place": {"type": "string"}}}


def text(content: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=content)])


async def tools(_: Any, __: Any) -> types.ListToolsResult:
    if "deaf" in sys.argv:
        await anyio.sleep(3600)
    names = ("book", "think")
    return types.ListToolsResult(tools=[types.Tool(name=name, description=name, input_schema=PLACE) for name in names])


async def call(_: Any, params: types.CallToolRequestParams) -> Any:
    responses, place = params.input_responses or {}, (params.arguments or {}).get("place")
    if params.name == "think":
        return think(responses)
    if params.request_state is None:
        form = types.ElicitRequestFormParams(message=f"How many at {place}?", requested_schema=SCHEMA)
        login = types.ElicitRequestURLParams(message="Sign in.", url="https://mail.example/in")
        asked = {"persons": types.ElicitRequest(params=form), "login": types.ElicitRequest(params=login)}
        return types.InputRequiredResult(input_requests=asked, request_state=f"asked {place}")
    persons = responses.get("persons")
    content = getattr(persons, "content", None) or {}
    signed = getattr(responses.get("login"), "action", "")
    note_booking(Path(sys.argv[2]))
    return text(f"{params.request_state}: {content.get('persons')}, {signed}")


def note_booking(folder: Path) -> None:
    """Leaves something that can be counted; then its caller is killed, if the test wants that, once."""
    with (folder / "book").open("a") as file:
        file.write("x")
    if (folder / "kill").exists():
        (folder / "kill").unlink()
        os.kill(os.getppid(), signal.SIGKILL)


def think(responses: Any) -> Any:
    reply = responses.get("what")
    if reply is None:
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="What is it?"))
        asked = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=9))
        return types.InputRequiredResult(input_requests={"what": asked})
    return text(f"it is {reply.content.text}")


async def main() -> None:
    server: Server[Any] = Server("stateless", on_list_tools=tools, on_call_tool=call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
