"""A real MCP server whose tools come in three pages, take what ``anyOf`` says, and answer with structured content only,
or with an error: ``python paged.py`` over standard input and output."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

WHEN: dict[str, Any] = {
    "type": "object",
    "properties": {"when": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "default": None}},
}
PAGES = (("one", "two"), ("three", "four"), ("five",))


async def tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    at = int(params.cursor) if params is not None and params.cursor else 0
    listed = [types.Tool(name=name, description=name, input_schema=WHEN) for name in PAGES[at]]
    return types.ListToolsResult(tools=listed, next_cursor=str(at + 1) if at + 1 < len(PAGES) else None)


async def call(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    given = params.arguments or {}
    if params.name == "five":
        said = types.TextContent(type="text", text="no seats left: try Sunday")
        return types.CallToolResult(content=[said], is_error=True)
    return types.CallToolResult(content=[], structured_content={"tool": params.name, "when": given.get("when")})


async def main() -> None:
    server: Server[Any] = Server("paged", on_list_tools=tools, on_call_tool=call)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
