"""All foreign servers of one process: what they offer, their calls, what they ask (specification 14.2)."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, ToolException

from errors import GieokError, ServerUnreachable
from host.entry import ServerEntry, Utility
from host.file import Servers
from host.loop import Loop
from host.tool import ABOUT_CHARS, NAME_CHARS, ForeignTool, build_usable_schema, digest_foreign_tool, model_name
from model.call.stream import Stopped
from store.turn.question import OpenUserQuestions, UserAnswer, UserQuestion
from store.user.approval import Approvals
from text.clean import clean_text
from text.cut import cut_graphemes, cut_text

if TYPE_CHECKING:  # what needs the SDK of MCP is imported with the first server: it takes half a second
    import mcp_types as types

    from host.call import CallOutcome, Calls, ForeignCall
    from host.pool import Pool

log = logging.getLogger(__name__)

FRESH_SECONDS = 60.0
"""How long the tools of a server on the network are taken for true; a program of our own says when they change."""
AWAY_SECONDS, MOST_AWAY_SECONDS = 30.0, 600.0
"""How long a server that could not be reached is left alone: the first pause, which doubles each time, and the last."""
INTERRUPTED = (
    "{name} was called before the program was cut off, and the call may have run already. It is not run again by"
    " itself: say so to the user, and call the tool again only if the user wants that."
)
MOST_TOOLS = 128
"""The most tools of one server."""


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool as its server describes it. ``schema``: of its arguments, as JSON schema; ``is_repeatable``: whether a
    second call does no harm, by the server's own word."""

    name: str
    description: str
    schema: dict[str, Any]
    is_repeatable: bool = False


@dataclass(frozen=True, slots=True)
class ServerState:
    """What is known of a server. ``error``: why it cannot be used, empty where it can; ``away_since``: since when,
    in Unix seconds, 0 where it can; ``looked``: whether its tools were asked for yet; ``left_out``: names of tools
    whose arguments no model's server would take."""

    name: str
    entry: ServerEntry | None
    error: str = ""
    looked: bool = False
    protocol: str = ""
    title: str = ""
    tools: tuple[ServerTool, ...] = ()
    away_since: float = 0.0
    left_out: tuple[str, ...] = ()

    @property
    def offered_tools(self) -> tuple[ServerTool, ...]:
        """Returns the tools that are not turned off."""
        entry = self.entry
        return () if entry is None else tuple(tool for tool in self.tools if entry.permission(tool.name) != "off")


@dataclass(eq=False)
class _Server:
    name: str
    entry: ServerEntry
    pool: Pool
    state: ServerState
    stale: bool = True
    looked: float = 0.0
    failures: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_unknown(self) -> bool:
        """Whether a turn must ask this server for its tools before it can offer them."""
        return not self.state.looked or (self.stale and not self.state.error)

    @property
    def is_due(self) -> bool:
        """Whether it is time to look at a server again, beside the turns."""
        age = time.monotonic() - self.looked
        if self.state.error:
            return age > min(AWAY_SECONDS * float(2 ** (self.failures - 1)), MOST_AWAY_SECONDS)
        return self.entry.command is None and age > FRESH_SECONDS

    @property
    def is_away(self) -> bool:
        """Whether the server could not be reached, and it is not time to look for it again: nobody waits for it."""
        return bool(self.state.error) and not self.is_due

    def fail(self, error: ServerUnreachable) -> None:
        """Notes that the server is away, and since when."""
        self.failures += 1
        self.looked = time.monotonic()
        since = self.state.away_since or time.time()
        self.state = ServerState(self.name, self.entry, str(error), True, away_since=since)


