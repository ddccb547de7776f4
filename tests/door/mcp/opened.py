"""The server in this process, without a transport between it and the official client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
from mcp import Client, MCPError
from mcp.server.lowlevel.server import Server

from door.mcp.caller import McpCaller
from door.mcp.server import open_server
from graph.turn.agent import Agent, open_agent
from model import scripted
from server.request.running import Requests
from settings import load_settings
from world.engine import WorldEngine

Era = Literal["auto", "legacy"]
ERAS: tuple[Era, ...] = ("auto", "legacy")
"""The stateless protocol, and the handshake."""
Talk = Callable[[Client], Awaitable[Any]]


@dataclass
class Opened:
    """The server of one agent. ``user``: whose the next messages are."""

    agent: Agent
    worlds: WorldEngine
    requests: Requests
    server: Server[Any] = field(init=False)
    user: str = "me"

    def __post_init__(self) -> None:
        self.server = open_server(self.agent.store, lambda _: self.caller, self.requests)

    @property
    def caller(self) -> McpCaller:
        return McpCaller(self.agent.of(self.user), self.worlds.of(self.user))

    def with_tools(self, *tools: Any) -> Opened:
        """The same agent with further tools."""
        return Opened(replace(self.agent, tools=[*self.agent.tools, *tools]), self.worlds, self.requests)

    def client(self, era: Era = "auto", **options: Any) -> Client:
        return Client(self.server, mode=era, **options)

    def run(self, talk: Talk, era: Era = "auto", **options: Any) -> Any:
        """What comes of talking to the server. Raises ``MCPError`` for an error of the protocol."""
        return talked(self.client(era, **options), talk)

    def call(self, name: str, era: Era = "auto", **arguments: Any) -> types.CallToolResult:
        """The result of one call of a tool."""
        result: types.CallToolResult = self.run(lambda client: client.call_tool(name, arguments), era)
        return result

    def told(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The structured result of a call that succeeds."""
        result = self.call(name, **arguments)
        assert not result.is_error, result.content
        assert isinstance(result.structured_content, dict)
        return result.structured_content


def talked(client: Client, talk: Talk) -> Any:
    """What comes of talking to a server. Raises ``MCPError`` as it is, out of the client's task groups."""

    async def whole() -> Any:
        async with client:
            try:
                return await talk(client)
            except MCPError as error:
                return error

    told = asyncio.run(whole())
    if isinstance(told, MCPError):
        raise told
    return told


@contextmanager
def opened(
    folder: Path, chat: Any = lambda _: "네, 알겠습니다.", utility: Any = lambda _: "요약", **more: Any
) -> Iterator[Opened]:
    """Opens a server on scripted models; without memory and documents, unless they are asked for."""
    profile = {"profile": more.pop("profile")} if "profile" in more else {}
    models = scripted.build_scripted_models(chat, utility, **profile)
    calm = {"memory": False, "retrieval": False, "titles": False, "ahead": False}
    settings = load_settings(data_dir=folder, **{**calm, **more})
    agent = open_agent(settings, lambda: models)
    worlds, requests = WorldEngine.open(settings, agent.store, agent.models), Requests(4)
    try:
        yield Opened(agent, worlds, requests)
    finally:
        requests.close(1.0)
        worlds.close()
        agent.close()
