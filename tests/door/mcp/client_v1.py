"""A client on the SDK's previous major version (mcp 1.x), run by the Python of an environment that has it.

Arguments: a message, and an address of ``/mcp`` or a command that serves over standard input. Writes what it
saw as JSON.
"""

# mypy: ignore-errors

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult


async def elicit(context, params):
    return ElicitResult(action="accept", content={"choice": params.requestedSchema["properties"]["choice"]["enum"][0]})


async def main(text: str, arguments: list[str]) -> None:
    pieces: list[str] = []

    async def progress(done, total, message):
        pieces.append(message)

    if arguments[0].startswith("http"):
        transport = streamablehttp_client(arguments[0])
    else:
        transport = stdio_client(StdioServerParameters(command=arguments[0], args=arguments[1:]))
    async with transport as streams, ClientSession(*streams[:2], elicitation_callback=elicit) as session:
        begun = await session.initialize()
        tools = (await session.list_tools()).tools
        call = {"text": text, "session": "옛 클라이언트"}
        told = await session.call_tool("chat", call, progress_callback=progress)
        resources = (await session.list_resources()).resources
        content = await session.read_resource(resources[0].uri)
        seen = {
            "version": begun.protocolVersion,
            "tools": [tool.name for tool in tools],
            "told": told.structuredContent or told.content[0].text,
            "pieces": pieces,
            "transcript": content.contents[0].text,
        }
        sys.stdout.write(f"{json.dumps(seen, ensure_ascii=False)}\n")


asyncio.run(main(sys.argv[1], sys.argv[2:]))