class McpHost:
    """The servers of the file ``servers``. Thread-safe; nothing is started before the first server is asked for.

    ``connect_seconds``, ``call_seconds``: limits of one connection and of one call.
    """

    def __init__(self, servers: Servers, connect_seconds: float = 10.0, call_seconds: float = 60.0) -> None:
        self.servers = servers
        self._loop = Loop()
        self._connect_seconds, self._call_seconds = connect_seconds, call_seconds
        self._known: dict[str, _Server] = {}
        self._closing: set[Pool] = set()
        self._wrong: Mapping[str, str] = {}
        self._stamp: tuple[int, int] | None = None
        self._lock = threading.Lock()

    @cached_property
    def _calls(self) -> Calls:
        from host.call import Calls

        return Calls(self._call_seconds)

    def states(self) -> list[ServerState]:
        """Returns the servers of the file as they are known, without a look at them. Raises ``ServersUnreadable``."""
        self._read()
        wrong = [ServerState(name, None, reason) for name, reason in self._wrong.items()]
        return sorted([*(server.state for server in self._known.values()), *wrong], key=lambda state: state.name)

    def test(self, name: str) -> ServerState:
        """Connects to a server anew and lists its tools; the state holds the error when that fails."""
        self._read()
        server = self._known.get(name)
        if server is None:
            return next((state for state in self.states() if state.name == name), ServerState(name, None, "unknown"))
        server.stale = True
        self._loop.run(self._look(server, patient=True))
        return server.state

    def tools(
        self,
        approvals: Approvals,
        stop: threading.Event | None = None,
        utility: Utility | None = None,
        look: bool = True,
        begin: Callable[[str], bool] | None = None,
    ) -> list[BaseTool]:
        """Returns the tools of all enabled servers for one turn. ``look``: asks servers whose tools are not known; the
        others are looked at beside the turn when it is time.

        ``begin``: marks a call as begun by its key, and so each time that it goes on with answers; it says False where
        that had begun before a crash: it is not run again. A server that cannot be reached is left out, and no turn
        waits for it again; ``states`` says why. Raises ``Stopped``.
        """
        try:
            self._read()
        except GieokError as error:
            log.warning("foreign tools are left out: %s", error.code)
            return []
        enabled = [server for server in self._known.values() if not server.entry.disabled]
        if look:
            if unknown := [server for server in enabled if server.is_unknown]:
                self._loop.run(self._look_all(unknown), stop)
            for server in enabled:
                if server.is_due and not server.lock.locked():
                    self._loop.begin(self._look(server))
        return [
            self._tool(server, tool, approvals, stop, utility, begin)
            for server in enabled
            for tool in server.state.offered_tools
        ]

    def let_go(self, questions: Sequence[UserQuestion]) -> None:
        """Ends the calls behind questions that the user will not answer, so that nothing waits for them any more."""
        lives = [str(question.state["live"]) for question in questions if "live" in question.state]
        if lives and self._loop.is_started:
            self._loop.run(self._calls.let_go(lives))

    def close(self) -> None:
        """Closes all connections; programs that were started for them end."""
        if self._loop.is_started:
            try:
                self._loop.run(self._close_all())
            finally:
                self._loop.close()

    def _read(self) -> None:
        """Brings the servers in line with the file, if it has changed."""
        with self._lock:
            stamp = self.servers.stamp()
            if stamp == self._stamp:
                return
            read = self.servers.read()
            gone = [known for name, known in self._known.items() if read.entries.get(name) != known.entry]
            stay = {name: known for name, known in self._known.items() if known not in gone}
            # a new dict: other turns may be going through the old one
            self._known = {name: stay.get(name) or self._server(name, entry) for name, entry in read.entries.items()}
            self._wrong, self._stamp = read.wrong, stamp
        if gone and self._loop.is_started:
            self._loop.begin(self._close_pools([known.pool for known in gone]))

    def _server(self, name: str, entry: ServerEntry) -> _Server:
        def note_change() -> None:
            server.stale = True

        def note_loss(error: ServerUnreachable) -> None:
            if not server.lock.locked():  # else a look at the server notes it
                server.fail(error)

        from host.pool import Pool

        pool = Pool(entry, self._connect_seconds, note_change, note_loss)
        server = _Server(name, entry, pool, ServerState(name, entry))
        return server

    async def _look_all(self, servers: Sequence[_Server]) -> None:
        await asyncio.gather(*(self._look(server) for server in servers))

    async def _look(self, server: _Server, patient: bool = False) -> None:
        """Asks a server for its tools, and keeps what it says or why it says nothing."""
        async with server.lock:
            if not (patient or server.is_unknown or server.is_due):
                return
            try:
                connection = await server.pool.take()
            except ServerUnreachable as error:
                server.fail(error)
            else:
                try:
                    server.stale = False
                    tools = await asyncio.wait_for(connection.tools(), self._connect_seconds)
                    server.state, server.failures = _build_server_state(server, connection.client, tools), 0
                    server.pool.give(connection)
                except asyncio.CancelledError:  # the user has stopped the turn
                    server.pool.drop(connection)
                    raise
                except Exception as error:  # the server may say anything, or nothing
                    server.pool.drop(connection)
                    server.fail(ServerUnreachable(reason=type(error).__name__))
            server.looked = time.monotonic()

    def _tool(
        self,
        server: _Server,
        tool: ServerTool,
        approvals: Approvals,
        stop: threading.Event | None,
        utility: Utility | None,
        begin: Callable[[str], bool] | None,
    ) -> BaseTool:
        about, name = cut_graphemes(tool.description or tool.name, ABOUT_CHARS), model_name(server.name, tool.name)
        mark = digest_foreign_tool(tool.name, tool.description, tool.schema)

        def run(key: str, arguments: dict[str, Any], answers: Mapping[str, UserAnswer]) -> tuple[str, dict[str, Any]]:
            from host.call import ForeignCall, find_last_round

            call = ForeignCall(server.name, tool.name, name, key, arguments)
            own = {id_: answer for id_, answer in answers.items() if id_.startswith(f"{key}/")}
            if server.is_away and not own:
                raise ToolException(f"{server.name}: {server.state.error}")
            part = f"{key}/{find_last_round(own)}" if own else key
            if begin is not None and not (tool.is_repeatable or begin(part)):
                raise ToolException(INTERRUPTED.format(name=server.name))
            return self._run_call(server, call, own, stop, utility if server.entry.sampling else None)

        metadata = {"foreign": True, "server": server.name, "about": {"ko": about, "en": about}}
        made = ForeignTool(name=name, description=about, args_schema=tool.schema, metadata=metadata)
        return made.connect_server(
            server.entry.permission(tool.name),
            lambda: approvals.allows(server.name, tool.name, mark),
            lambda: approvals.allow(server.name, tool.name, mark),
            run,
        )

    def _run_call(
        self,
        server: _Server,
        call: ForeignCall,
        answers: Mapping[str, UserAnswer],
        stop: threading.Event | None,
        utility: Utility | None,
    ) -> tuple[str, dict[str, Any]]:
        """Runs a call in the loop. Raises ``OpenUserQuestions``, ``Stopped``, and ``ToolException`` for every
        failure."""
        from mcp.shared.exceptions import MCPError

        from host.call import CallLost

        work = (
            self._calls.go_on(server.pool, call, utility, answers)
            if answers
            else self._calls.start(server.pool, call, utility)
        )
        try:
            outcome = self._loop.run(work, stop)
        except (Stopped, OpenUserQuestions):
            raise
        except TimeoutError:
            raise ToolException(f"{server.name} gave no result in {self._call_seconds:g} s.") from None
        except CallLost as error:
            raise ToolException(f"The question of {server.name} is gone: {error}. Call the tool again.") from None
        except MCPError as error:
            raise ToolException(f"{server.name} refused: {error}") from None
        except ServerUnreachable as error:
            raise ToolException(f"{server.name}: {error}") from None
        except Exception as error:
            log.info("a call of a foreign tool failed: %s", type(error).__name__)
            raise ToolException(f"{server.name} failed during the call ({type(error).__name__}).") from None
        return _read_call_outcome(server.name, outcome)

    async def _close_all(self) -> None:
        await self._close_pools([*self._closing, *(server.pool for server in self._known.values())])

    async def _close_pools(self, pools: Sequence[Pool]) -> None:
        self._closing.update(pools)
        await asyncio.gather(*(pool.close() for pool in pools))
        self._closing.difference_update(pools)


