"""The server over standard input and output, for a program that starts Gieok itself: one user, this machine's own.

Standard output carries the protocol alone: the SDK keeps it for itself, and everything else that this process or a
process under it prints goes to the standard error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp.server.stdio import stdio_server

from door.mcp.caller import Caller
from door.mcp.server import open_server
from door.openai.running import Requests
from graph.answer import documents
from graph.turn.agent import Agent, open_agent
from settings import Settings
from world.engine import Engine

LEAVE_SECONDS = 5.0
"""How long running calls may go on after the client has closed its end."""


def serve(settings: Settings, opened: Callable[[Settings], Agent] = open_agent) -> None:
    """Serves until the client closes its end. Raises ``OperatorError`` when the stores cannot be opened."""
    asyncio.run(_serve(settings, opened))


async def _serve(settings: Settings, opened: Callable[[Settings], Agent]) -> None:
    async with stdio_server() as (reading, writing):  # before the agent, whose servers inherit the standard output
        agent = await asyncio.to_thread(opened, settings)
        worlds = Engine.open(settings, agent.store, agent.models)
        requests = Requests(settings.api_concurrency)
        try:
            documents.begin(agent)
            caller = Caller(agent, worlds)
            server = open_server(agent.store, lambda _: caller, requests)
            await server.run(reading, writing, server.create_initialization_options())
        finally:
            await asyncio.to_thread(_close, requests, worlds, agent)


def _close(requests: Requests, worlds: Engine, agent: Agent) -> None:
    requests.close(LEAVE_SECONDS)
    worlds.close()
    agent.close()
