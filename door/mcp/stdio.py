"""The server over standard input and output, for a program that starts Gieok itself: one user, this machine's own.

Standard output carries the protocol alone: the SDK keeps it for itself, and everything else that this process or a
process under it prints goes to the standard error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp.server.stdio import stdio_server

from door.mcp.caller import McpCaller
from door.mcp.server import open_server
from graph.answer import documents
from graph.turn.agent import Agent, open_agent
from server.request.running import Requests
from settings import Settings
from world.engine import WorldEngine

LEAVE_SECONDS = 5.0
"""How long running calls may go on after the client has closed its end."""


def serve_stdio(settings: Settings, opened: Callable[[Settings], Agent] = open_agent) -> None:
    """Serves until the client closes its end. Raises ``OperatorError`` when the stores cannot be opened."""
    asyncio.run(_run_stdio_server(settings, opened))


async def _run_stdio_server(settings: Settings, opened: Callable[[Settings], Agent]) -> None:
    async with stdio_server() as (reading, writing):  # before the agent, whose servers inherit the standard output
        agent = await asyncio.to_thread(opened, settings)
        worlds = agent.open_worlds()
        requests = Requests(settings.api_concurrency)
        try:
            documents.start_product_docs_indexing(agent)
            caller = McpCaller(agent, worlds)
            server = open_server(agent.store, lambda _: caller, requests)
            await server.run(reading, writing, server.create_initialization_options())
        finally:
            await asyncio.to_thread(_close_stdio_services, requests, worlds, agent)


def _close_stdio_services(requests: Requests, worlds: WorldEngine, agent: Agent) -> None:
    requests.close(LEAVE_SECONDS)
    worlds.close()
    agent.close()