def _build_server_state(server: _Server, client: Any, tools: Sequence[types.Tool]) -> ServerState:
    info = client.server_info
    title = f"{info.title or info.name} {info.version}".strip() if info is not None else ""
    names, offered, left_out = set[str](), list[ServerTool](), list[str]()
    for tool in tools[:MOST_TOOLS]:
        name, schema = model_name(server.name, tool.name), build_usable_schema(tool.input_schema)
        if schema is None:
            left_out.append(cut_graphemes(clean_text(tool.name), NAME_CHARS))
        elif name not in names:
            names.add(name)
            hints = tool.annotations
            repeatable = hints is not None and bool(hints.read_only_hint or hints.idempotent_hint)
            offered.append(ServerTool(tool.name, clean_text(tool.description or tool.title or ""), schema, repeatable))
    if left_out:
        log.warning("tools of %s are left out, because of their schema: %s", server.name, ", ".join(left_out))
    return ServerState(
        server.name,
        server.entry,
        looked=True,
        protocol=str(client.protocol_version),
        title=cut_graphemes(title, 200),
        tools=tuple(offered),
        left_out=tuple(left_out),
    )


def _read_call_outcome(server: str, outcome: CallOutcome | tuple[UserQuestion, ...]) -> tuple[str, dict[str, Any]]:
    from host.call import CallOutcome
    from host.result import MOST_CHARS, render_tool_result

    if not isinstance(outcome, CallOutcome):
        raise OpenUserQuestions(outcome)
    text = cut_text(render_tool_result(outcome.result), MOST_CHARS)
    if outcome.result.is_error:
        raise ToolException(text or f"{server} says that the tool failed.")
    artifact: dict[str, Any] = {"server": server}
    if outcome.sampled:
        artifact["sampled"] = list(outcome.sampled)
    return text or "(no content)", artifact
